"""Small networks whose constraint is far from its bound: noise allows but short moves, and the limited memory learns flat directions. Skipped where torch is not installed."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")

from tangor.torch import Tangor  # noqa: E402
from tangor.torch._columns import Columns  # noqa: E402
from tangor.torch._directions import find  # noqa: E402
from tangor.torch._limits import Limits  # noqa: E402

torch.set_num_threads(1)
PEOPLE, BATCH = 2_000, 64


def train(seed, steps):
    """161 weights with kinks; the square of the gap between two groups that are alike stays below 0.05 by itself. Gives the optimizer, the largest multiplier on the way,
    the smallest stepsize and the loss of all people."""
    generator = torch.Generator().manual_seed(1000 + seed)
    x = torch.randn(PEOPLE, 8, generator=generator)
    side = (torch.rand(PEOPLE, generator=generator) < 0.5).float()
    y = (x[:, 0] + x[:, 1] * x[:, 2] + 0.3 * torch.randn(PEOPLE, generator=generator) > 0).float()
    weight = side / side.mean() - (1 - side) / (1 - side.mean())
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def loss_and_gap(some):
        z = model(x[some]).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y[some])
        return loss, ((torch.sigmoid(z) * weight[some]).mean() ** 2).reshape(1)

    optimizer, largest, shortest = Tangor(model.parameters(), constraints=1, upper=0.05), 0.0, 1.0
    order = torch.cat([torch.randperm(PEOPLE, generator=generator)[: PEOPLE - PEOPLE % BATCH] for _ in range(1 + steps * BATCH // PEOPLE)])
    for some in order.split(BATCH)[:steps]:
        optimizer.step(lambda: loss_and_gap(some), samples=BATCH)
        report = optimizer.report()
        largest = max(largest, abs(report.multipliers["c0"]))
        shortest = min(shortest, report.eta) if report.iterations else shortest
    return optimizer, largest, shortest, float(loss_and_gap(torch.arange(PEOPLE))[0].detach())


@pytest.mark.parametrize("seed", [2, 5])
def test_a_row_that_holds_nothing_has_no_multiplier(seed):
    """Multipliers had come to 590 and 150, and stepsizes fallen to 1e-5."""
    _, largest, shortest, loss = train(seed, 250)
    assert largest < 10.0 and shortest > 1e-4 and loss < 0.3, (largest, shortest, loss)


def test_where_a_row_has_room_the_diagonal_makes_a_step_that_is_too_long():
    optimizer, *_ = train(0, 60)
    flat, estimates, c = optimizer._flat, optimizer._estimates, optimizer._estimates.c
    assert optimizer._memory.count > 0

    def step(memory, room, is_too_long):
        columns = Columns(flat, estimates.derivatives, optimizer._metric, optimizer._base, None, memory)
        limits, warm = Limits(c - room, c + room), replace(optimizer._warm)
        return find(columns, c, 1.0, limits, 1.0, warm, flat.zeros(), lambda _: is_too_long).s

    for room in (1e-3, 0.0):
        diagonal, whole, shorter = step(None, room, True), step(optimizer._memory, room, False), step(optimizer._memory, room, True)
        assert not torch.allclose(whole, diagonal, rtol=1e-2, atol=0.0)
        assert torch.allclose(shorter, diagonal if room > 0.0 else whole, rtol=1e-6, atol=1e-9), room
