"""Models, files and the collection: the same bits as in Rust."""

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint
from scipy.sparse import csr_array, issparse

import tangor

PROGRAM = shutil.which("tangor", path=sysconfig.get_path("scripts"))
SIF = Path(__file__).resolve().parents[2].parent / "shared" / "cutest" / "sif"


def numbers(values):
    """JSON has no infinity: the program writes such numbers as texts."""
    return np.array([float(value) for value in values])


@pytest.mark.skipif(PROGRAM is None, reason="the program tangor is not installed beside the package")
@pytest.mark.parametrize("name", list(tangor.collection))
def test_same_bits_as_in_rust(name):
    """Inside Rust, through Python's functions, and by the program: one run, the same bits."""
    problem = tangor.collection[name]
    inside = tangor.minimize(problem)
    limits = {"c_lower": problem.c_lower, "c_upper": problem.c_upper} if problem.m else {}
    functions = dict(
        f=problem.f if problem.has_objective else None, grad=problem.grad if problem.has_objective else None,
        c=problem.c if problem.m else None, **jacobian(problem),
    )  # fmt: skip
    outside = tangor.minimize(tangor.Problem(problem.x0, **functions, bounds=problem.bounds, **limits))
    np.testing.assert_array_equal(outside.x, inside.x)
    assert (outside.fun, outside.nit, outside.stop) == (inside.fun, inside.nit, inside.stop)
    report = json.loads(subprocess.run([PROGRAM, "solve", name, "--json"], capture_output=True, text=True).stdout)
    report = report.get("report", report)
    np.testing.assert_array_equal(numbers(report["x"]), inside.x)
    assert (report["iterations"], report["stop"], report["point"]) == (inside.nit, inside.stop, inside.point)


def jacobian(problem):
    """A dense Jacobian as a dense one, a sparse one with the problem's own pattern."""
    if not problem.m:
        return {}
    if problem._data["pattern"] is None:
        return {"jac": lambda x: problem.jac(x).toarray()}
    rows, columns = problem._data["pattern"]
    return {"jac": problem.jac, "sparsity": csr_array((np.ones(len(rows)), (rows, columns)), shape=(problem.m, problem.n))}


def test_the_collection_is_a_mapping():
    assert len(tangor.collection) > 40 and "HS71" in tangor.collection
    problem = tangor.collection["hs71"]
    assert (problem.n, problem.m, problem.name) == (4, 2, "HS71") and problem.known["fun"] == pytest.approx(17.0140173)
    assert issparse(problem.jac(problem.x0)) and problem.jac(problem.x0).shape == (2, 4)
    with pytest.raises(KeyError, match="the nearest names are .*HS71"):
        tangor.collection["HS711"]
    with pytest.raises(ValueError, match="3 numbers, but HS71 has 4 variables"):
        problem.f([1, 2, 3])


@pytest.mark.parametrize("name", ["HS71", "MARATOS", "ROSENBROCK"])
def test_hessians_equal_differences_of_gradients(name):
    problem = tangor.collection[name]
    x, y = problem.x0 + 0.1, np.linspace(1, 2, problem.m)
    hessian = problem.hess(x, y).toarray()
    np.testing.assert_allclose(hessian, hessian.T)
    step = 1e-6
    for i in range(problem.n):
        e = step * np.eye(problem.n)[i]
        slope = (problem.grad(x + e) - problem.grad(x - e) + (problem.jac(x + e) - problem.jac(x - e)).T @ y) / (2 * step)
        np.testing.assert_allclose(hessian[i], slope, rtol=1e-5, atol=1e-5)


def test_another_start():
    problem = tangor.collection["ROSENBROCK"]
    result = tangor.minimize(problem, [0.9, 0.9])
    assert result.success and result.trace["fun"][0] == pytest.approx(problem.f([0.9, 0.9]))


@pytest.mark.skipif(not SIF.is_dir(), reason="there is no folder of CUTEst problems beside the project")
def test_sif_files():
    problem = tangor.read(SIF / "ARGTRIG.SIF", N=20)
    assert problem.n == 20 and issparse(problem.jac(problem.x0)) and problem.hess(problem.x0, np.ones(problem.m)).shape == (20, 20)
    assert tangor.minimize(problem).success
    with pytest.raises(ValueError, match="no parameter 'M'"):
        tangor.read(SIF / "ARGTRIG.SIF", M=100)


SMALL_NL = """g3 0 1 0
 1 0 1 0 0
 0 1
 0 0
 0 1 0
 0 0 0 1
 0 0 0 0 0
 0 1
 0 0
 0 0 0 0 0
O0 0
o5
o0
v0
n-1
n2
b
2 2
G0 1
0 0
"""


