"""The recursion of the Lagrangian's gradient, with the Jacobian as an average that is not taken anew in every step. Skipped without torch."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")

from test_torch_passes import fitting, make, members, parameter, residual, train  # noqa: E402

import tangor.torch  # noqa: E402
from tangor.torch._bends import bends_of  # noqa: E402
from tangor.torch._comparisons import Comparisons  # noqa: E402
from tangor.torch._estimates import Left  # noqa: E402
from tangor.torch._effective_samples import EffectiveSamples, Lag  # noqa: E402

torch.set_num_threads(1)


def left(along, c):
    return Left(np.array([c]), np.array([c]), 1.0, np.array(along), torch.zeros(1), np.ones((1, 2)), [])


def test_bends_of_a_quadratic_are_the_same_from_either_end():
    """By hand: loss x^2 and c = 3 x^2 - 1 from x = 1 along s = 2 with eta = 1/4: x = 3/2, dc = 3 (9/4 - 1) = 15/4, y = 1/2.
    g s = 4 and 6, J s = 12 and 18, and of the Lagrangian 10 and 15."""
    dc, y, eta, before, after = np.array([3.75]), np.array([0.5]), 0.25, [4.0, 12.0], [6.0, 18.0]
    for along, ahead, guessed in ((before, after, False), ([10.0], after, False), ([10.0], [15.0], True)):
        bends = bends_of(left(along, 2.0), np.array(ahead), dc, y, eta, np.array([12.0]), 1e-16, 0.25)
        assert abs(bends.loss - 2.0) < 1e-13 and np.allclose(bends.rows, 6.0, atol=1e-13) and bends.guessed == guessed
        # A Jacobian that is off by 1/4 is so at both ends of what `2 (dc / eta - J s)` compares.
        assert bends.lags == (0.5 if guessed else 0.0)
    # Values with an eps of 1/128: 4 / 128 (2 * 2 + 15/4) / eta = 0.96875 of the bend of the constraint is rounding, and half of that the loss's.
    bends = bends_of(left([10.0], 2.0), np.array([15.0]), dc, y, eta, np.array([12.0]), 1.0 / 128.0, 0.0)
    assert abs(bends.rows[0] - 5.03125) < 1e-13 and abs(bends.loss - 2.484375) < 1e-13
    still = bends_of(left([10.0], 2.0), np.array([10.0]), np.zeros(1), y, 0.0, np.array([12.0]), 1e-16, 0.0)
    assert still.loss == 0.0 and still.rows[0] == 0.0


def test_lag_without_noise_is_no_curvature():
    """A quadratic loss on the unit sphere, whose constraint has the constant 2. Its Jacobian is taken now and then, and lags behind meanwhile: that is
    neither curvature, however short steps become, nor a reason to shorten them."""
    torch.manual_seed(0)
    x, weights = torch.nn.Parameter(torch.randn(20, dtype=torch.float64)), torch.linspace(1.0, 3.0, 20, dtype=torch.float64)
    optimizer = tangor.torch.Tangor([x], constraints=1, lower=1.0, upper=1.0)
    constants = []
    for _ in range(200):
        optimizer.step(lambda: (0.5 * (weights * (x - 1.0) ** 2).sum(), (x @ x).reshape(1)))
        constants.append(optimizer.report().lipschitz_constraints)
    report = optimizer.report()
    assert max(constants) < 2.0 + 1e-6, "it was 115"
    assert report.shortened <= 10 and report.feasibility < 1e-6 and report.stationarity < 3e-3, report


def test_the_weight_of_a_lagging_average_by_hand():
    effective, lag = EffectiveSamples(), Lag()
    assert lag.share(effective, 2.0, 1.0) == 1.0, "nothing was measured"
    effective.start(4.0)
    effective.compare((2.0, 2.0), 8.0, 0.0, 1.0)
    # Changes of two batches along a move of 1/2 have the product 1: L = 2.
    lag.compare(1.0, 0.5)
    # After a move of 1/2: A = (0 + 1)^2 + 8/4 = 3, S / B = 4, b = 3/7.
    share = lag.share(effective, 2.0, 0.5)
    assert abs(share - 3.0 / 7.0) < 1e-15
    lag.advance(effective, share, 2.0, 0.5)
    assert abs(lag.bias - 4.0 / 7.0) < 1e-15
    # 1 / N = (4/7)^2 / 4 + (3/7)^2 / 2 = 17/98
    assert abs(effective.draws - 98.0 / 17.0) < 1e-13
    still = EffectiveSamples()
    still.start(4.0)
    still.compare((2.0, 2.0), 0.0, 0.0, 1.0)
    assert lag.share(still, 2.0, 0.5) == 1.0, "no noise"


def test_a_jacobian_is_due_by_lag_and_noise():
    effective, lag = EffectiveSamples(), Lag()
    assert lag.is_due(effective, 1.0, 2.0, 0.0), "nothing was measured"
    effective.start(4.0)
    effective.compare((2.0, 2.0), 8.0, 0.0, 1.0)
    lag.compare(1.0, 0.5)
    # S / N = 2 and L = 2: after a move of 1/2 it is off by 1 + 2 = 3 in the square, and a batch of 2 would have the weight 3/7.
    assert lag.is_due(effective, 17.0, 2.0, 0.5) and not lag.is_due(effective, 17.5, 2.0, 0.5), "3 beside (17 / 10)^2 and (17.5 / 10)^2"
    # With S / N = 8/76, no move: the weight is B / (N + B) = 8/84 with batches of 8, and 0.1 or more with those of 9.
    effective.start(76.0)
    assert not lag.is_due(effective, 0.0, 8.0, 0.0) and lag.is_due(effective, 0.0, 9.0, 0.0)
    # What is not taken lags more and more.
    lag.advance(effective, 0.0, 8.0, 0.5)
    assert lag.bias == 1.0 and abs(effective.draws - 76.0) < 1e-12
    lag.advance(effective, 0.0, 8.0, 0.5)
    assert lag.bias == 2.0


def test_sums_with_signs_are_worth_all_rows():
    """Over a cycle of patterns, products of different rows cancel: `sum_p |sum_i z_pi n_i|^2 = P sum_i |n_i|^2`."""
    for m, cycle in ((1, 1), (2, 2), (3, 4), (4, 4), (11, 16)):
        comparisons = Comparisons(None, SimpleNamespace(c=np.zeros(m), one_row=True), torch.float64)
        patterns = []
        for comparisons.patterns in range(cycle):
            lagrangian, signs = comparisons.next_weights(np.full(m, 0.5))
            assert lagrangian.tolist() == [1.0] + m * [0.5] and signs[0] == 0.0
            patterns.append(signs[1:])
        assert np.array_equal(np.array(patterns).T @ np.array(patterns), cycle * np.eye(m))


@pytest.mark.parametrize("recursion", ["rows", "lagrangian"])
def test_comparisons_find_the_noise_of_each_estimate(recursion):
    """Rows of the Jacobian with noise of 1, 2 and 3 in each of 50 columns, which is the same in two of them: `S = 50 (1 + 4 + 9)` for one sample. The noise of the
    loss is 1 in each column, and constraints are as noisy as `n^T x` is."""
    x, generator = torch.nn.Parameter(torch.zeros(50, dtype=torch.float64)), torch.Generator().manual_seed(0)
    optimizer = tangor.torch.Tangor([x], constraints=3, lower=-100.0, upper=100.0, first_batches=1, recursion=recursion)
    for _ in range(400):
        first, second, third = (torch.randn(50, generator=generator, dtype=torch.float64) for _ in range(3))
        rows = torch.stack([first, 2.0 * first, 3.0 * second])
        optimizer.step(lambda: (0.5 * ((x - 1.0) ** 2).sum() + third @ x, rows @ x), samples=1)
    estimates = optimizer._estimates
    assert abs(estimates.jacobian.error() * estimates.jacobian.draws / (50 * 14) - 1.0) < 0.25
    # No constraint holds, multipliers are zero, and so the Lagrangian is the loss.
    assert abs(estimates.lagrangian.error() * estimates.lagrangian.draws / 50 - 1.0) < 0.25
    assert estimates.lagrangian.drift < 1e-20 and abs(float(x.mean().detach()) - 1.0) < 0.05


def counted(optimizer, monkeypatch):
    """How many rows each evaluation took."""
    evaluate, counts = optimizer._evaluator.evaluate, []

    def counting(*args):
        batch = evaluate(*args)
        counts.append(len(batch.parts[0]))
        return batch

    monkeypatch.setattr(optimizer._evaluator, "evaluate", counting)
    return counts


def test_the_recursion_of_the_lagrangian_holds_with_and_without_a_jacobian(monkeypatch):
    """`w_k = l(x_k) + (1 - a) (w_{k-1} - l(x_{k-1}))` with `w = g + J^T y`, whatever is taken of the Jacobian."""
    x, rows, generator, kinds = parameter(0.3, -0.2, 0.5), members(), torch.Generator().manual_seed(0), set()
    optimizer = make(x, recursion="lagrangian")
    estimates, counts = optimizer._estimates, counted(optimizer, monkeypatch)
    advance, kept = estimates._advance, []

    def advancing(batch, a, *args):
        kept.append(1.0 - a[0])
        return advance(batch, a, *args)

    monkeypatch.setattr(estimates, "_advance", advancing)

    def lagrangian(batch, y):
        loss, c = fitting(x, batch)
        return torch.autograd.grad(loss + c @ y, x)[0]

    for number in range(60):
        batch = rows[torch.randperm(len(rows), generator=generator)[:12]]
        begun, derivatives, start = number >= 4, estimates.derivatives.clone(), x.detach().clone()
        counts.clear()
        optimizer.step(lambda batch=batch: fitting(x, batch), samples=12)
        if not begun:
            continue
        y, end = torch.tensor(estimates.y), x.detach().clone()
        with torch.no_grad():
            x.copy_(start)
        before = lagrangian(batch, y)
        with torch.no_grad():
            x.copy_(end)
        expected = lagrangian(batch, y) + kept[-1] * (derivatives[0] + y @ derivatives[1:] - before)
        found = estimates.derivatives
        assert torch.allclose(found[0] + y @ found[1:], expected, atol=1e-13)
        kinds.add((len(counts), counts[0], counts[-1]))
        if counts[-1] == 1:
            assert torch.equal(found[1:], derivatives[1:]), "the Jacobian stays"
    assert {(2, 1, 1), (2, 1, 3), (3, 1, 1)} <= kinds, "steps without a Jacobian, with one, and those that compare"


def test_one_row_and_all_rows_agree_without_noise():
    """With the same batch in every step nothing is noisy, and both recursions are the batch itself."""
    ends = []
    for recursion in ("rows", "lagrangian"):
        x, rows = parameter(0.3, -0.2, 0.5), members()
        optimizer = make(x, recursion=recursion)
        for _ in range(200):
            optimizer.step(lambda: fitting(x, rows), samples=60)
        ends.append(x.detach().clone())
        # Multipliers that change bring an error of the Jacobian into the Lagrangian's gradient: it is forgotten at once where there is no noise.
        assert residual(x, rows) < 1e-12
    assert torch.allclose(*ends, rtol=0.0, atol=1e-10)


def test_without_constraints_there_is_one_row_anyway():
    from tangor.torch import Tangor

    x = parameter(2.0, -1.0)
    optimizer = Tangor([x], constraints=0, first_batches=1)
    for _ in range(40):
        optimizer.step(lambda: ((x - 1.0).square().sum(), None))
    assert torch.allclose(x.detach(), torch.ones(2, dtype=torch.float64), atol=1e-4)
