"""Exact passes and the limited memory of tangor.torch. Skipped where torch is not installed."""

import copy
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")

from tangor.torch import Tangor  # noqa: E402
from tangor.torch._flat import Flat  # noqa: E402
from tangor.torch._limited_memory import LimitedMemory  # noqa: E402
from tangor.torch._moves import longest  # noqa: E402
from tangor.torch._effective_samples import ALL, EffectiveSamples  # noqa: E402

torch.set_num_threads(1)


def parameter(*values):
    return torch.nn.Parameter(torch.tensor(values, dtype=torch.float64))


def members(count=60, seed=0):
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def fitting(x, rows):
    """A curved loss whose optimum depends on all members, on the sphere of radius 1 and with a noisy inequality."""
    target = rows.sum(dim=1)
    loss = torch.nn.functional.softplus(-target * (rows @ x)).mean()
    return loss, torch.stack([x @ x - 1.0, (rows[:, 0] * torch.tanh(rows @ x)).mean()])


def make(x, **more):
    return Tangor([x], constraints=2, lower=[0.0, -math.inf], upper=[0.0, 0.2], first_batches=4, **more)


def train(x, optimizer, rows, steps, passes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        batch = rows[torch.randperm(len(rows), generator=generator)[:12]]
        optimizer.step(lambda: fitting(x, batch), samples=12)
        if passes and optimizer.exact_pass_pays(len(rows)):
            optimizer.exact_pass(lambda part: fitting(x, part), rows.split(25))
    return optimizer.report()


def residual(x, rows):
    """Of the Lagrangian's gradient on all members, with the best multipliers."""
    loss, c = fitting(x, rows)
    g = torch.autograd.grad(loss, x, retain_graph=True)[0]
    active = [one for one, holds in ((c[0], True), (c[1], float(c[1].detach()) > 0.2 - 1e-2)) if holds]
    j = torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0] for one in active])
    y = torch.linalg.lstsq(j.T, -g[:, None]).solution
    return float((g + (j.T @ y)[:, 0]).norm())


def test_a_pass_gives_the_averages_of_all_members():
    x, rows = parameter(0.3, -0.2, 0.5), members()
    optimizer = make(x)
    # 25, 25 and 10 members: sizes count. It comes before any step, in place of the first batches.
    loss, c = optimizer.exact_pass(lambda part: fitting(x, part), rows.split(25))
    whole = fitting(x, rows)
    assert abs(loss - float(whole[0].detach())) < 1e-14 and np.allclose(c, whole[1].detach().numpy(), atol=1e-14)
    for row, value in enumerate((whole[0], *whole[1])):
        exact = torch.autograd.grad(value, x, retain_graph=True)[0]
        assert torch.allclose(optimizer._estimates.derivatives[row], exact, atol=1e-14)
    report = optimizer.report()
    assert (report.samples, report.evaluations, report.exact_passes, report.effective_samples) == (60, 3, 1, ALL)
    before = x.detach().clone()
    optimizer.step(lambda: fitting(x, rows[:12]), samples=12)
    assert optimizer.report().iterations == 1 and not torch.equal(before, x.detach())


def test_a_pass_without_a_bad_batch_is_worth_what_it_took():
    x, rows = parameter(0.3, -0.2, 0.5), members()
    optimizer = make(x)
    rows[0, 0] = math.nan
    _, c = optimizer.exact_pass(lambda part: fitting(x, part), rows.split(20))
    assert np.allclose(c, fitting(x, rows[20:])[1].detach().numpy(), atol=1e-14)
    report = optimizer.report()
    assert (report.skipped, report.effective_samples) == (1, 40)
    with pytest.raises(ValueError, match="there were none"):
        optimizer.exact_pass(lambda part: fitting(x, part), [rows[:1]])
    with pytest.raises(TypeError, match="give size="):
        optimizer.exact_pass(lambda part: fitting(x, part), ["words"])
    with pytest.raises(ValueError, match="number of its members"):
        optimizer.exact_pass_pays(0)


