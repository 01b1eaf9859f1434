"""A simulation that can only be sampled: how much to stock of three goods whose demand is random.

    python examples/python/noisy_simulation.py
"""

# %% The simulation: profit of a season; a draw is one season, the same number the same season at every stock
import numpy as np

import tangor

PRICE, COST, MEAN = np.array([9.0, 7.0, 12.0]), np.array([4.0, 2.0, 7.0]), np.array([20.0, 40.0, 10.0])
ROOM = np.array([1.0, 0.5, 2.0])


def demands(draws):
    return np.array([np.random.default_rng(int(draw)).gamma(4.0, MEAN / 4.0) for draw in draws])


def evaluate(stock, draws):
    """Average gradient of the loss (cost less income), average room that unsold goods take, and its Jacobian."""
    demand = demands(draws)
    sold_out = demand > stock
    gradient = COST - PRICE * sold_out.mean(axis=0)
    unsold = (ROOM * np.maximum(stock - demand, 0.0)).sum(axis=1).mean()
    return gradient, [unsold], [ROOM * (1.0 - sold_out.mean(axis=0))]


def loss(stock, draws):
    return float((COST * stock - PRICE * np.minimum(stock, demands(draws))).sum(axis=1).mean())


problem = tangor.SampledProblem(
    MEAN, evaluate, objective=loss, c_upper=10.0, bounds=[(0, None)] * 3, name="stock",
    variable_names=["apples", "berries", "cherries"], row_names=["unsold"],
)  # fmt: skip

# %% Functions of samples are checked with fixed draws; kinks make some entries undecided
result = tangor.minimize_sampled(problem, samples=200_000)
print(result)
print("stock:", dict(zip(["apples", "berries", "cherries"], result.x.round(2).tolist())))
print("the tolerance was chosen:", result.tolerance["chosen"])

# %% Judged again on samples that the run has not seen
verdict = tangor.verify(result, samples=20_000)
for name in ("stationarity", "feasibility", "complementarity"):
    print(f"{name}: {verdict[name]['value']:.4f}, with {verdict['confidence']:.0%} confidence at most {verdict[name]['upper']:.4f}")
assert verdict["feasibility"]["value"] < 0.5
