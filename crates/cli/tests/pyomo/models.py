"""Real models through a real Pyomo: `SolverFactory("asl:tangor")`, with the program on the PATH.

Each function is a test; the file is run as it is: `python models.py`.
"""

import math
import os
import tempfile

import pyomo.environ as pyo
from pyomo.opt import SolverStatus, TerminationCondition

FACTORY = "asl:tangor"


def solve(model, options=None, **more):
    solver = pyo.SolverFactory(FACTORY)
    assert solver.available(), "the program tangor must be on the PATH"
    for key, value in (options or {}).items():
        solver.options[key] = value
    return solver.solve(model, **more)


def near(found, wanted, tolerance=1e-5):
    assert abs(found - wanted) <= tolerance * (1 + abs(wanted)), f"{found} is not {wanted}"


def is_optimal(results):
    assert results.solver.status == SolverStatus.ok, results
    assert results.solver.termination_condition == TerminationCondition.optimal, results


def hs71(sense=pyo.minimize):
    model = pyo.ConcreteModel("HS71")
    start = {1: 1.0, 2: 5.0, 3: 5.0, 4: 1.0}
    model.x = pyo.Var([1, 2, 3, 4], bounds=(1, 5), initialize=start)
    x = model.x
    formula = x[1] * x[4] * (x[1] + x[2] + x[3]) + x[3]
    model.cost = pyo.Objective(expr=formula if sense == pyo.minimize else -formula, sense=sense)
    model.product = pyo.Constraint(expr=x[1] * x[2] * x[3] * x[4] >= 25)
    model.sphere = pyo.Constraint(expr=sum(x[i] ** 2 for i in x) == 40)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    for name in ["ipopt_zL_out", "ipopt_zU_out", "tangor_zL_out", "rc"]:
        setattr(model, name, pyo.Suffix(direction=pyo.Suffix.IMPORT))
    return model


# The values of Hock and Schittkowski; the duals are those that Ipopt gives.
HS71_COST = 17.0140173
HS71_POINT = [1.0, 4.7429994, 3.8211503, 1.3794082]
HS71_DUALS = {"product": 0.55229366, "sphere": -0.16146856}
HS71_BOUND = 1.08787121


def test_hs71():
    model = hs71()
    is_optimal(solve(model))
    near(pyo.value(model.cost), HS71_COST)
    for i, wanted in enumerate(HS71_POINT, start=1):
        near(model.x[i].value, wanted, 1e-4)
    near(model.dual[model.product], HS71_DUALS["product"], 1e-4)
    near(model.dual[model.sphere], HS71_DUALS["sphere"], 1e-4)
    for suffix in [model.ipopt_zL_out, model.tangor_zL_out, model.rc]:
        near(suffix[model.x[1]], HS71_BOUND, 1e-4)


def test_maximisation_has_the_signs_of_the_user():
    model = hs71(pyo.maximize)
    is_optimal(solve(model))
    near(pyo.value(model.cost), -HS71_COST)
    near(model.dual[model.product], -HS71_DUALS["product"], 1e-4)
    near(model.dual[model.sphere], -HS71_DUALS["sphere"], 1e-4)
    near(model.ipopt_zL_out[model.x[1]], -HS71_BOUND, 1e-4)


def test_a_dual_is_the_slope_of_the_optimal_value():
    values = []
    for right in [25.0, 25.01]:
        model = hs71()
        model.product.deactivate()
        x = model.x
        model.moved = pyo.Constraint(expr=x[1] * x[2] * x[3] * x[4] >= right)
        is_optimal(solve(model, {"tol": 1e-8}))
        values.append((pyo.value(model.cost), model.dual[model.moved]))
    slope = (values[1][0] - values[0][0]) / 0.01
    near(slope, values[0][1], 1e-3)


def test_collocation_of_an_ode():
    """x' = -x + u on [0, 1] by the trapezoidal rule: minimise the integral of x^2 + u^2 / 2."""
    steps = 600
    h = 1.0 / steps
    model = pyo.ConcreteModel("collocation")
    model.t = pyo.RangeSet(0, steps)
    model.x = pyo.Var(model.t, initialize=1.0)
    model.u = pyo.Var(model.t, initialize=0.0)
    model.x[0].fix(1.0)
    step = lambda m, k: m.x[k + 1] == m.x[k] + h / 2 * (-m.x[k] + m.u[k] - m.x[k + 1] + m.u[k + 1])
    model.ode = pyo.Constraint(pyo.RangeSet(0, steps - 1), rule=step)
    weight = lambda k: h / 2 if k in (0, steps) else h
    model.cost = pyo.Objective(expr=sum(weight(k) * (model.x[k] ** 2 + model.u[k] ** 2 / 2) for k in model.t))
    assert len(model.x) + len(model.u) > 1000
    is_optimal(solve(model, {"timelimit": 120}))
    # The Riccati equation p' = 2 p + 2 p^2 - 1, p(1) = 0 gives u = -2 p x and the optimal value p(0) x(0)^2: with w = sqrt(3),
    # p(0) = sinh(w) / (w cosh(w) + sinh(w)).
    w = math.sqrt(3.0)
    near(pyo.value(model.cost), math.sinh(w) / (w * math.cosh(w) + math.sinh(w)), 1e-4)


def test_suffixes_and_names():
    model = hs71()
    model.weight = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    model.weight[model.x[2]] = 3
    with tempfile.TemporaryDirectory() as folder:
        stub = os.path.join(folder, "named.nl")
        model.write(stub, io_options={"symbolic_solver_labels": True})
        assert os.path.exists(os.path.join(folder, "named.col"))
        shown = os.popen(f"tangor solve {stub} --quiet 2>&1").read()
        assert "x[1]" in shown and "product" in shown, shown
    is_optimal(solve(model, symbolic_solver_labels=True))
    near(pyo.value(model.cost), HS71_COST)


def test_an_infeasible_model():
    model = pyo.ConcreteModel("infeasible")
    model.x = pyo.Var([1, 2], initialize=1.0)
    model.cost = pyo.Objective(expr=model.x[1] + model.x[2])
    model.inside = pyo.Constraint(expr=model.x[1] ** 2 + model.x[2] ** 2 <= 1)
    model.outside = pyo.Constraint(expr=model.x[1] + model.x[2] >= 3)
    results = solve(model, load_solutions=False)
    assert results.solver.termination_condition == TerminationCondition.infeasible, results


def test_a_limit_is_a_limit():
    model = hs71()
    results = solve(model, {"maxit": 1}, load_solutions=False)
    assert results.solver.termination_condition == TerminationCondition.maxIterations, results


def test_integers_are_refused_with_a_sentence():
    model = pyo.ConcreteModel("integers")
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 5), initialize=1)
    model.cost = pyo.Objective(expr=(model.x - 2.4) ** 2)
    try:
        solve(model)
    except Exception as error:
        assert "did not exit normally" in str(error), error
    else:
        raise AssertionError("a model with integers must be refused")
    is_optimal(solve(model, {"relax": 1}))
    near(model.x.value, 2.4)


def main():
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        test()
        print(f"{name} ... ok")


if __name__ == "__main__":
    main()