@pytest.mark.parametrize("recursion", ["rows", "lagrangian"])
def test_passes_lead_far_below_the_noise_of_a_batch(recursion):
    rows, ends = members(), {}
    for passes in (False, True):
        x = parameter(0.3, -0.2, 0.5)
        report = train(x, make(x, recursion=recursion), rows, 250, passes)
        ends[passes] = residual(x, rows)
        # A tenth of the samples at most, one pass beyond for the first.
        assert report.exact_passes * 60 <= 0.1 * report.samples + 60 if passes else report.exact_passes == 0
    assert ends[True] < 1e-4 and ends[True] < 0.1 * ends[False], ends


def test_a_limit_leaves_room_for_the_last_pass():
    x, rows = parameter(0.3, -0.2, 0.5), members()
    optimizer = make(x)
    train(x, optimizer, rows, 200, False)
    spent = optimizer.report().samples
    optimizer._progress.exact_passes = 10**6
    assert not optimizer.exact_pass_pays(len(rows), 10 * spent), "their share is used up"
    assert optimizer.exact_pass_pays(len(rows), spent + 60 + 24), "the last one, with a step after it"
    assert not optimizer.exact_pass_pays(len(rows), spent + 60 + 23), "no room for a step"


def test_an_exact_estimate_loses_only_what_moves_cost():
    effective = EffectiveSamples()
    effective.start(6.0)
    # Batches of 2 and 2: 1 / (1/2 + 1/2) = 1, so S = 8 and K = 3 / 0.5^2 = 12.
    effective.compare((2.0, 2.0), 8.0, 3.0, 0.5)
    effective.take_exact(2.0)
    assert effective.momentum(2.0) < 1e-299 and effective.error() < 1e-299
    # K / S = 3/2: each move of 1/2 with B = 2 adds 3/2 / 4 / 2 = 3/16 to 1 / N.
    for moves in range(1, 4):
        effective.advance(0.0, 2.0, 0.5)
        assert abs(effective.draws - 16.0 / (3.0 * moves)) < 1e-13
    # Without the pass it would be worth what its best momentum makes of it: that limits the next move.
    running = 6.0
    for _ in range(3):
        a = (1.0 / running + 3.0 / 32.0) / (1.0 / running + 1.0 / 2.0)
        running = 1.0 / ((1.0 - a) ** 2 / running + a * a / 2.0 + (1.0 - a) * 3.0 / 16.0)
    assert abs(effective.reach() - 0.6 * 2.0 / (running * math.sqrt(1.5))) < 1e-14


def test_the_momentum_after_a_move_is_the_best_one():
    effective = EffectiveSamples()
    effective.start(6.0)
    effective.compare((2.0, 2.0), 8.0, 3.0, 0.5)
    # 1/N = 1/6, 1/B = 1/2, and a move of 1/2 costs D = 3/16: a = (1/6 + 3/32) / (1/6 + 1/2) = 25/64.
    a = effective.momentum(2.0, 0.5)
    assert abs(a - 25.0 / 64.0) < 1e-15
    # The error of a recursion by hand, 1/S of the variance of (1 - a) (e - n) + n', where n and n' have 1/B each and n' - n has D.
    together = 1.0 / 2.0 - 0.5 * 3.0 / 16.0
    worth = 1.0 / ((1.0 - a) ** 2 * (1.0 / 6.0 + 1.0 / 2.0) + 1.0 / 2.0 - 2.0 * (1.0 - a) * together)
    for other in (a - 0.01, a + 0.01):
        tried = copy.copy(effective)
        tried.advance(other, 2.0, 0.5)
        assert tried.draws < worth
    effective.advance(a, 2.0, 0.5)
    assert abs(effective.draws - worth) < 1e-14