def test_nl_files(tmp_path):
    """minimise (x - 1)^2 subject to x >= 2"""
    (tmp_path / "small.nl").write_text(SMALL_NL)
    problem = tangor.read(tmp_path / "small.nl")
    assert problem.f([3.0]) == 4.0 and problem.bounds.lb == [2.0]
    assert tangor.minimize(problem).x == pytest.approx([2.0])
    np.testing.assert_allclose(problem.hess([3.0]).toarray(), [[2.0]], rtol=1e-6)
    with pytest.raises(TypeError, match="no parameter 'N'"):
        tangor.read(tmp_path / "small.nl", N=3)


def test_maximisation_turns_no_sign():
    problem = tangor.Problem([0.5], f=lambda x: 3 - (x[0] - 2) ** 2, c=lambda x: x[0], c_upper=1.5, maximise=True)
    result = tangor.minimize(problem)
    assert result.x == pytest.approx([1.5]) and result.fun == pytest.approx(2.75)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        tangor.read(tmp_path / "nothing.SIF")
    (tmp_path / "bad.SIF").write_text("NAME BAD\nVARIABLES\n X\nNONSENSE\n")
    with pytest.raises(ValueError, match="bad.SIF"):
        tangor.read(tmp_path / "bad.SIF")
    for value in ("many", None):
        with pytest.raises(TypeError, match="the parameter N must be a number"):
            tangor.read(tmp_path / "bad.SIF", N=value)
    (tmp_path / "bad.txt").write_text("")
    with pytest.raises(ValueError, match="extension"):
        tangor.read(tmp_path / "bad.txt")


def test_a_fused_function_is_called_once_for_each_point():
    seen = []

    def evaluate(x):
        seen.append(tuple(x))
        return x.sum(), np.ones(2), np.array([x @ x]), 2 * x.reshape(1, 2)

    problem = tangor.Problem([1.0, 0.5], evaluate=evaluate, c_lower=1, c_upper=1, row_names=["radius"])
    result = tangor.minimize(problem)
    np.testing.assert_allclose(result.x, -np.sqrt([0.5, 0.5]), atol=1e-6)
    # Once to see what it gives, once for the gradient of the result; no point twice in a row otherwise.
    assert len([1 for a, b in zip(seen, seen[1:]) if a == b]) <= 2


def test_wrong_derivatives_are_named():
    problem = tangor.Problem(
        [1.0, 0.5], f=lambda x: x.sum(), grad=lambda x: np.ones(2), c=lambda x: x @ x, jac=lambda x: [2 * x[0], 3 * x[1]],
        c_lower=1, c_upper=1, row_names=["radius"],
    )  # fmt: skip
    check = tangor.check_derivatives(problem)
    assert not check and len(check.wrong) == 1
    assert check.worst["row"] == "radius" and check.worst["column"] == "x[1]"
    assert "row radius, column x[1]: given 1.5, differences give 1" in str(check)
    sparse = tangor.Problem(
        [1.0, 0.5], f=lambda x: x.sum(), grad=lambda x: np.ones(2), c=lambda x: x @ x, jac=lambda x: csr_array([[2 * x[0], 0]]),
        sparsity=[[1, 0]],
    )  # fmt: skip
    assert len(tangor.check_derivatives(sparse).undeclared) == 1
    assert tangor.check_derivatives(tangor.collection["HS71"])


def test_step_by_step_equals_a_whole_run():
    problem = tangor.collection["HS71"]
    whole = tangor.minimize(problem)
    solver = tangor.Solver(problem)
    steps = 0
    while not solver.step():
        steps += 1
    assert steps == whole.nit
    np.testing.assert_array_equal(solver.result().x, whole.x)


def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path):
    problem = tangor.collection["HS71"]
    whole = tangor.minimize(problem)
    solver = tangor.Solver(problem)
    solver.step(4)
    solver.checkpoint(tmp_path / "run.json")
    again = tangor.Solver.resume(problem, tmp_path / "run.json").run()
    np.testing.assert_array_equal(again.x, whole.x)
    assert (again.nit, again.fun) == (whole.nit, whole.fun)
    with pytest.raises(ValueError, match="not of MARATOS"):
        tangor.Solver.resume(tangor.collection["MARATOS"], tmp_path / "run.json")
    with pytest.raises(FileNotFoundError, match="nothing.json"):
        tangor.Solver.resume(problem, tmp_path / "nothing.json")


