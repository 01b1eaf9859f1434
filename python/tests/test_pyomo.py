"""`SolverFactory("tangor")` in both of Pyomo's solver interfaces, with real models."""

import math

import pytest

pyo = pytest.importorskip("pyomo.environ")
factory = pytest.importorskip("pyomo.contrib.solver.common.factory")

import pyomo.opt as legacy  # noqa: E402
from pyomo.common.errors import ApplicationError  # noqa: E402
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition  # noqa: E402
from pyomo.contrib.solver.common.util import NoOptimalSolutionError  # noqa: E402

import tangor.pyomo  # noqa: E402
from tangor.pyomo._program import program, words  # noqa: E402

pytestmark = pytest.mark.skipif(program() is None, reason="the program tangor is not installed beside the package")

# The values of Hock and Schittkowski; the duals are those that Ipopt gives.
COST, POINT = 17.0140173, [1.0, 4.7429994, 3.8211503, 1.3794082]
PRODUCT, SPHERE, BOUND = 0.55229366, -0.16146856, 1.08787121
SUFFIXES = ["dual", "rc", "tangor_zL_out", "ipopt_zL_out", "ipopt_zU_out"]


def hs71(sense=pyo.minimize):
    model = pyo.ConcreteModel("HS71")
    model.x = pyo.Var([1, 2, 3, 4], bounds=(1, 5), initialize={1: 1.0, 2: 5.0, 3: 5.0, 4: 1.0})
    x = model.x
    formula = x[1] * x[4] * (x[1] + x[2] + x[3]) + x[3]
    model.cost = pyo.Objective(expr=formula if sense == pyo.minimize else -formula, sense=sense)
    model.product = pyo.Constraint(expr=x[1] * x[2] * x[3] * x[4] >= 25)
    model.sphere = pyo.Constraint(expr=sum(x[i] ** 2 for i in x) == 40)
    for name in SUFFIXES:
        setattr(model, name, pyo.Suffix(direction=pyo.Suffix.IMPORT))
    return model


def infeasible():
    model = pyo.ConcreteModel("infeasible")
    model.x = pyo.Var([1, 2], initialize=1.0)
    model.cost = pyo.Objective(expr=model.x[1] + model.x[2])
    model.inside = pyo.Constraint(expr=model.x[1] ** 2 + model.x[2] ** 2 <= 1)
    model.outside = pyo.Constraint(expr=model.x[1] + model.x[2] >= 3)
    return model


def unbounded():
    model = pyo.ConcreteModel("unbounded")
    model.x = pyo.Var([1, 2], initialize=1.0)
    model.cost = pyo.Objective(expr=-(model.x[1] ** 2) - model.x[2])
    return model


def old(model, **keywords):
    """The old interface."""
    return pyo.SolverFactory("tangor").solve(model, **keywords)


def new(model, **keywords):
    """The new interface."""
    return factory.SolverFactory("tangor").solve(model, **keywords)


@pytest.mark.parametrize("solve", [old, new])
@pytest.mark.parametrize("sense, sign", [(pyo.minimize, 1), (pyo.maximize, -1)])
def test_point_duals_and_suffixes(solve, sense, sign):
    model = hs71(sense)
    results = solve(model)
    if solve is old:
        assert results.solver.status == legacy.SolverStatus.ok
        assert results.solver.termination_condition == legacy.TerminationCondition.optimal
    else:
        assert results.termination_condition == TerminationCondition.convergenceCriteriaSatisfied
        assert results.solution_status == SolutionStatus.optimal
        assert results.incumbent_objective == pytest.approx(sign * COST) and results.extra_info.iteration_count > 0
        assert results.solver_version == tuple(map(int, tangor.minimize(lambda x: x @ x, [1.0]).version.split(".")))
    assert pyo.value(model.cost) == pytest.approx(sign * COST)
    assert [model.x[i].value for i in model.x] == pytest.approx(POINT, abs=1e-5)
    assert model.dual[model.product] == pytest.approx(sign * PRODUCT, abs=1e-5)
    assert model.dual[model.sphere] == pytest.approx(sign * SPHERE, abs=1e-5)
    for name in ("rc", "tangor_zL_out", "ipopt_zL_out"):
        assert getattr(model, name)[model.x[1]] == pytest.approx(sign * BOUND, abs=1e-4)