@pytest.mark.parametrize("moved", [0.0, 0.1, 1.0, 10.0, 1e3, 1e9])
def test_an_estimate_is_never_worth_less_than_the_batch(moved):
    """A move that is too long costs all earlier batches, but not this one; and the next move is no longer for it."""
    effective = EffectiveSamples()
    effective.start(6.0)
    effective.compare((2.0, 2.0), 8.0, 3.0, 0.5)
    for _ in range(5):
        effective.advance(effective.momentum(2.0, moved), 2.0, moved)
        assert effective.draws >= 2.0 - 1e-12 and effective.reach() <= 0.6 / math.sqrt(1.5) + 1e-12


def test_where_noise_falls_old_draws_are_worth_less_and_the_error_stays():
    effective = EffectiveSamples()
    effective.start(6.0)
    effective.compare((2.0, 2.0), 8.0, 3.0, 0.5)
    error = effective.error()
    # A second comparison without noise: S falls from 8 to 8 * 0.9 / 1.9, and N with it.
    effective.compare((2.0, 2.0), 0.0, 3.0, 0.5)
    assert abs(effective.draws - 6.0 * 0.9 / 1.9) < 1e-14 and abs(effective.error() - error) < 1e-15
    assert effective.momentum(6.0) > 0.5
    # An error of 2 beside draws: S / N = 4/3 becomes 10/3.
    effective.lose(2.0)
    assert abs(effective.error() - error - 2.0) < 1e-14
    effective.take_exact(2.0)
    effective.compare((2.0, 2.0), 80.0, 3.0, 0.5)
    assert effective.draws == ALL, "no draws are worth more than all"
    without = EffectiveSamples()
    without.start(6.0)
    without.lose(2.0)
    assert without.draws == 6.0, "nothing was measured"
    without.compare((2.0, 2.0), 0.0, 0.0, 0.5)
    without.lose(2.0)
    assert without.momentum(2.0) == 1.0, "a batch without noise is all that counts"


def test_moves_are_paid_for_by_what_they_gain():
    noisy, exact = EffectiveSamples(), EffectiveSamples()
    noisy.start(100.0)
    noisy.batch = 10.0
    # S = 8 and K = 2: the estimate has the error 8/100, and a move of 1 adds 2/10.
    noisy.compare((2.0, 2.0), 8.0, 2.0, 1.0)
    for one in (exact,):
        one.start(100.0)
    # Stationarity 4: (16 - 2 * 0.08) / 64 = 0.2 t^2.
    far = longest((noisy, exact, exact), noisy, 4.0, 0.0)
    assert abs(far - math.sqrt((16.0 - 0.16) / 64.0 / 0.2)) < 1e-14
    # Where it does not stand out, sqrt(0.36) 10 / (100 sqrt(1/4)) over the root of the doubt 0.08 / (0.08 + 0.01).
    far = longest((noisy, exact, exact), noisy, 0.1, 0.0)
    assert abs(far - 0.12 / math.sqrt(0.08 / 0.09)) < 1e-14


def test_the_limited_memory_is_bfgs():
    generator = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    flat = Flat([parameter(*[0.0] * 6)])
    memory, diagonal, root = LimitedMemory(flat, 3), random(6).abs() + 0.5, random(6, 6)
    hessian, metrics = root @ root.T + 4.0 * torch.eye(6, dtype=torch.float64), []
    steps = [random(6) for _ in range(5)]
    for s in steps:
        memory.learn(s, 0.5, 0.5 * hessian @ s, 1.0 / diagonal, 0.0)
    assert memory.count == 3
    metrics = torch.diag(diagonal)
    for s in steps[2:]:
        y, bs = hessian @ s, metrics @ s
        metrics = metrics - torch.outer(bs, bs) / (s @ bs) + torch.outer(y, y) / (s @ y)
    part, v, rows = memory.part(1.0 / diagonal), random(6), random(2, 6)
    moved = v / diagonal
    part.add_to(moved, v)
    assert torch.allclose(moved, torch.linalg.solve(metrics, v), atol=1e-12)
    products = (rows / diagonal) @ rows.T + torch.as_tensor(part.products(rows))
    assert torch.allclose(products, rows @ torch.linalg.solve(metrics, rows.T), atol=1e-12)
    assert torch.allclose(memory.product(v, 1.0 / diagonal), metrics @ v, atol=1e-11)


