"""Several processes with gloo: batches in parts, and shards of parameters. Skipped where torch is not installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")
dist = pytest.importorskip("torch.distributed")
if not (dist.is_available() and dist.is_gloo_available()):
    pytest.skip("this torch knows no processes with gloo", allow_module_level=True)

from tangor.torch import Tangor, _passes, certify  # noqa: E402

STEPS, FIRST, SIZE = 24, 4, 32
# With bounds on the parameters torch passes over the vectors, and without them the library, at once, as it does where they are long.
KINDS = ("batches", "shards", "batches at once", "shards at once")


def regression(model, batch):
    x, y = batch
    p, side = model(x), (x[:, :1] > 0).to(x.dtype)
    return ((p - y) ** 2).mean(), torch.stack([(p * side).mean(), (p * (1 - side)).mean()])


def numbers(model):
    whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
    return torch.cat([p.detach().reshape(-1) for p in whole])


def train(rank, world, kind):
    """One run. The batches of all ranks together are the same for any number of them; one batch is bad on the last rank alone."""
    kind, at_once = kind.split()[0], kind.endswith("at once")
    _passes.LONG = 1 if at_once else 65_536
    torch.manual_seed(0 if kind == "shards" else rank)
    model = torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)).double()
    if kind == "shards":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    bounds = {"memory": 0} if at_once else {"minimum": -0.7, "maximum": 0.9}
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=FIRST, **bounds)
    generator = torch.Generator().manual_seed(1)

    def draw(bad):
        x = torch.randn(SIZE, 3, generator=generator, dtype=torch.float64)
        y = torch.sin(x.sum(dim=1, keepdim=True))
        if bad:
            y[-1] = float("nan")
        return x.chunk(world)[rank], y.chunk(world)[rank]

    for step in range(STEPS):
        batch = draw(step == 10)
        optimizer.step(lambda: regression(model, batch), samples=len(batch[0]))
    judged = certify(model, regression, [draw(False) for _ in range(8)], optimizer=optimizer)
    # Two outputs far off; the values at the end of a repair must be those of the parameters there.
    with torch.no_grad():
        list(model.parameters())[-1].fill_(0.4)
    whole = [draw(False) for _ in range(4)]
    optimizer.repair(lambda batch: regression(model, batch), whole)
    told = list(optimizer.report().constraints.values())
    _, c = optimizer.exact_pass(lambda batch: regression(model, batch), whole)
    repaired = {"told": told, "found": c.tolist()}
    d = sum(p.numel() for p in model.parameters())
    own = optimizer.state_dict()["tangor"]["squares"].numel()
    report = vars(optimizer.report())
    return {"x": numbers(model).tolist(), "report": report, "judged": judged.stationarity.value, "repaired": repaired, "d": d, "own": own}


def work(rank, world, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet{world}", rank=rank, world_size=world)
    try:
        results = {kind: train(rank, world, kind) for kind in KINDS}
        (folder / f"{world}-{rank}.json").write_text(json.dumps(results))
    finally:
        dist.destroy_process_group()
    # `fully_shard` keeps its group, whose threads may abort a process while Python exits ("terminate called without an active exception").
    os._exit(0)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """By number of processes, rank and kind."""
    folder = tmp_path_factory.mktemp("processes")
    for world in (1, 2, 4):
        torch.multiprocessing.spawn(work, (world, folder), nprocs=world)
    return {world: [json.loads((folder / f"{world}-{rank}.json").read_text()) for rank in range(world)] for world in (1, 2, 4)}


ENDING = """
import os, sys
import torch
import torch.distributed as dist
from tangor.torch import Tangor
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
x = torch.nn.Parameter(torch.ones(2))
optimizer = Tangor([x], constraints=1, upper=0.25, first_batches=1)
for _ in range(3):
    optimizer.step(lambda: (x.sum(), (x @ x).reshape(1)))
dist.all_reduce(torch.ones(3))
names = lambda: [open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")]
assert any("gloo" in name for name in names()), names()
dist.destroy_process_group()
print([name for name in names() if "gloo" in name])
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads have names on Linux")
def test_no_thread_of_gloo_outlives_its_group(tmp_path):
    ended = subprocess.run([sys.executable, "-P", "-c", ENDING, tmp_path / "meet"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout.strip()) == (0, "[]"), ended.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_the_same_on_all_ranks(results, kind):
    for ranks in results.values():
        for one in ranks[1:]:
            assert one[kind]["x"] == ranks[0][kind]["x"] and one[kind]["report"] == ranks[0][kind]["report"]
            assert one[kind]["judged"] == ranks[0][kind]["judged"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_does_not_depend_on_the_number_of_processes(results, kind):
    alone = results[1][0][kind.replace("shards", "batches")]
    assert alone["report"]["iterations"] == STEPS - FIRST - 1 and alone["report"]["skipped"] == 1
    for ranks in results.values():
        many = ranks[0][kind]
        assert torch.allclose(torch.tensor(many["x"]), torch.tensor(alone["x"]), rtol=0.0, atol=1e-9)
        assert abs(many["judged"] - alone["judged"]) < 1e-9
        for name in ("iterations", "skipped", "samples", "evaluations", "shortened"):
            assert many["report"][name] == alone["report"][name], name


@pytest.mark.parametrize("kind", KINDS)
def test_a_repair_evaluates_the_members_of_all_ranks(results, kind):
    for ranks in results.values():
        for repaired in (one[kind]["repaired"] for one in ranks):
            assert max(map(abs, repaired["found"])) <= 0.05, repaired
            assert all(abs(told - found) < 1e-12 for told, found in zip(repaired["told"], repaired["found"])), repaired


def test_each_rank_keeps_its_shard_only(results):
    for world, ranks in results.items():
        shares = [one["shards"]["own"] for one in ranks]
        assert sum(shares) == ranks[0]["shards"]["d"] == 31
        # Rows are whole: the largest share of 6 x 3, 6, 1 x 6 and 1 numbers.
        assert max(shares) == {1: 31, 2: 9 + 3 + 6 + 1, 4: 6 + 2 + 6 + 1}[world]
        assert [one["batches"]["own"] for one in ranks] == [31] * world
