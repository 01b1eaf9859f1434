"""Nonsense of all kinds: each is a clear Python exception of the right kind, and the interpreter lives on."""

import sys

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.sparse import csr_array, eye_array

import tangor


def f(x):
    return float(x @ x)


def g(x):
    return 2 * x


X = [1.0, 2.0]


def later(good, bad, after=3):
    """A function that changes its mind."""
    calls = []

    def fun(x):
        calls.append(1)
        return good(x) if len(calls) <= after else bad(x)

    return fun


def circle(**changes):
    return NonlinearConstraint(**{"fun": lambda x: x @ x, "lb": 1, "ub": 1, "jac": g, **changes})


# what is wrong, arguments, exception, part of its message
ZOO = [
    ("no function", dict(fun=None, x0=X), TypeError, "cannot be called"),
    ("a text as function", dict(fun="x", x0=X), TypeError, "cannot be called"),
    ("no start", dict(fun=f, x0=None), TypeError, "x0"),
    ("an empty start", dict(fun=f, x0=[]), ValueError, "no variables"),
    ("a start of two dimensions", dict(fun=f, x0=[X, X]), ValueError, "one dimension"),
    ("a start of texts", dict(fun=f, x0=["a", "b"]), TypeError, "real numbers"),
    ("a complex start", dict(fun=f, x0=[1j, 2]), TypeError, "real numbers"),
    ("None in the start", dict(fun=f, x0=[None, 2]), TypeError, "real numbers"),
    ("a ragged start", dict(fun=f, x0=[[1], [2, 3]]), ValueError, "x0"),
    ("NaN in the start", dict(fun=f, x0=[np.nan, 1]), ValueError, "is NaN"),
    ("infinity in the start", dict(fun=f, x0=[np.inf, 1]), ValueError, "finite number"),
    ("too few bounds", dict(fun=f, x0=X, bounds=[(0, 1)]), ValueError, "bounds must have 2 pairs, one for each variable, not 1"),
    ("bounds that are no pairs", dict(fun=f, x0=X, bounds=[1, 2]), ValueError, "must be a pair"),
    ("bounds of texts", dict(fun=f, x0=X, bounds=[("a", 1), (0, 1)]), TypeError, "numbers or None"),
    ("bounds crossed", dict(fun=f, x0=X, bounds=[(0, 1), (3, 2)]), ValueError, r"x\[1\] are crossed: lower 3 is above upper 2"),
    ("bounds crossed in Bounds", dict(fun=f, x0=X, bounds=Bounds([0, 3], [1, 2])), ValueError, "crossed"),
    ("NaN in the bounds", dict(fun=f, x0=X, bounds=[(np.nan, 1), (0, 1)]), ValueError, "NaN"),
    ("Bounds of a wrong length", dict(fun=f, x0=X, bounds=Bounds([0, 0, 0], 1)), ValueError, "3 numbers, but 2"),
    ("jac of a wrong name", dict(fun=f, x0=X, jac="5-point"), ValueError, "5-point"),
    ("jac is a number", dict(fun=f, x0=X, jac=3), ValueError, "jac must be"),
    ("fun gives None", dict(fun=lambda x: None, x0=X), TypeError, "gave None"),
    ("fun gives a text", dict(fun=lambda x: "1.0", x0=X), TypeError, "one number"),
    ("fun gives a complex number", dict(fun=lambda x: 1j, x0=X, jac=g), TypeError, "one number"),
    ("fun gives a vector", dict(fun=lambda x: x, x0=X), ValueError, r"shape \(2,\), but must give one number"),
    ("fun gives None later", dict(fun=later(f, lambda x: None), x0=X), TypeError, "gave None"),
    ("jac=True without a pair", dict(fun=f, x0=X, jac=True), TypeError, "pair"),
    ("gradient too short", dict(fun=f, x0=X, jac=lambda x: x[:1]), ValueError, r"shape \(1,\), but there are 2 variables"),
    ("gradient too long", dict(fun=f, x0=X, jac=lambda x: [1, 2, 3]), ValueError, "2 variables"),
    ("gradient is None", dict(fun=f, x0=X, jac=lambda x: None), TypeError, "gradient of the objective gave None"),
    ("gradient of texts", dict(fun=f, x0=X, jac=lambda x: ["a", "b"]), TypeError, "numbers"),
    ("gradient changes its size", dict(fun=f, x0=X, jac=later(g, lambda x: np.ones(3), 2)), ValueError, "2 variables"),
    ("gradient is a dictionary", dict(fun=f, x0=X, jac=lambda x: {"a": 1}), TypeError, "numbers"),
    ("constraints is a number", dict(fun=f, x0=X, constraints=3), TypeError, "constraints is an int"),
    ("constraint is a number", dict(fun=f, x0=X, constraints=[3]), TypeError, r"constraints\[0\] is an int"),
    ("no type", dict(fun=f, x0=X, constraints={"fun": f}), KeyError, "'type'"),
    ("type is a number", dict(fun=f, x0=X, constraints={"type": 2, "fun": f}), TypeError, "'eq' or 'ineq'"),
    ("type unknown", dict(fun=f, x0=X, constraints={"type": "equal", "fun": f}), ValueError, "'equal'"),
    ("no fun", dict(fun=f, x0=X, constraints={"type": "eq"}), KeyError, "no function"),
    ("a misspelt entry", dict(fun=f, x0=X, constraints={"type": "eq", "fun": f, "jacobian": g}), ValueError, "jacobian"),
    ("constraint gives None", dict(fun=f, x0=X, constraints={"type": "eq", "fun": lambda x: None}), TypeError, "gave None"),
    ("constraint gives texts", dict(fun=f, x0=X, constraints={"type": "eq", "fun": lambda x: ["a"]}), TypeError, "real numbers"),
    (
        "constraint changes its size",
        dict(fun=f, x0=X, constraints={"type": "eq", "fun": later(lambda x: x - 1, lambda x: x[:1]), "jac": lambda x: np.eye(2)}),
        ValueError,
        r"constraints\[0\] gave an array of shape \(1,\), but has 2 rows",
    ),
    ("Jacobian of a wrong shape", dict(fun=f, x0=X, constraints=circle(jac=lambda x: np.eye(2))), ValueError, r"\(1, 2\) is needed"),
    ("Jacobian is None", dict(fun=f, x0=X, constraints=circle(jac=lambda x: None)), TypeError, r"Jacobian of constraints\[0\] gave None"),
    (
        "a sparse Jacobian of a wrong shape",
        dict(fun=f, x0=X, constraints=circle(jac=lambda x: csr_array(np.eye(2)))),
        ValueError,
        r"\(1, 2\) is needed",
    ),
    (
        "a sparse Jacobian with new entries",
        dict(fun=f, x0=X, constraints=circle(jac=later(lambda x: csr_array([[2 * x[0], 0]]), lambda x: csr_array([2 * x]), 3))),
        ValueError,
        "row 0, column 1, which is not in its pattern",
    ),
    ("a gradient with None", dict(fun=f, x0=X, jac=lambda x: [None, 1.0]), TypeError, r"gave \[None, 1.0\] \(list\), but must give numbers"),
    ("values and Jacobian of a constraint", dict(fun=f, x0=X, constraints=circle(jac=True)), TypeError, "cannot give values and Jacobian together"),
    ("a ragged constraint", dict(fun=f, x0=X, constraints={"type": "eq", "fun": lambda x: [1.0, [2.0, 3.0]]}), ValueError, "gave no vector of numbers"),
    ("limits crossed", dict(fun=f, x0=X, constraints=circle(lb=2, ub=1)), ValueError, r"c\[0\] are crossed"),
    ("limits of a wrong length", dict(fun=f, x0=X, constraints=circle(lb=[1, 1, 1])), ValueError, "3 numbers, but 1"),
    ("a matrix of a wrong shape", dict(fun=f, x0=X, constraints=LinearConstraint(np.eye(3), 0, 1)), ValueError, "2 variables"),
    ("NaN in a matrix", dict(fun=f, x0=X, constraints=LinearConstraint([[np.nan, 1]], 0, 1)), ValueError, "not finite"),
    ("an unknown option", dict(fun=f, x0=X, options={"maxitr": 3}), TypeError, "did you mean 'maxiter'"),
    ("options are a list", dict(fun=f, x0=X, options=[1]), TypeError, "dictionary"),
    ("an unknown setting", dict(fun=f, x0=X, merit={"rho1": 3}), ValueError, r"no setting merit\.rho1; did you mean merit\.rho0\?"),
    ("a number as a choice", dict(fun=f, x0=X, metric={"kind": 3}), TypeError, "metric.kind must be 'identity', .* or 'exact', not 3"),
    ("an unknown choice", dict(fun=f, x0=X, scaling="ful"), ValueError, "scaling must be 'none', 'gradient' or 'full', not 'ful'"),
    ("an unknown form", dict(fun=f, x0=X, sampling={"gradient": {"batch": {"even": 3}}}), ValueError, r"batch must be \{'constant': \{'size': ...\}\}, "),
    ("a form without its field", dict(fun=f, x0=X, normal={"mapping": {"sqp": {}}}), ValueError, "normal.mapping.sqp.alpha is missing"),
    ("a form that is a number", dict(fun=f, x0=X, normal={"mapping": {"sqp": 3}}), TypeError, "normal.mapping.sqp is a group of settings"),
    ("a text for yes or no", dict(fun=f, x0=X, presolve="yes"), TypeError, "presolve must be True or False, not 'yes'"),
    ("a count too large", dict(fun=f, x0=X, limits={"iterations": 10**30}), ValueError, "limits.iterations is too large"),
    ("a list as group of settings", dict(fun=f, x0=X, limits=[1]), TypeError, r"limits is a group of settings .* not \[1\]"),
    ("nothing as group of settings", dict(fun=f, x0=X, settings={"merit": None}), TypeError, "merit is a group of settings"),
    ("a list as inner group", dict(fun=f, x0=X, sampling={"judge": [1]}), TypeError, r"sampling\.judge is a group of settings"),
    ("a setting out of range", dict(fun=f, x0=X, stepsize={"tau": 3}), ValueError, "between 0 and 1"),
    ("a setting of the wrong kind", dict(fun=f, x0=X, limits={"iterations": "many"}), TypeError, "limits.iterations must be a whole number"),
    ("a broken number of iterations", dict(fun=f, x0=X, options={"maxiter": 2.5}), ValueError, "limits.iterations must be a whole number"),
    ("a negative number of iterations", dict(fun=f, x0=X, options={"maxiter": -1}), ValueError, "limits.iterations must be at least 0"),
    ("a setting that is a text", dict(fun=f, x0=X, merit={"rho0": "1"}), TypeError, "merit.rho0 must be a number"),
    ("a number too large", dict(fun=f, x0=[10**400, 1]), ValueError, "x0 has a number that is too large"),
    ("a step of zero", dict(fun=f, x0=X, options={"finite_diff_rel_step": 0.0}), ValueError, "must be finite and not zero"),
    ("a step that is NaN", dict(fun=f, x0=X, options={"finite_diff_rel_step": np.nan}), ValueError, "must be finite and not zero"),
    ("a complex step that gets lost", dict(fun=lambda x: (x @ x).real, x0=X, jac="cs"), TypeError, "must give complex numbers"),
    ("a matrix as constraint", dict(fun=f, x0=X, constraints={"type": "eq", "fun": lambda x: np.eye(2)}), ValueError, "must give a vector"),
    ("a text as pattern", dict(fun=f, x0=X, constraints=circle(finite_diff_jac_sparsity="x")), TypeError, "sparsity .* must be a matrix"),
    ("settings of the wrong kind", dict(fun=f, x0=X, settings=3), TypeError, "tangor.Settings"),
    ("tol is a text", dict(fun=f, x0=X, tol="small"), TypeError, "tol must be a number"),
    ("tol is NaN", dict(fun=f, x0=X, tol=np.nan), ValueError, "tol must be a number, not NaN"),
    ("NaN in a setting", dict(fun=f, x0=X, merit={"rho0": np.nan}), ValueError, "merit.rho0 must be a number, not NaN"),
    ("infinity in a setting", dict(fun=f, x0=X, options={"limits.seconds": np.inf}), ValueError, "limits.seconds is inf"),
    ("an option without a name", dict(fun=f, x0=X, options={3: 1}), TypeError, "an option has a name, not 3"),
    ("bounds is a number", dict(fun=f, x0=X, bounds=3), TypeError, "bounds is an int"),
    ("bounds is a text", dict(fun=f, x0=X, bounds="ab"), TypeError, "bounds is a str"),
    ("tol is negative", dict(fun=f, x0=X, tol=-1), ValueError, "positive"),
    ("callback is a number", dict(fun=f, x0=X, callback=3), TypeError, "callback"),
]