def test_noise_is_not_learnt_and_negative_curvature_is_damped():
    flat = Flat([parameter(0.0, 0.0)])
    one, s = torch.ones(2, dtype=torch.float64), torch.tensor([1.0, 0.0], dtype=torch.float64)

    def kept(change, noise):
        memory = LimitedMemory(flat, 2)
        memory.learn(s, 1.0, torch.tensor(change, dtype=torch.float64), one, noise)
        return memory.changes[0].tolist() if memory.count else None

    # y = (2, 1): of r = (0, 1) noise of 1/4 leaves 3/4; then y is scaled by 1 / sqrt(s^T y).
    assert np.allclose(kept([2.0, 1.0], 0.25), np.array([2.0, 0.75]) / math.sqrt(2.0), atol=1e-15)
    assert kept([2.0, 1.0], 0.6) is None, "noise explains more than half"
    # y = (0.2, 4): of r = (0, 4) noise of 4 leaves 3/4, but a quarter of |r|^2 is doubtful, and that may be 10 * 0.2 at most.
    assert np.allclose(kept([0.2, 4.0], 4.0), np.array([0.2, 4.0 * math.sqrt(2.0 / 4.0)]) / math.sqrt(0.2), atol=1e-15)
    # Negative curvature: the share 0.8 / (1 + 1) of y = -s, and the rest of D s, so that s^T y = 0.2.
    assert np.allclose(kept([-1.0, 0.0], 0.0), [0.2 / math.sqrt(0.2), 0.0], atol=1e-15)
    # After y = s/2 the metric has 1/2 along s, and the damping is beside that: s^T y = 0.2 / 2.
    memory = LimitedMemory(flat, 2)
    memory.learn(s, 1.0, 0.5 * s, one, 0.0)
    memory.learn(s, 1.0, -s, one, 0.0)
    assert np.allclose(memory.changes[1].tolist(), [0.1 / math.sqrt(0.1), 0.0], atol=1e-15)
    # Of s^T y = 1 beside |s| |y| = 1e17 rounding leaves nothing.
    memory = LimitedMemory(flat, 2)
    memory.learn(s, 1.0, torch.tensor([1.0, 1e17], dtype=torch.float64), one, 0.0)
    assert memory.count == 0 and memory.part(one) is None


@pytest.mark.parametrize(("seed", "epochs"), [(0, 2), (4, 3)])
def test_outliers_of_noise_do_not_flatten_the_metric(seed, epochs):
    """A small network with kinks and dropout, where now and then the noise of a difference is many times its mean. The multipliers of the solution
    are about 2 and 0; a metric that is flat along a step makes larger ones, and by them the curvature that is learnt next."""
    torch.manual_seed(seed)
    x, group = torch.randn(4000, 5), (torch.rand(4000) < 0.4).float()
    x[:, 0] += group
    high, share, largest = (x.sum(dim=1) + 0.5 * torch.randn(4000) > 0.0).float(), group.mean(), 0.0
    model = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.02, upper=0.02)

    def closure():
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x[batch])[:, 0], high[batch])
        p, g = torch.sigmoid(model(x[batch])[:, 0]), group[batch]
        return loss, torch.stack([(p * g / share - p * (1.0 - g) / (1.0 - share)).mean(), p.mean() - high.mean()])

    for _ in range(epochs):
        for batch in torch.randperm(4000).split(64):
            optimizer.step(closure, samples=len(batch))
            largest = max(largest, *(abs(one) for one in optimizer.report().multipliers.values()))
    assert largest < 6.0


def test_another_recursion_or_memory_is_refused_in_a_checkpoint():
    x = parameter(0.3, -0.2, 0.5)
    saved = make(x).state_dict()
    with pytest.raises(ValueError, match="another recursion"):
        make(x, recursion="rows").load_state_dict(saved)
    with pytest.raises(ValueError, match="steps of a limited memory"):
        make(x, memory=1).load_state_dict(saved)


