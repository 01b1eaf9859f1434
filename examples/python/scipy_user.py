"""For who knows scipy.optimize: the same call, and what comes back beyond it.

    python examples/python/scipy_user.py
"""

# %% The problem: the smallest surface of a can with a given volume, its height at most three times its radius
import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

import tangor


def surface(x):
    r, h = x
    return 2 * np.pi * r * (r + h)


def volume(x):
    r, h = x
    return [np.pi * r**2 * h, h - 3 * r]


bounds = Bounds([0.1, 0.1], [10, 10])
limits = NonlinearConstraint(volume, [1.0, -np.inf], [1.0, 0.0])
x0 = [1.0, 1.0]

# %% The same call
ours = tangor.minimize(surface, x0, bounds=bounds, constraints=limits)
theirs = minimize(surface, x0, bounds=bounds, constraints=limits, method="trust-constr")
print(ours)
print(f"trust-constr: {theirs.fun:.8f} after {theirs.nfev} values; tangor: {ours.fun:.8f} after {ours.nfev}")

# %% Why it ended, apart from what the point is; multipliers as trust-constr has them
print(f"stop: {ours.stop}, point: {ours.point}")
print(f"one more unit of volume costs {-ours.v[0][0]:.4f} of surface")

# %% Derivatives: checked against differences, the worst entry named
problem = tangor.Problem(
    x0, f=surface, grad=lambda x: 2 * np.pi * np.array([2 * x[0] + x[1], x[0]]), c=volume,
    jac=lambda x: [[2 * np.pi * x[0] * x[1], np.pi * x[0] ** 2], [-3, 1]], bounds=bounds, c_lower=limits.lb, c_upper=limits.ub,
    variable_names=["radius", "height"], row_names=["volume", "shape"],
)  # fmt: skip
print(tangor.check_derivatives(problem))

# %% The trace of the run, as a table; `result.plot()` draws it
result = tangor.minimize(problem)
for k in range(len(result.trace["iteration"])):
    print(f"{k:3d}  surface {result.trace['fun'][k]:9.6f}  violation {result.trace['feasibility'][k]:.1e}  eta {result.trace['eta'][k]:.3f}")
assert result.success and abs(result.fun - theirs.fun) < 1e-4