@pytest.mark.parametrize("arguments, kind, message", [case[1:] for case in ZOO], ids=[case[0] for case in ZOO])
def test_nonsense_is_named(arguments, kind, message):
    with pytest.raises(kind, match=message):
        tangor.minimize(**arguments)
    assert tangor.minimize(f, X, jac=g).success


def test_values_that_are_not_finite_at_the_start_are_told():
    for bad in (np.nan, np.inf, -np.inf):
        result = tangor.minimize(lambda x: bad, X, jac=g)
        assert result.stop == "evaluation_failed" and not result.success and "objective gave" in result.failure
        result = tangor.minimize(f, X, jac=lambda x: np.array([1.0, bad]))
        assert result.stop == "evaluation_failed" and "x[1]" in result.failure


def test_everything_that_is_like_a_number_is_one():
    class Number:
        def __float__(self):
            return 4.0

    for value in (4, True, np.float32(4), np.int64(4), np.array(4.0), np.array([4.0]), np.array([[4]]), Number()):
        result = tangor.minimize(lambda x: value, X, jac=lambda x: np.zeros(2))
        assert result.success and result.fun == float(value if not isinstance(value, np.ndarray) else value.item())
    for kind in (list, tuple, lambda a: a.astype(np.float32), lambda a: a.reshape(1, -1), lambda a: np.asfortranarray(a)[::1]):
        assert tangor.minimize(f, X, jac=lambda x: kind(2 * x)).success
    strided = tangor.minimize(f, X, jac=lambda x: np.repeat(2 * x, 2)[::2])
    assert strided.success