@pytest.mark.parametrize("recursion", ["rows", "lagrangian"])
def test_exact_constraints_are_corrected_after_each_step(recursion):
    """By hand: at the end of a step the circle is left by h = x.x - 1, and the correction is -J^T h / (J J^T + L h) for J = 2 x0."""
    x, moved = parameter(0.6, 0.8, 0.0), []
    optimizer = Tangor([x], constraints=1, first_batches=1, memory=0, recursion=recursion)
    rows = members()
    optimizer.step(lambda: ((x - rows[:8]).square().mean(), (x @ x - 1.0).reshape(1)))
    shift = optimizer._flat.shift
    optimizer._flat.shift = lambda vector: (moved.append((x.detach().clone(), vector.clone())), shift(vector))
    begin = x.detach().clone()

    def circle():
        return (x @ x - 1.0).reshape(1)

    caution = optimizer._progress.cautious()
    optimizer.step(lambda: ((x - rows[8:16]).square().mean(), circle()), exact_constraints=circle)
    (end, vector), = moved
    h = float(end @ end - 1.0)
    expected = -2.0 * begin * h / (4.0 * float(begin @ begin) + caution * abs(h))
    assert h > 1e-6 and torch.allclose(vector, expected, atol=1e-12)
    assert torch.equal(x.detach(), end + vector) and abs(float(circle().detach()[0])) < 0.5 * h


def test_a_wrong_number_of_exact_constraints_is_refused():
    x = parameter(0.6, 0.8, 0.0)
    optimizer = Tangor([x], constraints=1, first_batches=1)
    for _ in range(2):
        optimizer.step(lambda: ((x - 1.0).square().mean(), (x @ x - 1.0).reshape(1)))
    with pytest.raises(ValueError, match="as many constraints as the closure does: 1, not 2"):
        optimizer.step(lambda: ((x - 1.0).square().mean(), (x @ x - 1.0).reshape(1)), exact_constraints=lambda: x[:2])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("bounds", [{}, {"minimum": -1.0, "maximum": 0.9}])
def test_a_repair_ends_where_the_constraints_of_all_members_hold(seed, passes, bounds):
    x, rows = parameter(0.3, -0.2, 0.5), members(seed=seed)
    optimizer = make(x, **bounds)
    train(x, optimizer, rows, 60, passes, seed=seed)
    before, begin = fitting(x, rows), x.detach().clone()
    loss, c = optimizer.repair(lambda part: fitting(x, part), rows.split(25))
    after, u = fitting(x, rows)[1].detach(), x.detach() - begin
    assert loss == pytest.approx(float(before[0].detach()), rel=1e-12)
    np.testing.assert_allclose(c, before[1].detach().numpy(), rtol=0.0, atol=1e-12)
    # The inequality is inside. The sphere is left by what is beyond first order, and that is `u.u`, since its Hessian is twice the identity.
    assert float(after[1]) <= 0.2
    assert abs(float(after[0] - u @ u)) < 1e-11 and float(u.norm()) > 0.0
    missed = math.hypot(float(before[1][0].detach()), max(float(before[1][1].detach()) - 0.2, 0.0))
    assert abs(float(after[0])) <= max(1e-14, 0.1 * missed), (before[1], after)
    # The sphere alone has 2, and the other row adds little: no noise of slopes is in it, however short steps were.
    assert 1.9 < optimizer.report().lipschitz_constraints < 4.0


def test_a_repair_in_single_precision_reckons_with_rounding():
    x, rows = torch.nn.Parameter(torch.tensor([0.3, -0.2, 0.5])), members().float()
    optimizer = make(x)
    train(x, optimizer, rows, 60, passes=False)
    # Far enough off both rows that rounding is not all there is.
    with torch.no_grad():
        x.mul_(1.05)
    optimizer.repair(lambda part: fitting(x, part), rows.split(25))
    c = fitting(x, rows)[1].detach().double()
    assert float(c[1]) <= float(np.float32(0.2)) and abs(float(c[0])) < 2e-2


