"""The code of docs/learning.md runs as it stands there. Skipped where torch is not installed."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")
torch.set_num_threads(1)

PAGE = Path(__file__).parents[2] / "docs" / "learning.md"


def blocks(text):
    """The indented blocks of a page, without their indentation."""
    block = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("    ") or (block and not line.strip()):
            block.append(line[4:])
        elif block:
            yield "\n".join(block).rstrip()
            block = []


class Writer:
    """What TensorBoard's writer is asked for."""

    def __init__(self):
        self.names = set()

    def add_scalar(self, name, value, step):
        assert isinstance(value, float) and isinstance(step, int)
        self.names.add(name)


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()

    def draw():
        return torch.randn(64, 4, dtype=torch.float64)

    def loss(model, batch):
        return (model(batch).squeeze(1) - batch.sum(dim=1)).square().mean()

    def gaps(model, batch):
        p, side = model(batch).squeeze(1), (batch[:, 0] > 0).to(batch.dtype)
        return torch.stack([(p * side).mean() - 0.1, (p * (1 - side)).mean() + 0.1])

    names = {
        "model": model,
        "loss": loss,
        "gaps": gaps,
        "loss_and_constraints": lambda model, batch: (loss(model, batch), gaps(model, batch)),
        "loader": (members := [draw() for _ in range(40)]),
        "whole_loader": members,
        "fixed": draw(),
        "dataset": torch.cat(members),
        "fresh_loader": [draw() for _ in range(10)],
        "writer": Writer(),
        "step": 0,
    }
    code = [block for block in blocks(PAGE.read_text()) if "optimizer" in block or "import" in block]
    assert len(code) >= 4
    before = loss(model, draw()).item()
    for block in code:
        exec(compile(block, str(PAGE), "exec"), names)
    optimizer = names["optimizer"]
    assert optimizer.report().iterations >= 60 and loss(model, draw()).item() < before
    assert {"loss", "rho", "constraint/c0"} <= names["writer"].names
    assert (tmp_path / "run.png").stat().st_size > 1000
    # Four lines of a loop change, and the page says which.
    numbered = [line for line in code[0].splitlines() if "#" in line]
    assert [line.split("#")[1].strip()[0] for line in numbered] == ["1", "2", "3", "4"]