@pytest.mark.parametrize("solve, given", [(old, "options"), (new, "solver_options")])
def test_options_arrive(solve, given):
    for options in ({"maxit": 2}, {"limits.iterations": 2}, {"limits": {"iterations": 2}}):
        results = solve(hs71(), load_solutions=False, **{given: options}, **quiet(solve))
        assert condition(results) in (legacy.TerminationCondition.maxIterations, TerminationCondition.iterationLimit)


def test_an_unknown_option_is_said():
    with pytest.raises(ApplicationError):
        old(hs71(), options={"nonsense": 1})
    results = new(hs71(), solver_options={"nonsense": 1}, load_solutions=False, raise_exception_on_nonoptimal_result=False)
    assert results.termination_condition == TerminationCondition.error and "no setting nonsense" in results.extra_info.solver_message


def quiet(solve):
    return {} if solve is old else {"raise_exception_on_nonoptimal_result": False}


def condition(results):
    return results.solver.termination_condition if hasattr(results, "solver") else results.termination_condition


@pytest.mark.parametrize("solve", [old, new])
def test_conditions_are_those_of_the_run(solve):
    found = condition(solve(infeasible(), load_solutions=False, **quiet(solve)))
    assert found == (legacy.TerminationCondition.infeasible if solve is old else TerminationCondition.locallyInfeasible)
    found = condition(solve(unbounded(), load_solutions=False, **quiet(solve)))
    assert found == (legacy.TerminationCondition.unbounded if solve is old else TerminationCondition.unbounded)
    limit = {"timelimit": 1e-6} if solve is old else {"time_limit": 1e-6}
    found = condition(solve(hs71(), load_solutions=False, **limit, **quiet(solve)))
    assert found == (legacy.TerminationCondition.maxTimeLimit if solve is old else TerminationCondition.maxTimeLimit)


def test_the_new_interface_raises_unless_told_otherwise():
    with pytest.raises(NoOptimalSolutionError):
        new(infeasible())


@pytest.mark.parametrize("solve", [old, new])
def test_a_run_starts_at_the_values_of_the_variables(solve):
    cold, warm = hs71(), hs71()
    for i, x in zip(warm.x, POINT):
        warm.x[i] = x
    counts = [iterations(solve(model), solve) for model in (cold, warm)]
    assert counts[1] < counts[0]
    if solve is old:
        old(warm, warmstart=True)


def test_multipliers_that_the_model_exports_are_a_start():
    model = hs71()
    model.del_component("dual")
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT_EXPORT)
    old(model)
    for i in model.x:
        model.x[i] = round(model.x[i].value, 3)

    def first_rho(guess):
        log = new(model.clone(), solver_options={"dualguess": guess, "outlev": 2}).solver_log
        return next(line.split()[5] for line in log.splitlines() if line.split()[:1] == ["0"])

    # Multipliers are what the merit parameter of the first row is made from.
    assert first_rho(0) != first_rho(1) == first_rho(1)


def test_one_iteration_is_counted():
    model = pyo.ConcreteModel("one")
    model.x = pyo.Var(initialize=0.5)
    model.cost = pyo.Objective(expr=pyo.cosh(model.x - 3))
    results = new(model, solver_options={"maxit": 1}, raise_exception_on_nonoptimal_result=False, load_solutions=False)
    assert "\n1 iteration, " in results.extra_info.solver_message and results.extra_info.iteration_count == 1


