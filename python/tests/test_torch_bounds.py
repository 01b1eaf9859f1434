"""Bounds on parameters, and the kernel behind them. Skipped where torch is not installed."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")

from tangor.torch import Tangor, certify  # noqa: E402
from tangor.torch._columns import Columns  # noqa: E402
from tangor.torch._directions import solve  # noqa: E402
from tangor.torch._flat import Flat  # noqa: E402
from tangor.torch._kernel import Rows  # noqa: E402
from tangor.torch._metric import Diagonal  # noqa: E402

torch.set_num_threads(1)


def subproblem(random, bounded):
    """A random subproblem that has a solution, with dependent rows now and then, and rows and columns of different sizes."""
    d, m = int(random.integers(2, 30)), int(random.integers(1, 6))
    x = torch.nn.Parameter(torch.tensor(random.normal(size=d)))
    flat = Flat([x])
    if bounded:
        low, high = x.detach().numpy() - random.random(d), x.detach().numpy() + random.random(d)
        low[random.random(d) < 0.3] = -math.inf
        flat.bound([(torch.tensor(low), torch.tensor(high))])
    metric = Diagonal(flat)
    metric.squares, metric.step, metric.least = torch.tensor(10.0 ** random.uniform(-3, 3, d)), 1.0, 1e-8
    rows = random.normal(size=(1 + m, d)) * 10.0 ** random.uniform(-2, 2, (1 + m, 1))
    if m > 2 and random.random() < 0.3:
        rows[m] = rows[m - 1] + rows[1]
    kinds = np.flatnonzero(random.random(m) < 0.5)
    slacks = Rows(kinds, 10.0 ** random.uniform(-4, 1, len(kinds)), -random.random(len(kinds)), random.random(len(kinds)))
    # What a step inside of all bounds reaches.
    at = flat.read(flat.zeros())
    inside = 0.5 * random.random(d) if not bounded else 0.5 * random.random(d) * (flat.high - at).numpy()
    target = rows[1:] @ inside
    target[kinds] -= 0.5 * slacks.high
    return Columns(flat, torch.tensor(rows), metric, at), target, slacks


@pytest.mark.parametrize("bounded", [False, True])
def test_solutions_of_subproblems_meet_their_conditions(bounded):
    random = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        columns, target, rows = subproblem(random, bounded)
        flat, m = columns.flat, len(target)
        found, reaction = solve(columns, columns.products()[1], target, 0.0, rows, np.zeros(m), normal=False)
        s = flat.zeros()
        columns.step(found.y, s)
        a, g, d = columns.derivatives[1:].numpy(), columns.derivatives[0].numpy(), columns.metric.entries(slice(0, flat.d)).numpy()
        s, v = s.numpy(), g + a.T @ found.y
        assert found.converged
        # J s = r, where slacks are t = clip(y / w, low, high).
        t = np.zeros(m)
        t[rows.inequalities] = np.clip(found.y[rows.inequalities] / rows.weights, rows.low, rows.high)
        size = np.linalg.norm(target) + np.linalg.norm(a) * np.linalg.norm(s)
        assert np.linalg.norm(a @ s - t - target) <= 1e-7 * size
        assert np.allclose(a @ s, reaction, atol=1e-7 * size)
        # D s + v is zero between the bounds, >= 0 at the lower and <= 0 at the upper one.
        mu, sign = d * s + v, 1e-9 * (np.linalg.norm(g) + np.linalg.norm(a) * np.linalg.norm(found.y))
        if bounded:
            low, high = (flat.low - columns.at).numpy(), (flat.high - columns.at).numpy()
            assert np.all(s >= low) and np.all(s <= high)
            at_low, at_high = s == low, s == high
            held += int(at_low.sum() + at_high.sum())
            assert np.all(mu[at_low] >= -sign) and np.all(mu[at_high] <= sign)
            mu = mu[~(at_low | at_high)]
        assert np.all(np.abs(mu) <= sign)
    assert held > 100 or not bounded


def closest_on_simplex(c):
    """By hand: max(c - level, 0) with the level at which the sum is 1."""
    ordered = np.sort(c)[::-1]
    levels = (np.cumsum(ordered) - 1) / np.arange(1, len(c) + 1)
    return np.maximum(c - levels[np.flatnonzero(ordered > levels)[-1]], 0.0)


def test_the_closest_point_of_a_simplex():
    centre = torch.tensor([0.9, 0.5, -0.3, 0.1, 0.45, -2.0], dtype=torch.float64)
    x = torch.nn.Parameter(torch.full((6,), -1.0, dtype=torch.float64))
    optimizer = Tangor([x], constraints=1, lower=1.0, upper=1.0, minimum=0.0)
    assert torch.equal(x.detach(), torch.zeros_like(x)), "the start is moved between the bounds"
    generator = torch.Generator().manual_seed(0)

    def loss_and_sum(model, draws):
        return 0.5 * ((x - centre - draws) ** 2).sum(dim=1).mean(), x.sum().reshape(1)

    def draw(size=32):
        return 0.1 * torch.randn(size, 6, generator=generator, dtype=torch.float64)

    for _ in range(300):
        draws = draw()
        optimizer.step(lambda: loss_and_sum(None, draws))
        assert bool((x >= 0.0).all())
    expected = closest_on_simplex(centre.numpy())
    assert np.allclose(x.detach().numpy(), expected, atol=0.01), (x, expected)
    assert np.array_equal(x.detach().numpy() == 0.0, expected == 0.0), "bounds hold exactly"
    report = optimizer.report()
    assert report.feasibility < 1e-9 and report.stationarity < 0.02 and report.inexact == 0

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.x = x

    judged = certify(Model(), loss_and_sum, [draw(256) for _ in range(20)], optimizer=optimizer)
    assert judged.stationarity.upper < 0.05 and judged.feasibility.upper < 1e-9
    # Without the bounds the zeros are not optimal.
    assert certify(Model(), loss_and_sum, [draw(256) for _ in range(20)], 1.0, 1.0).stationarity.value > 0.5


def test_bounds_of_one_group_alone():
    """Nonnegative weights make a network monotone; its biases are free."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(torch.float32)
    weights = [p for name, p in model.named_parameters() if "weight" in name]
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    groups = [{"params": weights, "minimum": 0.0, "maximum": torch.tensor(3.0)}, {"params": biases}]
    optimizer = Tangor(groups, constraints=1, lower=0.0, upper=0.0)
    generator = torch.Generator().manual_seed(0)
    least = 0.0
    for _ in range(150):
        x = 4 * torch.rand(128, 1, generator=generator) - 2

        def closure():
            return ((model(x) - x**3 / 4) ** 2).mean(), model(torch.zeros(1, 1)).reshape(1)

        optimizer.step(closure)
        assert all(bool((p >= 0.0).all() and (p <= 3.0).all()) for p in weights)
        least = min([least, *(float(p.detach().min()) for p in biases)])
    grid = torch.linspace(-2, 2, 41).reshape(-1, 1)
    with torch.no_grad():
        y = model(grid)
    assert bool((y[1:] >= y[:-1]).all()) and least < 0.0
    assert float(((y - grid**3 / 4) ** 2).mean()) < 0.15 and abs(float(y[20, 0])) < 1e-3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(minimum=1.0, maximum=0.0), "above its maximum"),
        (dict(minimum=math.nan), "a NaN"),
        (dict(minimum=torch.zeros(3)), r"shape \(3,\), not \(2,\)"),
    ],
)
def test_bad_bounds_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        Tangor([torch.nn.Parameter(torch.zeros(2))], constraints=0, **given)
