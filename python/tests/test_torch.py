"""The optimizer for PyTorch. All of this is skipped where torch is not installed."""

import copy
import gc
import math
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the tests of tangor.torch are skipped")

from tangor.torch import History, Tangor, certify  # noqa: E402

torch.set_num_threads(1)

CENTRE = torch.tensor([1.0, -0.5], dtype=torch.float64)


def noisy(x, generator, size=32, noise=0.1):
    """|x - centre|^2 / 2 with noise in its gradient."""
    draws = noise * torch.randn(size, 2, generator=generator, dtype=torch.float64)
    return lambda: 0.5 * ((x - CENTRE - draws) ** 2).sum(dim=1).mean()


def run(optimizer, closure_of, steps, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        optimizer.step(closure_of(generator))
    return optimizer.report()


def parameter(*values):
    return torch.nn.Parameter(torch.tensor(values, dtype=torch.float64))


@pytest.mark.parametrize(
    ("lower", "upper", "expected", "multiplier"),
    [
        # On the circle, inside of it, outside of it, between two of them; on the circle of radius 1/2, |x - centre| / |x| is the multiplier of
        # x.x, by 1/2.
        (0.25, 0.25, 0.5 / math.sqrt(1.25), 0.5 * (math.sqrt(1.25) - 0.5) / 0.5),
        (None, 0.25, 0.5 / math.sqrt(1.25), 0.5 * (math.sqrt(1.25) - 0.5) / 0.5),
        (4.0, None, 2.0 / math.sqrt(1.25), 0.5 * (math.sqrt(1.25) - 2.0) / 2.0),
        (0.25, 4.0, 1.0, 0.0),
    ],
)
def test_equalities_inequalities_and_ranges(lower, upper, expected, multiplier):
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, lower=lower, upper=upper, names=["radius"])

    def closure_of(generator):
        loss = noisy(x, generator)
        return lambda: (loss(), (x @ x).reshape(1))

    report = run(optimizer, closure_of, 300)
    assert torch.allclose(x.detach(), expected * CENTRE, atol=0.01), x
    assert abs(report.multipliers["radius"] - multiplier) < 0.02
    assert report.iterations == 300 - 16 and report.feasibility < 1e-6


def test_noisy_constraints():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=0.25)

    def closure_of(generator):
        loss, noise = noisy(x, generator), 0.1 * torch.randn(32, generator=generator, dtype=torch.float64).mean()
        return lambda: (loss(), (x @ x).reshape(1) * (1 + noise))

    run(optimizer, closure_of, 600)
    assert torch.allclose(x.detach(), 0.5 / math.sqrt(1.25) * CENTRE, atol=0.01), x


def network(seed=0, dtype=torch.float64, dropout=0.0):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(8, 1)]
    return torch.nn.Sequential(*layers).to(dtype)


def data(generator, size=64, dtype=torch.float64):
    x = torch.randn(size, 3, generator=generator, dtype=dtype)
    return x, torch.sin(x.sum(dim=1, keepdim=True))


def regression(model, batch):
    """The squared error; the mean prediction is at most 0.05 below and above zero in the two half spaces."""
    x, y = batch
    p, side = model(x), (x[:, :1] > 0).to(x.dtype)
    return ((p - y) ** 2).mean(), torch.stack([(p * side).mean(), (p * (1 - side)).mean()])


def train(model, optimizer, steps, generator):
    for _ in range(steps):
        batch = data(generator, dtype=next(model.parameters()).dtype)
        optimizer.step(lambda: regression(model, batch), samples=64)


