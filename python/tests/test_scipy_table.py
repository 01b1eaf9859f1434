"""The problems of SciPy's own tests of `minimize` with constraints, as a table: each is solved to SciPy's tolerance or better."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.sparse import csr_array

import tangor

INF = np.inf


# -- SLSQP and COBYLA: a quadratic with its maximum at (2, 1), and constraints on it ------------------------------------------------
def f(d, sign=-1.0):
    return sign * (2 * d[0] * d[1] + 2 * d[0] - d[0] ** 2 - 2 * d[1] ** 2)


def g(d, sign=-1.0):
    return sign * np.array([-2 * d[0] + 2 * d[1] + 2, 2 * d[0] - 4 * d[1]])


def f_and_g(d, sign=-1.0):
    return f(d, sign), g(d, sign)


LINE = {"type": "eq", "fun": lambda d: d[0] - d[1]}
LINE_JAC = {**LINE, "jac": lambda d: np.array([1.0, -1.0])}
HALF_PLANE = {"type": "ineq", "fun": lambda d: d[0] - d[1] - 1.0}
CUBE = {"type": "ineq", "fun": lambda d: d[0] ** 3 - d[1], "jac": lambda d: [3 * d[0] ** 2, -1.0]}

FREE = dict(fun=f, x0=[-1.0, 1.0])
QUADRATIC = [
    ("unbounded, differences", dict(**FREE), [2, 1]),
    ("unbounded, gradient", dict(**FREE, jac=g), [2, 1]),
    ("unbounded, jac=True", dict(fun=f_and_g, x0=[-1.0, 1.0], jac=True), [2, 1]),
    ("unbounded, sign by args", dict(**FREE, args=(-1.0,), jac=g), [2, 1]),
    ("bounded, differences", dict(**FREE, bounds=((2.5, None), (None, 0.5))), [2.5, 0.5]),
    ("bounded, gradient", dict(**FREE, jac=g, bounds=((2.5, None), (None, 0.5))), [2.5, 0.5]),
    ("equality, differences", dict(**FREE, constraints=LINE), [1, 1]),
    ("equality, gradient", dict(**FREE, jac=g, constraints=LINE), [1, 1]),
    ("equality, both derivatives", dict(**FREE, jac=g, constraints=LINE_JAC), [1, 1]),
    ("inequality", dict(**FREE, jac=g, constraints=HALF_PLANE), [2, 1]),
    (
        "inequality as a vector",
        dict(**FREE, jac=g, constraints={"type": "ineq", "fun": lambda d: np.array([d[0] - d[1] - 1.0])}),
        [2, 1],
    ),
    (
        "bounds and equality, differences",
        dict(**FREE, bounds=[(-0.8, 1.0), (-1, 0.8)], constraints=LINE),
        [0.8, 0.8],
    ),
    (
        "bounds and equality, both derivatives",
        dict(**FREE, jac=g, bounds=[(-0.8, 1.0), (-1, 0.8)], constraints=LINE_JAC),
        [0.8, 0.8],
    ),
    (
        "linear and cubic",
        dict(fun=lambda d: (d[0] - 1) ** 2 + (d[1] - 1) ** 2, x0=[1.0, 0.5], constraints=[CUBE]),
        [1, 1],
    ),
]


@pytest.mark.parametrize("case, expected", [(case, x) for _, case, x in QUADRATIC], ids=[name for name, *_ in QUADRATIC])
def test_quadratics_of_slsqp(case, expected):
    result = tangor.minimize(**case)
    assert result.success, result
    np.testing.assert_allclose(result.x, expected, atol=1e-6)


# -- trust-constr: problems of Nocedal and Wright, Hock and Schittkowski, and others ------------------------------------------------
class Maratos:
    """Nocedal and Wright, example 15.4, started at an angle."""

    def __init__(self, degrees=60.0):
        angle = np.deg2rad(degrees)
        self.x0 = np.array([np.cos(angle), np.sin(angle)])

    def fun(self, x):
        return 2 * (x[0] ** 2 + x[1] ** 2 - 1) - x[0]

    def grad(self, x):
        return np.array([4 * x[0] - 1, 4 * x[1]])


CIRCLE = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 1, 1, lambda x: [[2 * x[0], 2 * x[1]]])
CIRCLE_DIFFERENCES = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 1, 1)
maratos = Maratos()


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def rosenbrock_grad(x):
    return np.array([-400 * (x[1] - x[0] ** 2) * x[0] - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)])


def simple(x):
    """Nocedal and Wright, exercise 16.20."""
    return (x[0] - 1) ** 2 + 4 * (x[1] - 3) ** 2


def electrons(count):
    """Coulomb repulsion of electrons on the unit sphere (problem 2 of the COPS collection)."""
    rng = np.random.RandomState(0)
    phi, theta = rng.uniform(0, 2 * np.pi, count), rng.uniform(-np.pi, np.pi, count)
    x0 = np.concatenate([np.cos(theta) * np.cos(phi), np.cos(theta) * np.sin(phi), np.sin(theta)])

    def distances(x):
        p = x.reshape(3, count)
        d = p[:, :, None] - p[:, None, :]
        r = np.sqrt((d**2).sum(axis=0))
        r[np.diag_indices(count)] = np.inf
        return d, r

    def fun(x):
        return 0.5 * np.sum(1 / distances(x)[1])

    def grad(x):
        d, r = distances(x)
        return -(d / r**3).sum(axis=2).reshape(-1)

    def sphere(x):
        return (x.reshape(3, count) ** 2).sum(axis=0) - 1

    def sphere_jac(x):
        p = x.reshape(3, count)
        rows = np.tile(np.arange(count), 3)
        return csr_array((2 * p.reshape(-1), (rows, np.arange(3 * count))), shape=(count, 3 * count))

    return dict(fun=fun, x0=x0, jac=grad, constraints=NonlinearConstraint(sphere, -INF, 0, sphere_jac))


SPARSE_CIRCLE = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 1, 1, lambda x: csr_array([[2 * x[0], 2 * x[1]]]))

# name, arguments, solution or None, objective or None
PROBLEMS = [
    ("Maratos", dict(fun=maratos.fun, x0=maratos.x0, jac=maratos.grad, constraints=CIRCLE), [1, 0], None),
    ("Maratos, all differences", dict(fun=maratos.fun, x0=maratos.x0, constraints=CIRCLE_DIFFERENCES), [1, 0], None),
    ("Maratos, 2-point", dict(fun=maratos.fun, x0=maratos.x0, jac="2-point", constraints=CIRCLE), [1, 0], None),
    ("Maratos, complex step", dict(fun=maratos.fun, x0=maratos.x0, jac="cs", constraints=CIRCLE), [1, 0], None),
    ("Maratos, sparse Jacobian", dict(fun=maratos.fun, x0=maratos.x0, jac=maratos.grad, constraints=SPARSE_CIRCLE), [1, 0], None),
    (
        "Maratos with bounds",
        dict(fun=maratos.fun, x0=maratos.x0, jac=maratos.grad, constraints=CIRCLE, bounds=Bounds([-2, -2], [2, 2])),
        [1, 0],
        None,
    ),
    (
        "Rosenbrock in the unit disc",
        dict(
            fun=rosenbrock,
            x0=[0.0, 0.0],
            jac=rosenbrock_grad,
            constraints=NonlinearConstraint(lambda x: x @ x, -INF, 1, lambda x: 2 * x),
        ),
        [0.78641515, 0.61769831],
        None,
    ),
    (
        "simple quadratic over a polygon",
        dict(
            fun=lambda x: 0.5 * (x[0] - 1) ** 2 + 0.5 * (x[1] - 2.5) ** 2,
            x0=[0.0, 0.0],
            constraints=LinearConstraint([[1, -2], [-1, -2], [-1, 2]], [-2, -6, -2], INF),
            bounds=Bounds(0, INF),
        ),
        [1.4, 1.7],
        None,
    ),
    (
        "hyperbolic",
        dict(
            fun=lambda x: 0.5 * (x[0] - 2) ** 2 + 0.5 * (x[1] - 0.5) ** 2,
            x0=[0.0, 0.0],
            jac=lambda x: np.array([x[0] - 2, x[1] - 0.5]),
            constraints=NonlinearConstraint(lambda x: 1 / (x[0] + 1) - x[1], 0.25, INF, lambda x: [-1 / (x[0] + 1) ** 2, -1]),
            bounds=Bounds([0, -INF], INF),
        ),
        [1.952823, 0.088659],
        None,
    ),
    (
        "nearly linear, one variable fixed by an equality",
        dict(
            fun=lambda x: x[0] ** 2 + x[1] ** 2 + (x[0] - 1) ** 4,
            x0=[3.0, -1.0],
            constraints=LinearConstraint(csr_array([[0.0, 1.0]]), 1, 1),
        ),
        [0.410245, 1],
        None,
    ),
    (
        "exponential under a norm (Byrd, Schnabel and Shultz)",
        dict(
            fun=lambda x: np.exp(x[0]) * (4 * x[0] ** 2 + 2 * x[1] ** 2 + 4 * x[0] * x[1] + 2 * x[1] + 1),
            x0=[-1.0, 1.0],
            constraints=[
                {"type": "ineq", "fun": lambda x: -x[0] * x[1] + x[0] + x[1] - 1.5},
                {"type": "ineq", "fun": lambda x: x[0] * x[1] + 10},
            ],
        ),
        [-9.547405025, 1.047405025],
        0.02355037962,
    ),
    ("electrons on a sphere, 2", electrons(2), None, 0.5),
    ("electrons on a sphere, 4", electrons(4), None, 6 / np.sqrt(8 / 3)),
    ("electrons on a sphere, 20, sparse", electrons(20), None, 150.8815683),
    (
        "quadratic over a quadratic (COBYLA's first)",
        dict(fun=lambda x: x[0] ** 2 + abs(x[1]) ** 3, x0=[4.95, 0.66], constraints={"type": "ineq", "fun": lambda x: x @ x - 25}),
        [np.sqrt(25 - (2 / 3) ** 2), 2 / 3],
        None,
    ),
    (
        "two inequalities (COBYLA)",
        dict(
            fun=lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2,
            x0=[0.0, 0.0],
            constraints=(
                {"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2},
                {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6},
                {"type": "ineq", "fun": lambda x: -x[0] + 2 * x[1] + 2},
            ),
            bounds=((0, None), (0, None)),
        ),
        [1.4, 1.7],
        None,
    ),
    (
        "HS71",
        dict(
            fun=lambda x: x[0] * x[3] * x[:3].sum() + x[2],
            x0=[1.0, 5.0, 5.0, 1.0],
            bounds=[(1, 5)] * 4,
            constraints=[
                NonlinearConstraint(np.prod, 25, INF, jac="3-point"),
                NonlinearConstraint(lambda x: x @ x, 40, 40, jac="cs"),
            ],
        ),
        [1.0, 4.7429996, 3.8211500, 1.3794083],
        17.0140173,
    ),
    (
        "infeasible start on a bound with a singular Jacobian",
        dict(
            fun=lambda x: x[0] ** 2 - 2 * x[0] + x[1] ** 2,
            x0=[0.0, 0.0],
            bounds=[(0, None), (0, None)],
            constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - 2},
        ),
        [1.5, 0.5],
        None,
    ),
    (
        "a variable fixed by its bounds",
        dict(fun=lambda z: (z[0] - 1) ** 2 + (z[1] - 2) ** 2 + (z[2] - 3) ** 2, x0=[5.0, 5.0, 5.0], bounds=[(0, 9), (4, 4), (0, 2)]),
        [1, 4, 2],
        None,
    ),
]


@pytest.mark.parametrize("case, x, objective", [case[1:] for case in PROBLEMS], ids=[case[0] for case in PROBLEMS])
def test_problems_of_trust_constr_and_cobyla(case, x, objective):
    result = tangor.minimize(**case)
    assert result.success, result
    assert result.constr_violation < 1e-6
    if x is not None:
        np.testing.assert_allclose(result.x, x, atol=1e-5)
    if objective is not None:
        np.testing.assert_allclose(result.fun, objective, rtol=1e-6)


def test_infeasible_problems_are_told():
    limits = [{"type": "ineq", "fun": lambda x: x[0] - 2}, {"type": "ineq", "fun": lambda x: 1 - x[0]}]
    result = tangor.minimize(lambda x: x[0] ** 2, [0.0], constraints=limits)
    assert not result.success
    assert result.point == "eps_infeasible_stationary"
    assert [row["violation"] for row in result.violated] == pytest.approx([0.5, 0.5], abs=1e-5)
