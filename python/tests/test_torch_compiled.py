"""Models that Inductor compiles, as people call them: in single precision, once for the loss and once for the constraints."""

import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from tangor.torch import Tangor  # noqa: E402

torch.set_num_threads(1)

pytestmark = [
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "c++", "clang++"))), reason="Inductor needs a C++ compiler"),
    pytest.mark.filterwarnings("ignore:derivatives are taken row by row"),
]


@pytest.fixture(autouse=True)
def without_pyomo(request):
    """Inductor stumbles over modules that stand for Pyomo's missing ones: where they are there, a test runs in a process of its own."""
    if "pyomo" in sys.modules:
        alone = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", f"{__file__}::{request.node.name}"]
        done = subprocess.run(alone, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        pytest.skip("it has passed in a process of its own")


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))


def batches(count):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(64, 6, generator=generator)
        yield x, (x[:, 0] + x[:, 1] > 0).float()


def loss_and_mean(model, batch):
    x, y = batch
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    return loss, torch.sigmoid(model(x)).mean().reshape(1)


def train(model, called):
    optimizer = Tangor(model.parameters(), constraints=1, upper=0.4, first_batches=2)
    for batch in batches(12):
        optimizer.step(lambda: loss_and_mean(called, batch))
    assert optimizer.report().skipped == 0
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def test_a_compiled_model_may_be_called_more_than_once():
    torch._dynamo.reset()
    eager, model = network(), network()
    assert torch.allclose(train(model, torch.compile(model)), train(eager, eager), atol=1e-3)


def test_a_model_that_was_compiled_for_one_backward_pass_is_named():
    torch._dynamo.reset()
    model = network()
    compiled = torch.compile(model)
    sum(loss_and_mean(compiled, next(batches(1)))).backward()
    with pytest.raises(RuntimeError, match="compiled for one backward pass, before the optimizer called it"):
        train(model, compiled)
    torch._dynamo.reset()
    train(model, compiled)


def test_a_model_may_be_compiled_for_batches_of_any_size():
    """Inductor does so by itself where a second size comes, as at the end of a loader."""
    torch._dynamo.reset()
    eager, model = network(), network()
    assert torch.allclose(train(model, torch.compile(model, dynamic=True)), train(eager, eager), atol=1e-3)


def test_a_model_for_batches_of_any_size_that_was_compiled_for_one_backward_pass_is_named():
    torch._dynamo.reset()
    model = network()
    compiled = torch.compile(model, dynamic=True)
    sum(loss_and_mean(compiled, next(batches(1)))).backward()
    with pytest.raises(RuntimeError, match="compiled for one backward pass, before the optimizer called it"):
        train(model, compiled)
