"""Passes of the library over vectors of tangor.torch, beside what torch makes of the same. Skipped where torch is not installed."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")

from tangor.torch import Tangor, _passes  # noqa: E402
from tangor.torch._columns import Columns  # noqa: E402
from tangor.torch._flat import Flat  # noqa: E402
from tangor.torch._metric import Diagonal  # noqa: E402

torch.set_num_threads(1)

KINDS = pytest.mark.parametrize("kind, rounding", [(torch.float32, 1e-8), (torch.float64, 1e-15)])
# Fewer columns than are summed side by side, one more than a short sum, and two pieces of work with a rest.
LENGTHS = pytest.mark.parametrize("d", [5, 257, 40_003])


def make(d, kind, seed=0, rows=4):
    """Rows, and a metric that has learnt from two steps; one parameter never moved, and one has the largest entry."""
    generator = torch.Generator().manual_seed(seed)
    flat = Flat([torch.nn.Parameter(torch.zeros(d, dtype=kind))])
    metric = Diagonal(flat)
    for _ in range(2):
        change = torch.randn(d, generator=generator, dtype=torch.float64).to(kind)
        change[0], change[-1] = 0.0, 1e4
        metric.learn(change, 0.5)
    return flat, torch.randn(rows, d, generator=generator, dtype=torch.float64).to(kind), metric


def exact_products(rows):
    """The products of rows with each other, to the last digit: those of torch are rounded, too, on one processor more than on another."""
    return torch.tensor([[math.fsum((one * other).tolist()) for other in rows] for one in rows], dtype=torch.float64)


@KINDS
@LENGTHS
def test_products_are_those_of_double_precision(kind, rounding, d):
    flat, rows, metric = make(d, kind)
    for gram in (True, False):
        sums, across = _passes.products(rows, metric.squares, metric.numbers(), gram)
        wide, inverse = rows.double(), metric.inverse(flat.zeros()).double()
        plain, weighted = exact_products(wide), (wide * inverse) @ wide.T
        upper, rest = torch.triu_indices(4, 4), torch.triu_indices(3, 3)
        norms, lengths = weighted.diagonal().sqrt(), plain.diagonal().sqrt()
        # Entries of the metric are rounded as the vectors are.
        off = (sums[:10] - weighted[upper[0], upper[1]]).abs() / (norms[upper[0]] * norms[upper[1]])
        assert off.max() < (1e-7 if kind == torch.float32 else 1e-14)
        assert ((sums[10:] - plain[0]).abs() / (lengths[0] * lengths)).max() < rounding * (10 if d < 1000 else 1)
        assert len(across) == (6 if gram else 0)
        if gram:
            off = (across - plain[1:, 1:][rest[0], rest[1]]).abs() / (lengths[1:][rest[0]] * lengths[1:][rest[1]])
            assert off.max() < rounding * (10 if d < 1000 else 1)


@KINDS
@LENGTHS
def test_steps_and_sums_are_those_of_torch(kind, rounding, d):
    flat, rows, metric = make(d, kind)
    eps = torch.finfo(kind).eps
    weights, v, s = np.array([1.0, -0.5, 2.0, 0.25]), flat.zeros(), flat.zeros()
    sums = _passes.combine(rows, weights.tolist(), metric.squares, metric.numbers(), v, s)
    exact = torch.as_tensor(weights) @ rows.double()
    assert (v.double() - exact).abs().max() <= 8 * eps * exact.abs().max()
    assert torch.allclose(s, -metric.inverse(flat.zeros()) * v, rtol=4 * eps, atol=0.0)
    a, b, g = v.double(), s.double(), rows[0].double()
    for told, left, right in zip(sums, (g, a, b, a), (b, b, b, a)):
        assert (told - left @ right).abs() <= 10 * rounding * left.norm() * right.norm()
    # The products of rows with a vector, and the arrival of a batch.
    there = _passes.times(rows, s)
    assert ((there - rows.double() @ b).abs() <= 10 * rounding * rows.double().norm(dim=1) * b.norm()).all()
    new, w, change, gradient = rows[1], rows[2], rows[3].clone(), rows[0].clone()
    bend = _passes.take_row_in(new, w, s, 0.25, change, gradient)
    assert torch.equal(change, new - rows[3])
    assert torch.allclose(gradient, rows[0] + 0.75 * change - 0.25 * (w - new), rtol=8 * eps, atol=8 * eps)
    assert abs(bend - change.double() @ b) <= 10 * rounding * change.double().norm() * b.norm()
    squares = metric.squares.clone()
    total = _passes.add_squares(squares, change, 0.95)
    assert torch.allclose(squares, 0.95 * metric.squares + change.square(), rtol=4 * eps, atol=0.0)
    assert abs(total - squares.double().sum()) <= 10 * rounding * squares.double().sum()


@KINDS
def test_any_number_of_threads_gives_the_same_bits(kind, rounding):
    flat, rows, metric = make(100_001, kind)

    def all_sums():
        v, s = flat.zeros(), flat.zeros()
        parts = [*_passes.products(rows, metric.squares, metric.numbers(), True)]
        parts += [_passes.combine(rows, [1.0, 2.0, 3.0, 4.0], metric.squares, metric.numbers(), v, s), _passes.times(rows, s), v, s]
        change, gradient, squares = rows[3].clone(), rows[0].clone(), metric.squares.clone()
        parts += [_passes.take_row_in(rows[1], v, s, 0.5, change, gradient)[None], change, gradient]
        return torch.cat([*(one.double() for one in parts), _passes.add_squares(squares, change, 0.9)[None], squares.double()])

    alone = all_sums()
    try:
        for threads in (2, 3, 16):
            torch.set_num_threads(threads)
            assert torch.equal(all_sums(), alone)
    finally:
        torch.set_num_threads(1)


def test_nothing_is_copied_and_nothing_is_hidden():
    flat, rows, metric = make(1000, torch.float32)
    assert _passes._array(rows).ctypes.data == rows.data_ptr() and _passes._array(rows[2]).ctypes.data == rows[2].data_ptr()
    rows[1, 7] = float("nan")
    assert torch.isnan(_passes.times(rows, rows[0])).tolist() == [False, True, False, False]
    rows[1, 7] = float("inf")
    assert not torch.isfinite(_passes.times(rows, rows[0]))[1]
    with pytest.raises(ValueError, match="lengths of the vectors"):
        _passes.times(rows, rows[0, :10])
    with pytest.raises(TypeError, match="not contiguous"):
        _passes.times(rows[:, ::2], rows[0, :500])
    # A rank may have no part of any parameter.
    nothing = rows[:, :0].contiguous()
    assert _passes.times(nothing, nothing[0]).tolist() == [0.0] * 4
    assert _passes.products(nothing, nothing[0], (1.0, 1.0, 1.0), True)[0].tolist() == [0.0] * 14


def test_directions_are_those_of_torch():
    flat, rows, metric = make(3000, torch.float64)
    flat.at_once = True
    found = []
    for at_once in (True, False):
        columns = Columns(flat, rows, metric, flat.zeros(), flat.zeros(), None, flat.zeros())
        columns.at_once = at_once
        out = flat.zeros()
        plain, weighted = columns.products()
        steps = columns.step(np.array([0.5, -1.0, 2.0]), out)
        found.append(np.concatenate([plain.ravel(), weighted.ravel(), list(vars(steps).values()), columns.combined.numpy(), out.numpy()]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-12)


def training(model, optimizer, generator, steps=20):
    for _ in range(steps):
        x = torch.randn(16, 6, generator=generator, dtype=torch.float64).to(next(model.parameters()).dtype)

        def closure():
            p = model(x)[:, 0]
            return (p - x.sum(dim=1).sin()).square().mean(), torch.stack([p.mean(), (p * x[:, 0]).mean()])

        optimizer.step(closure, samples=16)


@pytest.mark.parametrize("recursion", ["rows", "lagrangian"])
@pytest.mark.parametrize("kind, far", [(torch.float32, 1e-3), (torch.float64, 1e-10)])
def test_runs_are_those_of_torch(monkeypatch, recursion, kind, far):
    calls = []
    original = _passes.combine
    monkeypatch.setattr(_passes, "combine", lambda *args: (calls.append(1), original(*args))[1])

    def end(long, resumed=False):
        monkeypatch.setattr(_passes, "LONG", long)
        # As with many parameters: row by row, and without a limited memory.
        monkeypatch.setattr("tangor.torch._batch.LONG_ROWS", 1)
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(6, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1)).to(kind)

        def fresh():
            return Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2, memory=0, recursion=recursion)

        optimizer, generator = fresh(), torch.Generator().manual_seed(3)
        calls.clear()
        training(model, optimizer, generator)
        if resumed:
            saved, optimizer = optimizer.state_dict(), fresh()
            optimizer.load_state_dict(saved)
        training(model, optimizer, generator)
        return torch.cat([p.detach().reshape(-1) for p in model.parameters()])

    at_once = end(1)
    assert len(calls) == 38
    assert torch.equal(end(1, resumed=True), at_once)
    by_torch = end(10**9)
    assert not calls and torch.allclose(at_once, by_torch, rtol=0.0, atol=far)