def bits(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist()


@pytest.mark.parametrize("recursion", ["rows", "lagrangian"])
@pytest.mark.parametrize("stop", [3, 21, 26])
def test_a_resumed_run_gives_the_same_bits(tmp_path, stop, recursion):
    def begin():
        model = network(dropout=0.2)
        return model, Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, recursion=recursion)

    model, optimizer = begin()
    generator = torch.Generator().manual_seed(1)
    train(model, optimizer, stop, generator)
    torch.save([model.state_dict(), optimizer.state_dict(), torch.get_rng_state(), generator.get_state()], tmp_path / "run.pt")
    train(model, optimizer, 15, generator)
    whole = bits(model), optimizer.report()
    model, optimizer = begin()
    saved = torch.load(tmp_path / "run.pt")
    model.load_state_dict(saved[0])
    optimizer.load_state_dict(saved[1])
    torch.set_rng_state(saved[2])
    generator.set_state(saved[3])
    train(model, optimizer, 15, generator)
    assert bits(model) == whole[0] and str(optimizer.report()) == str(whole[1])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))])
def test_copies_go_on_alike(copied):
    """A model and its optimizer, copied together in the middle of a run, also where a scheduler watches the steps."""
    model, generator = network(), torch.Generator().manual_seed(2)
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2)
    torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    train(model, optimizer, 8, generator)
    other, copy_of = copied((model, optimizer))
    before = bits(model)
    train(other, copy_of, 8, torch.Generator().manual_seed(7))
    assert bits(model) == before != bits(other)
    train(model, optimizer, 8, torch.Generator().manual_seed(7))
    assert bits(model) == bits(other) and optimizer.report() == copy_of.report()


def test_both_points_see_the_same_random_numbers():
    model = network(dropout=0.5)
    optimizer = Tangor(model.parameters(), constraints=0, first_batches=1)
    batch, seen = data(torch.Generator().manual_seed(0)), []
    for _ in range(2):
        seen.clear()
        before = bits(model)

        def closure():
            state = torch.get_rng_state()
            seen.append(state)
            return regression(model, batch)[0], None

        optimizer.step(closure)
    assert len(seen) >= 2 and all(torch.equal(seen[0], state) for state in seen)
    assert bits(model) != before
    assert not torch.equal(torch.get_rng_state(), seen[0]), "the next batch draws anew"


def test_no_vector_of_the_parameters_goes_to_the_host(monkeypatch):
    model = network()
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, memory=2)
    d, sizes = sum(p.numel() for p in model.parameters()), []
    # Every way that a tensor has to the host, whoever takes it.
    for name in ("cpu", "numpy", "tolist", "item", "__array__", "to", "__float__"):
        original = getattr(torch.Tensor, name)

        def counted(tensor, *args, original=original, name=name, **kwargs):
            towards_host = name != "to" or "cpu" in map(str, args)
            if towards_host:
                sizes.append(tensor.numel())
            return original(tensor, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, counted)
    train(model, optimizer, 40, torch.Generator().manual_seed(0))
    monkeypatch.undo()
    # Products of gradient and Jacobian with the metric, and of the gradient without it, are the most: (1 + m) (2 + m) numbers. Of two steps in memory it is 2 * 2 (1 + m).
    assert optimizer.report().iterations == 24 and sizes
    assert max(sizes) == (1 + 2) * (2 + 2) < d == 41


def test_bad_batches_are_skipped_and_counted():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=0.25)
    generator = torch.Generator().manual_seed(0)
    for step in range(300):
        loss = noisy(x, generator)
        bad = {50: math.nan, 100: math.inf}.get(step, 1.0)
        before = x.detach().clone()
        optimizer.step(lambda: (loss() * bad, (x @ x).reshape(1)))
        assert bad == 1.0 or torch.equal(before, x.detach())
    assert optimizer.report().skipped == 2
    assert torch.allclose(x.detach(), 0.5 / math.sqrt(1.25) * CENTRE, atol=0.01)


def test_a_value_that_is_missing_ahead_shortens_the_step():
    x = parameter(0.5)
    optimizer = Tangor([x], constraints=0, first_batches=1)
    for _ in range(60):
        # The logarithm has no value at -1/2, where the first step wants to go.
        optimizer.step(lambda: ((-torch.log(x) + 3 * x).sum(), None))
    assert abs(float(x.detach()) - 1 / 3) < 1e-3