def test_a_repair_goes_no_further_than_needed():
    """One linear row: from `x1 + x2 = 3` straight to the bound 1, and where it holds nothing moves."""
    x, inside = parameter(2.0, 1.0), parameter(0.25, 0.5)
    for point, wanted in ((x, [1.0, 0.0]), (inside, [0.25, 0.5])):
        optimizer = Tangor([point], constraints=1, upper=1.0)
        # As steps along a linear row would have found.
        optimizer._progress.constraints = 0.0
        optimizer.repair(lambda rows: ((rows * point).sum(), point.sum().reshape(1)), [torch.ones(4, 2, dtype=torch.float64)])
        # An exact pass, and where something moved the values at its end.
        assert optimizer.report().samples == (8 if point is x else 4)
        np.testing.assert_allclose(point.detach().numpy(), wanted, rtol=0.0, atol=1e-6 if point is x else 0.0)
        assert float(point.detach().sum()) <= 1.0


@pytest.mark.parametrize("start, end, samples", [(1.2, 0.97938, 12), (2.0, 1.25, 8)])
def test_a_repair_reckons_with_the_curvature_that_it_finds(start, end, samples):
    """`x^2 <= 1`, with nothing known of curvature. From 1.2 the first step ends outside by `u^2`, so that `L = 2`; the margins of the second one with
    twice that are `2 u^2` for the steps 0.18333, 0.21134 and 0.22056 that `(0.44 + margin) / 2.4` makes of them. From 2 they would outgrow
    the residual 3, and the first step is kept, to 2 - 3/4."""
    x, rows = parameter(start), [torch.ones(4)]
    optimizer = Tangor([x], constraints=1, upper=1.0)
    optimizer._progress.constraints = 0.0
    with pytest.raises(TypeError, match="not an iterator"):
        optimizer.repair(lambda part: (part.mean() * x[0], x.square()), iter(rows))
    optimizer.repair(lambda part: (part.mean() * x[0], x.square()), rows)
    assert abs(float(x.detach()[0]) - end) < 1e-3 and optimizer.report().samples == samples
    (value,) = optimizer.report().constraints.values()
    assert value == pytest.approx(float(x.detach()[0]) ** 2)


@pytest.mark.parametrize("limit, end, samples", [(4, 1.05, 4), (7, 1.05, 4), (8, 0.9995, 8), (None, 0.9995, 8)])
def test_a_repair_keeps_to_its_limit_and_is_cautious(limit, end, samples):
    """`0.1 x^2 + 0.9 x <= 1` from 1.05, where the first step of 0.05 leaves 2.5e-4 beyond first order, and the run has measured a tenth of this curvature: with
    caution it ends inside all the same. Without the samples for the values at its end nothing moves."""
    x = parameter(1.05)
    optimizer = Tangor([x], constraints=1, upper=1.0)
    optimizer._progress.constraints = 0.02
    optimizer.repair(lambda part: (part.mean() * x[0], 0.1 * x.square() + 0.9 * x), [torch.ones(4)], limit=limit)
    assert abs(float(x.detach()[0]) - end) < 1e-3 and optimizer.report().samples == samples
    assert samples == 4 or float(x.detach()[0]) < 1.0


def test_a_repair_that_is_broken_off_leaves_the_parameters():
    x, calls = parameter(1.2), []

    def broken(part):
        calls.append(part)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return part.mean() * x[0], x.square()

    optimizer = Tangor([x], constraints=1, upper=1.0)
    with pytest.raises(KeyboardInterrupt):
        optimizer.repair(broken, [torch.ones(4)])
    assert x.tolist() == [1.2] and len(calls) == 2


def test_a_repair_that_promises_nothing_is_not_taken():
    """At the top of `x1^2 - 1 <= -2`, which has no solution, the first derivative leads far away."""
    x = parameter(1e-3, 0.0)
    optimizer = Tangor([x], constraints=1, upper=-2.0)
    optimizer.repair(lambda rows: (rows.mean() + x[1], (x[0] ** 2 - 1.0).reshape(1)), [torch.ones(4)])
    assert x.tolist() == [1e-3, 0.0]