def iterations(results, solve):
    if solve is new:
        return results.extra_info.iteration_count
    return int(results.solver.message.split(" iterations")[0].split()[-1])


@pytest.mark.parametrize("solve", [old, new])
def test_collocation_of_an_ode(solve):
    """x' = -x + u on [0, 1] by the trapezoidal rule: minimise the integral of x^2 + u^2 / 2."""
    steps = 600
    h = 1.0 / steps
    model = pyo.ConcreteModel("collocation")
    model.t = pyo.RangeSet(0, steps)
    model.x, model.u = pyo.Var(model.t, initialize=1.0), pyo.Var(model.t, initialize=0.0)
    model.x[0].fix(1.0)
    model.ode = pyo.Constraint(
        pyo.RangeSet(0, steps - 1), rule=lambda m, k: m.x[k + 1] == m.x[k] + h / 2 * (-m.x[k] + m.u[k] - m.x[k + 1] + m.u[k + 1])
    )
    weights = {k: h / 2 if k in (0, steps) else h for k in model.t}
    model.cost = pyo.Objective(expr=sum(weights[k] * (model.x[k] ** 2 + model.u[k] ** 2 / 2) for k in model.t))
    solve(model)
    # The Riccati equation p' = 2 p + 2 p^2 - 1, p(1) = 0 gives the optimal value p(0) x(0)^2: with w = sqrt(3),
    # p(0) = sinh(w) / (w cosh(w) + sinh(w)).
    w = math.sqrt(3.0)
    assert pyo.value(model.cost) == pytest.approx(math.sinh(w) / (w * math.cosh(w) + math.sinh(w)), rel=1e-4)


def test_variables_that_pyomo_takes_out_come_back():
    model = pyo.ConcreteModel("presolved")
    model.x = pyo.Var([1, 2, 3], initialize=1.0)
    model.fixed = pyo.Constraint(expr=model.x[1] == 2)
    model.sum = pyo.Constraint(expr=model.x[1] + model.x[2] == 5)
    model.cost = pyo.Objective(expr=(model.x[3] - model.x[2]) ** 2 + model.x[1])
    results = new(model)
    assert [model.x[i].value for i in model.x] == pytest.approx([2.0, 3.0, 3.0], abs=1e-5)
    assert results.incumbent_objective == pytest.approx(2.0)


def test_names_and_files_stay_where_they_are_asked_for(tmp_path, capsys):
    new(hs71(), symbolic_solver_labels=True, working_dir=tmp_path, tee=True)
    assert "Solved" in capsys.readouterr().out
    [folder] = tmp_path.iterdir()
    assert "x[1]" in (folder / "model.col").read_text() and "product" in (folder / "model.row").read_text()
    assert (folder / "model.sol").read_text().startswith("Tangor")


def test_models_that_need_no_run():
    model = pyo.ConcreteModel("empty")
    model.cost = pyo.Objective(expr=0.0)
    results = new(model, raise_exception_on_nonoptimal_result=False, load_solutions=False)
    assert results.termination_condition == TerminationCondition.emptyModel
    model.x = pyo.Var(bounds=(0, 1))
    model.impossible = pyo.Constraint(expr=model.x >= 2)
    results = new(model, raise_exception_on_nonoptimal_result=False, load_solutions=False)
    assert results.termination_condition in (TerminationCondition.provenInfeasible, TerminationCondition.locallyInfeasible)


def test_a_missing_program_is_said():
    solver = factory.SolverFactory("tangor", executable="/nowhere/tangor")
    assert not solver.available()
    with pytest.raises(Exception, match="could not be run"):
        solver.solve(hs71())
    assert factory.SolverFactory("tangor").available() and pyo.SolverFactory("tangor").available()


def test_words_of_options():
    assert list(words({"solver": "tangor", "tol": 1e-8, "merit": {"falls": False}, "seconds": None})) == ["tol=1e-08", "merit.falls=false"]