class Doubled(torch.autograd.Function):
    """An operation that knows no batched backward pass."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        if torch._C._functorch.is_batchedtensor(gradient):
            raise RuntimeError("no batched backward pass here")
        return 2 * gradient


def test_derivatives_row_by_row_where_a_batched_pass_fails():
    def closure_of(x, double):
        return lambda: (((double(x) - CENTRE) ** 2).sum(), torch.stack([double(x).prod(), x.sum()]))

    results = []
    for double in (lambda x: 2 * x, Doubled.apply):
        x = parameter(0.2, 0.3)
        optimizer = Tangor([x], constraints=2, upper=[0.1, 0.2], first_batches=1)
        if double is Doubled.apply:
            with pytest.warns(UserWarning, match="row by row"):
                optimizer.step(closure_of(x, double))
        for _ in range(30 if double is not Doubled.apply else 29):
            optimizer.step(closure_of(x, double))
        results.append(x.detach().clone())
    assert torch.equal(*results)


def test_schedulers_lower_the_share_of_the_step():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=0.25, first_batches=1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.0 if epoch else 1.0)
    generator = torch.Generator().manual_seed(0)
    for step in range(3):
        before, loss = x.detach().clone(), noisy(x, generator)
        optimizer.step(lambda: (loss(), (x @ x).reshape(1)))
        assert torch.equal(before, x.detach()) == (step != 1)
        if step == 1:
            schedule.step()


def test_a_warm_up_may_round_its_end():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=0.25, first_batches=1)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 10)
    most = 0.0
    for _ in range(12):
        optimizer.step(lambda: (x.sum(), (x @ x).reshape(1)))
        schedule.step()
        most = max(most, optimizer.param_groups[0]["lr"])
    assert 1.0 < most < 1.0 + 1e-12 and optimizer.report().iterations == 11


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(weight_decay=0.1), "takes no weight_decay"),
        (dict(lr=2.0), "between 0 and 1, not 2.0"),
        (dict(lower=1.0, upper=0.0), "above its upper bound"),
        (dict(lower=[0.0, 1.0]), "one number or 1"),
        (dict(upper=math.inf), "needs a finite one"),
        (dict(names=["a", "b"]), "1 different names"),
        (dict(memory=-1), "memory must be a number of steps"),
        (dict(names="r"), "names must be a list"),
        (dict(recursion="none"), "recursion must be 'rows' or 'lagrangian'"),
    ],
)
def test_bad_settings_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        Tangor([parameter(0.0)], constraints=1, **given)


@pytest.mark.parametrize("constraints", [True, 1.0, -1, "1"])
def test_constraints_are_a_number(constraints):
    with pytest.raises(ValueError, match="constraints must be their number"):
        Tangor([parameter(0.0)], constraints=constraints)
    assert len(Tangor([parameter(0.0)], constraints=np.int64(2)).report().constraints) == 2


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
def test_a_parameter_is_given_once():
    x = parameter(0.2, 0.3)
    with pytest.raises(ValueError, match="given twice"):
        Tangor([x, x], constraints=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model.double(), "are torch.float64 on cpu now, and were torch.float32 on cpu"),
        (lambda model: model[0].requires_grad_(False), "require a gradient has changed"),
        (lambda model: model[3].requires_grad_(True), "require a gradient has changed"),
    ],
)
def test_a_model_that_changes_under_the_optimizer_is_noticed(change, message):
    model = network(dtype=torch.float32)
    model[3].requires_grad_(False)
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2)
    train(model, optimizer, 4, torch.Generator().manual_seed(0))
    change(model)
    before = bits(model)
    for call in (lambda: train(model, optimizer, 1, torch.Generator()), lambda: optimizer.exact_pass(lambda batch: regression(model, batch), [])):
        with pytest.raises(RuntimeError, match=message):
            call()
    assert bits(model) == before


def test_many_skipped_batches_are_told_of_once():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=0, first_batches=2)

    def take(count, factor):
        for _ in range(count):
            optimizer.step(lambda: (((x - CENTRE) ** 2).sum() * factor, None))

    take(4, 1.0)
    take(19, math.nan)
    take(1, 1.0)
    take(19, math.nan)
    with pytest.warns(UserWarning, match="20 batches in a row were skipped"):
        take(1, math.nan)
    take(30, math.nan)
    assert optimizer.report().skipped == 69


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_without_a_lower_bound_is_named():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=1.0, first_batches=2)
    with pytest.raises(OverflowError, match="does the loss fall without end"):
        for _ in range(100):
            optimizer.step(lambda: (-(x**3).sum(), x[:1]))
    assert bool(torch.isfinite(x).all())


def test_bad_closures_are_named():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1)
    with pytest.raises(ValueError, match="needs a closure"):
        optimizer.step()
    for samples in (0, -1):
        with pytest.raises(ValueError, match="must be the size of the batch"):
            optimizer.step(lambda: (x.sum(), x[:1]), samples=samples)
    with pytest.raises(TypeError, match="return loss, c"):
        optimizer.step(lambda: x.sum())
    with pytest.raises(ValueError, match="as the optimizer was told: 1, not 2"):
        optimizer.step(lambda: (x.sum(), x))

    def backward():
        loss = (x * x).sum()
        loss.backward()
        return loss, x.sum().reshape(1)

    with pytest.raises(RuntimeError, match="without calling backward"):
        optimizer.step(backward)
    with pytest.raises(ValueError, match="cannot be added"):
        optimizer.add_param_group({"params": [parameter(1.0)]})
    with pytest.raises(ValueError, match="not one of a Tangor optimizer"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="of 2 parameters and 1 constraints"):
        Tangor([parameter(1.0)], constraints=1).load_state_dict(copy.deepcopy(optimizer.state_dict()))


def test_single_precision_and_bfloat16_forward_passes():
    model = network(dtype=torch.float32)
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05)
    generator = torch.Generator().manual_seed(0)
    for _ in range(400):
        batch = data(generator, size=256, dtype=torch.float32)

        def closure():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return regression(model, batch)

        # Without oneDNN, whose bfloat16 kernels end the process with an illegal instruction on some processors.
        with torch.backends.mkldnn.flags(enabled=False):
            optimizer.step(closure)
    assert all(p.dtype == torch.float32 for p in model.parameters())
    held_out = data(torch.Generator().manual_seed(5), size=20_000, dtype=torch.float32)
    with torch.no_grad():
        loss, c = regression(model, held_out)
    assert loss < 0.5 and c.abs().max() < 0.06
    # Rounding of the short numbers does not look like ascent, for which steps would become shorter and shorter.
    assert optimizer.report().shortened <= 2 and optimizer.report().eta > 1e-3


def test_row_by_row_and_batched_passes_give_the_same(monkeypatch):
    """Above some size the processor takes derivatives row by row, into memory that stays."""

    def run(long):
        monkeypatch.setattr("tangor.torch._batch.LONG_ROWS", long)
        model = network()
        optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2)
        assert optimizer._evaluator.batched == (long > 1)
        generator = torch.Generator().manual_seed(3)
        for _ in range(20):
            batch = data(generator)
            optimizer.step(lambda: regression(model, batch))
        return torch.tensor(bits(model))

    assert torch.allclose(run(1), run(10**9), rtol=0.0, atol=1e-10)


def test_products_of_single_precision_rows_are_nearly_exact():
    """Sums of short pieces in single precision, added in double precision, lose far less than one sum in single precision."""
    from tangor.torch._products import dots, gram, rows_times

    rows = torch.randn(3, 600_001, generator=torch.Generator().manual_seed(0), dtype=torch.float64).float()
    exact = rows.double() @ rows.double().T
    size = float(exact.diagonal().max())
    assert (gram([rows[:, :7], rows[:, 7:]]) - exact).abs().max() < 1e-8 * size
    assert (rows_times([rows], [rows[1]]) - exact[:, 1]).abs().max() < 1e-8 * size
    parts = [rows[:1, :7], rows[:1, 7:]]
    assert (rows_times(parts, [rows[2, :7], rows[2, 7:]]) - exact[0, 2]).abs().max() < 1e-8 * size
    assert (dots([([rows[0]], [rows[2]])]) - exact[0, 2]).abs().max() < 1e-6 * size


def test_a_step_that_is_broken_off_leaves_no_trace():
    """As by Ctrl-C in a notebook, after which the loop is run again; or by a closure that gives a value and then, at the same parameters, none."""

    def run(broken, call=2, error=KeyboardInterrupt):
        model, generator, calls = network(), torch.Generator().manual_seed(5), 0
        optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2)
        for number in range(30):
            batch = data(generator)

            def closure():
                nonlocal calls
                calls += 1
                if calls == at and error is KeyboardInterrupt:
                    raise KeyboardInterrupt
                loss, c = regression(model, batch)
                return loss if error is KeyboardInterrupt or not 0 < at <= calls else loss * float("nan"), c

            # The second call of a step is at its other end.
            calls, at = 0, call if number == broken else 0
            try:
                optimizer.step(closure)
            except error:
                at = 0
                optimizer.step(closure)
        return bits(model)

    whole = run(broken=None)
    assert all(run(broken, call) == whole for broken in (17, 25, 28) for call in (1, 2))
    # Steps that compare two batches call three times, first at the last point.
    assert all(run(broken, call) == whole for broken in (5, 12, 22) for call in (1, 2, 3))
    assert run(23, 2, RuntimeError) == whole


def test_products_of_a_jacobian_that_stays_are_kept():
    w = torch.nn.Parameter(torch.linspace(-1.0, 1.0, 40, dtype=torch.float64))
    optimizer = Tangor([w], constraints=2, lower=-0.5, upper=0.5, first_batches=2)
    generator, kept = torch.Generator().manual_seed(5), 0
    for _ in range(60):
        noise = torch.randn(40, generator=generator, dtype=torch.float64)
        # Rows that are linear in the parameters, and the same in each batch, need not be taken anew.
        optimizer.step(lambda: ((w - 1 + 0.1 * noise).square().mean(), torch.stack([w[:20].sum(), w[20:].mean()])))
        estimates = optimizer._estimates
        if estimates.gram is not None:
            kept += 1
            rows = estimates.derivatives[1:]
            np.testing.assert_allclose(estimates.gram, (rows @ rows.T).numpy(), rtol=1e-12, atol=1e-15)
    assert kept > 10


def test_certificates_cover_and_tell_of_violations():
    model = network()
    optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05)
    train(model, optimizer, 300, torch.Generator().manual_seed(0))
    whole = [data(torch.Generator().manual_seed(99), size=100_000)]
    truth = certify(model, regression, whole, -0.05, 0.05, exact=True)
    assert truth.stationarity.upper == truth.stationarity.value and truth.loss_error == 0.0
    covered = 0
    for seed in range(20):
        generator = torch.Generator().manual_seed(1000 + seed)
        judged = certify(model, regression, [data(generator) for _ in range(20)], -0.05, 0.05)
        covered += judged.feasibility.upper >= truth.feasibility.value and judged.stationarity.upper >= truth.stationarity.value
    assert covered >= 18, covered
    # Bounds that the model was not trained for are not kept, and certain to be so.
    generator = torch.Generator().manual_seed(7)
    judged = certify(model, regression, [data(generator) for _ in range(20)], 0.4, 0.5, names=["right", "left"])
    assert judged.feasibility.value > 0.3 and not judged.holds(0.1) and "violation of right" in str(judged)


def test_reports_name_what_they_tell():
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=0.25, names=["radius"])
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        loss = noisy(x, generator)
        told = optimizer.step(lambda: (loss(), (x @ x).reshape(1)), samples=32)
    assert len(told) == 2 and told[1].shape == (1,) and not told[0].requires_grad
    report = optimizer.report()
    scalars = report.scalars()
    assert report.samples == 32 * report.evaluations and "multiplier/radius" in scalars
    assert all(isinstance(value, float) for value in scalars.values()) and "radius" in str(report)
    assert np.isfinite(list(scalars.values())).all()


def test_a_history_keeps_reports_and_draws_them(capsys):
    pytest.importorskip("matplotlib")
    x = parameter(0.2, 0.3)
    optimizer = Tangor([x], constraints=1, upper=0.25, names=["radius"], first_batches=2)
    history = History(optimizer, every=4)
    with pytest.raises(ValueError, match="nothing to draw"):
        history.plot()
    generator = torch.Generator().manual_seed(0)
    for loss in history.watch([noisy(x, generator) for _ in range(10)]):
        optimizer.step(lambda: (loss(), (x @ x).reshape(1)), samples=32)
    assert [report.batches for report in history.reports] == [4, 8, 10]
    assert "stationarity" in capsys.readouterr().err
    panels = history.plot().axes
    assert [len(panel.lines) for panel in panels] == [1, 3, 1]
    assert list(panels[0].lines[0].get_xdata()) == [report.samples for report in history.reports]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_models_take_the_same_steps(backend):
    if backend == "inductor" and not (shutil.which("g++") or shutil.which("c++") or shutil.which("clang++")):
        pytest.skip("Inductor needs a C++ compiler, and there is none")
    if backend == "inductor" and "pyomo" in sys.modules:
        # Inductor pickles functions by looking through all modules, and stumbles over those that stand for Pyomo's missing ones: in a process of its own.
        alone = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", f"{__file__}::test_compiled_models_take_the_same_steps[inductor]"]
        assert subprocess.run(alone, capture_output=True, text=True).returncode == 0
        return

    def end(compiled):
        model = network()
        whole = torch.compile(model, backend=backend) if compiled else model
        optimizer = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2)
        generator = torch.Generator().manual_seed(0)
        for _ in range(12):
            batch = data(generator)
            optimizer.step(lambda: regression(whole, batch))
        return torch.tensor(bits(model))

    assert torch.allclose(end(True), end(False), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("recursion, others", [("rows", 7), ("lagrangian", 7)])
def test_a_step_keeps_few_vectors(monkeypatch, recursion, others):
    """At most (7 + 2 m) d numbers beside the parameters, of which one is the gradient of the Lagrangian or, in a step that compares, the last point, and so never
    above (6 + 3 m) d: counted when the
    second batch of a step has just been differentiated."""
    # As with more parameters: a sample of the columns is compared, not all of them.
    monkeypatch.setattr("tangor.torch._sample.MOST", 64)
    model = torch.nn.Linear(3000, 1).to(torch.float64)
    optimizer, m = Tangor(model.parameters(), constraints=2, lower=-0.05, upper=0.05, first_batches=2, memory=0, recursion=recursion), 2
    d, most = sum(p.numel() for p in model.parameters()), []
    x = torch.randn(8, 3000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    own = {p.data_ptr() for p in model.parameters()} | {x.untyped_storage().data_ptr()}
    original = optimizer._evaluator.evaluate

    def counted(*args):
        batch = original(*args)
        gc.collect()
        there = [one for one in gc.get_objects() if type(one) in (torch.Tensor, torch.nn.Parameter)] + batch.parts
        storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in there}
        most.append(sum(size for place, size in storages.items() if place not in own and size >= 8 * (d - 1)))
        return batch

    monkeypatch.setattr(optimizer._evaluator, "evaluate", counted)
    for _ in range(4):
        p = lambda: model(x)  # noqa: E731
        optimizer.step(lambda: ((p() - 1).square().mean(), torch.stack([p().mean(), p()[0, 0]])))
    assert 8 * (others - 1 + 2 * m) * d < max(most) <= 8 * (others + 2 * m) * d, [size / 8 / d for size in most]