def test_a_solver_is_not_run_inside_of_itself():
    problem = tangor.Problem(X, f=f, grad=g)
    solver = tangor.Solver(problem)
    with pytest.raises(RuntimeError, match="running already"):
        solver.run(callback=lambda row: solver.step())
    assert tangor.Solver(problem).run().success


def test_minimize_inside_of_a_function_works():
    def inner(x):
        return tangor.minimize(lambda y: (y[0] - x[0]) ** 2 + 1, [0.0]).fun + x[0] ** 2

    assert tangor.minimize(inner, [3.0]).fun == pytest.approx(1.0, abs=1e-8)


def test_a_field_that_no_setting_has_is_refused():
    settings = tangor.Settings()
    settings.merit.rho0 = 5.0
    with pytest.raises(AttributeError, match="Merit has no setting 'rh0'; the nearest is 'rho0'"):
        settings.merit.rh0 = 5.0
    with pytest.raises(AttributeError, match="Settings has no setting 'tolerence'; the nearest is 'tolerance'"):
        settings.tolerence = 3


@pytest.mark.parametrize("end", [tangor.Undefined("no value here"), KeyboardInterrupt()])
def test_the_last_gradient_does_not_lose_a_result(end):
    calls = []

    def gradient(x, *, last=[None]):
        calls.append(1)
        if last[0] is not None and len(calls) > last[0]:
            raise end
        return 2 * (x - 1)

    def run(limit):
        calls.clear()
        return tangor.minimize(lambda x: float(((x - 1) ** 2).sum()), [3.0, 4.0], jac=lambda x: gradient(x, last=[limit]))

    assert run(None).success
    # The last ones belong to looks beside the point: one along all variables, one for a product with the Hessian, here a
    # multiple of the identity, one along the flattest direction. The one before these confirms the point.
    count, looks = len(calls), 3
    for lost in range(1, looks + 1):
        result = run(count - lost)
        assert result.success and np.allclose(result.jac, 0.0, atol=1e-5)
    result = run(count - looks - 1)
    assert result.success and np.isnan(result.jac).all()