def test_settings_by_every_way():
    assert "rho0" in tangor.Settings().merit.__dict__ and "merit parameter" in tangor.Settings().merit.__doc__
    settings = tangor.Settings()
    settings.limits.iterations = 3
    ways = [
        dict(settings=settings),
        dict(settings=tangor.Settings(limits={"iterations": 3})),
        dict(settings={"limits": {"iterations": 3}}),
        dict(limits={"iterations": 3}),
        dict(options={"maxiter": 3}),
        dict(options={"limits.iterations": 3}),
        dict(options={"limits": {"iterations": 3}}),
    ]
    for way in ways:
        result = tangor.minimize(tangor.collection["HS71"], **way)
        assert (result.nit, result.stop) == (3, "iterations")
    result = tangor.minimize(tangor.collection["MARATOS"], normal={"variant": "mapping", "mapping": {"hybrid": {"alpha1": 1, "alpha2": 1}}})
    assert result.settings["normal"]["mapping"] == {"hybrid": {"alpha1": 1.0, "alpha2": 1.0}}


def test_a_preset_lies_beneath_all_other_settings():
    hs71 = tangor.collection["HS71"]
    for way in [dict(preset="paper"), dict(options={"preset": "paper"}), dict(settings={"preset": "paper"})]:
        settings = tangor.minimize(hs71, tol=1e-3, merit={"rho0": 2.0}, limits={"iterations": 3}, **way).settings
        assert settings["metric"]["kind"] == "identity" and settings["merit"] == {"falls": False, "rho0": 2.0, "margin": 1.0}
        assert settings["limits"]["iterations"] == 3 and settings["limits"]["escapes"] == 0 and settings["sampling"]["replacement"] is True
        assert settings["tolerance"]["stationarity"] == 1e-3
    assert tangor.minimize(hs71, preset="default").settings == tangor.minimize(hs71).settings
    with pytest.raises(ValueError, match="setting preset=papre: there are the presets `default` and `paper`"):
        tangor.minimize(hs71, preset="papre")
    with pytest.raises(TypeError, match="a preset and tangor.Settings both say all settings"):
        tangor.minimize(hs71, settings=tangor.Settings(), preset="paper")
    with pytest.raises(TypeError, match="preset is the name of one, such as 'paper', not 3"):
        tangor.minimize(hs71, preset=3)


def test_a_preset_leaves_the_arguments_of_a_sampled_run():
    data = np.random.default_rng(0).normal(2.0, 1.0, 500)

    def evaluate(x, draws):
        return x - data[draws.astype(int)].mean(), x, np.ones((1, 1))

    given = dict(members=500, exact=("constraints", "jacobian"), c_upper=1.5, samples=50_000, tol=0.1)
    given |= dict(preset="paper", limits={"iterations": 3}, sampling={"schedule": {"epsilon": 1.0}})
    sampling = tangor.minimize_sampled(evaluate, [0.0], confidence=0.99, batch=3, seed=5, **given).settings["sampling"]
    assert sampling["judge"]["confidence"] == 0.99 and sampling["seed"] == 5 and sampling["replacement"] is True
    assert sampling["gradient"]["batch"] == {"constant": {"size": 3}} and sampling["gradient"]["momentum"] == "paper"
    sampling = tangor.minimize_sampled(evaluate, [0.0], **given).settings["sampling"]
    assert sampling["gradient"]["batch"] == {"paper": {"largest": 1_000_000}}


def test_the_stub_of_the_settings_is_current():
    """Editors and mypy see the classes of tangor.Settings as they are."""
    stub = Path(tangor.__file__).with_name("_settings.pyi").read_text()
    command = "python -c 'from tangor._schema import stub; print(stub(), end=\"\")' > tangor/_settings.pyi"
    assert stub == tangor._schema.stub(), f"_settings.pyi is out of date; in the folder python run\n  {command}"


def test_constraints_of_scipy_in_a_model():
    problem = tangor.collection["HS71"]
    rows = NonlinearConstraint(problem.c, problem.c_lower, problem.c_upper, problem.jac)
    result = tangor.minimize(problem.f, problem.x0, jac=problem.grad, bounds=problem.bounds, constraints=rows)
    assert result.fun == pytest.approx(17.0140173)


def test_problems_of_the_collection_have_names():
    for wrong in (3, None, ("HS71",), "HS7111"):
        with pytest.raises(KeyError):
            tangor.collection[wrong]
        assert wrong not in tangor.collection and tangor.collection.get(wrong) is None
    with pytest.raises(KeyError, match="problems have names, such as 'HS71'; 3 is none"):
        tangor.collection[3]


def test_a_hessian_needs_a_multiplier_for_each_constraint():
    problem = tangor.collection["HS71"]
    one_for_all = problem.hess(problem.x0, 2.0).toarray()
    np.testing.assert_array_equal(one_for_all, problem.hess(problem.x0, [2.0, 2.0]).toarray())
    for wrong in ([2.0], [1.0, 2.0, 3.0], []):
        with pytest.raises(ValueError, match="y has "):
            problem.hess(problem.x0, wrong)
