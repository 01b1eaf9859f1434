"""Loss and constraints without graphs, from which no derivatives come."""

import math

import pytest

torch = pytest.importorskip("torch")

from tangor.torch import Tangor, certify  # noqa: E402

torch.set_num_threads(1)


def parameter():
    return torch.nn.Parameter(torch.tensor([0.2, 0.3], dtype=torch.float64))


def loss_of(x):
    return ((x - 1.0) ** 2).sum()


@torch.no_grad()
def silent(x):
    return loss_of(x)


@pytest.mark.parametrize("loss", [silent, lambda x: loss_of(x).detach(), lambda x: torch.tensor(loss_of(x).item(), dtype=torch.float64)])
def test_a_loss_without_a_graph_is_refused_at_once(loss):
    x = parameter()
    optimizer = Tangor([x], constraints=1, upper=1.0)
    with pytest.raises(RuntimeError, match=r"the loss .* has no graph.*Return it as it is computed from the model"):
        optimizer.step(lambda: (loss(x), x.sum().reshape(1)))
    # Who catches it and mends the closure goes on.
    optimizer.step(lambda: (loss_of(x), x.sum().reshape(1)))


@pytest.mark.parametrize("rows", [lambda x: [x[0], x[1].detach()], lambda x: [x[0], 0.5]])
def test_a_constraint_that_never_had_a_graph_is_named(rows):
    x = parameter()
    optimizer = Tangor([x], constraints=2, upper=1.0, names=["first", "second"], first_batches=3)
    for _ in range(2):
        optimizer.step(lambda: (loss_of(x), rows(x)))
    with pytest.raises(RuntimeError, match=r"graph to constraint 1 \('second'\) of those"):
        optimizer.step(lambda: (loss_of(x), rows(x)))


def test_constraints_without_any_graph_are_refused_wherever_they_are_judged():
    x = parameter()
    message = r"graph to constraint 0 \('c0'\), 1 \('c1'\)"
    with pytest.raises(RuntimeError, match=message):
        Tangor([x], constraints=2, names=["c0", "c1"], first_batches=1).step(lambda: (loss_of(x), x.detach() - 1.0))
    with pytest.raises(RuntimeError, match=message):
        Tangor([x], constraints=2, names=["c0", "c1"]).exact_pass(lambda batch: (loss_of(x), x.detach() - batch), [torch.ones(1)])
    model = torch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match=message):
        gone = lambda model, batch: (model(batch).square().mean(), model(batch).mean(dim=0).detach())  # noqa: E731
        certify(model, gone, [torch.ones(3, 2)] * 4, lower=0.0, names=["c0", "c1"])


def test_a_constraint_may_be_a_constant_on_some_batches():
    x = parameter()
    optimizer = Tangor([x], constraints=1, upper=0.0, first_batches=4)
    # As where a batch has nobody of a group: half the time there is nothing to say, so that the mean is half of x_0 + x_1 - 1.
    for step in range(200):
        nothing = torch.zeros(1, dtype=torch.float64)
        optimizer.step(lambda: (loss_of(x), x.sum().reshape(1) - 1.0 if step % 2 else nothing))
    assert torch.allclose(x.detach(), torch.full((2,), 0.5, dtype=torch.float64), atol=0.05), x


def test_nothing_to_minimise_is_a_constant_zero():
    x = parameter()
    optimizer = Tangor([x], constraints=1, lower=2.0, upper=2.0)
    for _ in range(60):
        optimizer.step(lambda: (torch.zeros((), dtype=torch.float64), x.sum().reshape(1)))
    assert math.isclose(float(x.detach().sum()), 2.0, abs_tol=1e-3)