def test_a_function_that_is_undefined_at_the_start_ends_the_run():
    def nowhere(x):
        raise tangor.Undefined("no value here")

    result = tangor.minimize(nowhere, [1.0])
    assert not result.success and result.stop == "evaluation_failed"


def test_the_version_is_that_of_the_package():
    assert tangor.__version__.count(".") == 2


def test_steps_and_checkpoints_are_refused_by_kind(tmp_path):
    problem = tangor.collection["HS71"]
    solver = tangor.Solver(problem)
    for iterations, kind in ((-1, ValueError), (1.5, ValueError), ("x", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="iterations must be"):
            solver.step(iterations)
    with pytest.raises(TypeError, match="cannot be called"):
        solver.run(callback=3)
    for file in (tmp_path / "no" / "folder" / "run.json", tmp_path):
        with pytest.raises(OSError, match="checkpoint"):
            solver.checkpoint(file)
    with pytest.raises(FileNotFoundError, match="nothing.json"):
        tangor.Solver.resume(problem, tmp_path / "nothing.json")
    with pytest.raises(OSError):
        tangor.Solver.resume(problem, tmp_path)
    (tmp_path / "text.json").write_text("no checkpoint")
    with pytest.raises(ValueError, match="text.json"):
        tangor.Solver.resume(problem, tmp_path / "text.json")
    solver.checkpoint(tmp_path / "run.json")
    with pytest.raises(TypeError, match="no setting 'disp'"):
        tangor.Solver.resume(problem, tmp_path / "run.json", disp=True)


def test_a_resumed_run_keeps_the_settings_that_are_not_changed(tmp_path):
    problem = tangor.collection["HS71"]
    solver = tangor.Solver(problem, tol=1e-3, metric={"kind": "spectral"})
    solver.step(2)
    solver.checkpoint(tmp_path / "run.json")
    settings = tangor.Solver.resume(problem, tmp_path / "run.json", limits={"iterations": 3}).run().settings
    assert settings["limits"]["iterations"] == 3
    assert settings["tolerance"]["stationarity"] == 1e-3 and settings["metric"]["kind"] == "spectral"


def test_a_resumed_run_can_change_limits_and_tolerances_alone(tmp_path):
    problem, file = tangor.collection["HS71"], tmp_path / "run.json"
    solver = tangor.Solver(problem, metric={"kind": "identity"})
    solver.step(2)
    solver.checkpoint(file)
    changes = [dict(preset="paper"), dict(metric={"kind": "spectral"}), dict(settings=tangor.Settings(), limits={"iterations": 3})]
    for change, path in zip(changes, ["[a-z.]+", "metric.kind", "metric.kind"]):
        with pytest.raises(ValueError, match=f"the setting {path} cannot be changed in a resumed run: only limits and tolerances can"):
            tangor.Solver.resume(problem, file, **change)
    # Who says again what a setting is changes nothing.
    settings = tangor.Solver.resume(problem, file, tol=1e-2, limits={"iterations": 3}, metric={"kind": "identity"}).run().settings
    assert settings["tolerance"]["feasibility"] == 1e-2 and settings["limits"]["iterations"] == 3


def test_large_sparse_jacobians_take_no_dense_memory():
    n = 300_000
    rows = NonlinearConstraint(lambda x: x, 0, 1, jac=lambda x: eye_array(n, format="csr"))
    result = tangor.minimize(f, np.full(n, 0.5), jac=g, constraints=rows, options={"maxiter": 2})
    assert result.constr[0].size == n
    # A dense block of that size does not fit, which is told and kills nobody.
    for more in ([], [NonlinearConstraint(lambda x: x, 0, 1)]):
        with pytest.raises((MemoryError, ValueError), match="memory"):
            tangor.minimize(f, np.full(n, 0.5), jac=g, constraints=[NonlinearConstraint(lambda x: x, 0, 1, jac=lambda x: x), rows][: 1 + len(more)])


def test_numbers_that_are_whole_do_for_whole_numbers():
    assert tangor.minimize(f, X, options={"maxiter": 1e3}).settings["limits"]["iterations"] == 1000
    assert tangor.minimize(f, X, options={"maxiter": None, "gtol": None}).success
    assert tangor.minimize(f, X, options={"maxiter": np.int64(7)}).settings["limits"]["iterations"] == 7


def test_what_is_no_problem_is_refused_everywhere():
    sampled = tangor.SampledProblem(X, lambda x, draws: (x, None, None), members=3)
    for call, kind, message in (
        (lambda: tangor.Solver(f), TypeError, "must be a Problem"),
        (lambda: tangor.check_derivatives(f), TypeError, "must be a Problem"),
        (lambda: tangor.check_derivatives(tangor.collection["HS71"], [1.0]), ValueError, "x has 1 number, but HS71 has 4 variables"),
        (lambda: tangor.check_derivatives(sampled, draws="x"), TypeError, "a draw must be a whole number"),
        (lambda: tangor.check_derivatives(sampled, draws=[-1]), ValueError, "at least 0"),
        (lambda: tangor.check_derivatives(sampled, draws=[]), ValueError, "draws must name at least one"),
        (lambda: sampled.grad(X, [7]), ValueError, "no draw 7: the population has 3 members"),
        (lambda: tangor.SampledProblem(X, 3), TypeError, "evaluate is an int"),
        (lambda: tangor.SampledProblem(X, gradient=3), TypeError, "gradient is an int"),
        (lambda: tangor.SampledProblem(X, lambda x, d: (x, None, None), gradient=lambda x, d: x), TypeError, "leave gradient out"),
        (lambda: tangor.Problem(X, evaluate=3), TypeError, "evaluate is an int"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_a_number_is_no_checkpoint_and_closes_no_file(tmp_path):
    problem = tangor.Problem(X, f=f, grad=g)
    with open(tmp_path / "open", "w") as file:
        for number in (file.fileno(), True, None, 1.5):
            with pytest.raises(TypeError, match="must be the path of a file"):
                tangor.Solver.resume(problem, number)
        # The file is still open.
        file.write("more")
        file.flush()
    with pytest.raises(TypeError, match="the problem is an int, but must be"):
        tangor.Solver.resume(3, tmp_path / "open")


def test_numbers_of_any_length_are_refused_in_a_sentence():
    solver = tangor.Solver(tangor.Problem(X, f=f, grad=g))
    for iterations in (2**64, 10**400, 10**5000):
        with pytest.raises(ValueError, match="iterations is too large"):
            solver.step(iterations)
    with pytest.raises(ValueError, match="must be at least 0"):
        solver.step(-(10**5000))
    with pytest.raises(ValueError, match="tol is too large"):
        tangor.minimize(f, X, tol=10**400)
    with pytest.raises(ValueError, match="kernel.iterations is too large"):
        tangor.minimize(f, X, kernel={"iterations": 2**40})


@pytest.mark.parametrize("error", [ValueError("outside"), ZeroDivisionError(), TypeError("no number"), MemoryError()])
def test_exceptions_far_away_do_a_solved_run_no_harm(error):
    """A run that is about to claim a KKT point where the objective is flat looks far away, and there a simulator may raise what it likes."""
    outside = []

    def flat(x):
        if abs(x[0]) > 100:
            outside.append(x[0])
            raise error
        return max(0, x[0] - 1) ** 2 + (x[1] - 1) ** 2

    result = tangor.minimize(flat, [0, 3])
    assert result.success and result.point == "eps_kkt" and len(outside) == 1
    assert tangor.minimize(flat, [0, 3], bounds=[(-50, 50), (None, None)]).success and len(outside) == 1
    # Where a step leads outside it is raised as ever.
    with pytest.raises(type(error)):
        tangor.minimize(lambda x: flat(x) + (x[0] + 300) ** 2, [0, 3])
    # Ctrl-C and `sys.exit` are no exceptions of a simulator.
    with pytest.raises(SystemExit):
        tangor.minimize(lambda x: sys.exit(3) if abs(x[0]) > 100 else (x[1] - 1) ** 2, [0, 3])
