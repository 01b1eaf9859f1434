"""What somebody forgot, or wrote without end, is told: it is neither left out in silence nor the end of the interpreter."""

import decimal

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint
from scipy.sparse import csr_array

import tangor

X = [1.0, 2.0]


def f(x):
    return float(x @ x)


def g(x):
    return 2 * x


HALVES = [
    (dict(grad=g), "grad is the derivative of f, which is missing"),
    (dict(f=f, jac=lambda x: np.eye(2)), "jac is the derivative of c, which is missing"),
    (dict(f=f, c_lower=1.0), "c_lower and c_upper belong to constraints"),
    (dict(f=f, c_upper=[1.0, np.inf]), "c_lower and c_upper belong to constraints"),
    (dict(f=f, sparsity=np.eye(2)), "sparsity belongs to constraints"),
    (dict(), "a function is missing"),
    (dict(evaluate=lambda x: (None, None, None, None)), "a function is missing"),
    (dict(evaluate=lambda x: (f(x), g(x), None, np.eye(2))), "jac is the derivative of c"),
    (dict(evaluate=lambda x: (f(x), g(x), None, None), c_upper=1.0), "c_lower and c_upper belong to constraints"),
    (dict(f=f, name=3), "name must be a text, not 3"),
]


@pytest.mark.parametrize("arguments, message", HALVES)
def test_half_of_a_problem_is_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        tangor.minimize(tangor.Problem(X, **arguments))


def test_limits_that_are_none_need_no_constraints():
    problem = tangor.Problem(X, f=f, grad=g, c_lower=[], c_upper=[])
    assert tangor.minimize(problem).success
    assert tangor.minimize(tangor.Problem(X, evaluate=lambda x: (f(x), g(x), None, None))).success


NOISY = [
    (dict(evaluate=lambda x, draws: (x, None, None), c_upper=1.0), "c_lower and c_upper belong to constraints"),
    (dict(evaluate=lambda x, draws: (x, None, np.eye(2))), "there is a Jacobian, but there are no constraints"),
    (dict(evaluate=lambda x, draws: (x, None, None), exact_rows=3.5), "exact_rows must be names, numbers or booleans"),
    (dict(sample=lambda x, rng: (1j * x, None, None)), "the gradient that sample.* gave must be real numbers"),
    (dict(sample=lambda x, rng: ("ab", None, None)), "the gradient that sample.* gave must be real numbers"),
    (dict(sample=lambda x, rng: ("1", x, None, None)), "the objective that sample.* gave must be real numbers"),
]


@pytest.mark.parametrize("arguments, message", NOISY)
def test_half_of_a_noisy_problem_is_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        tangor.minimize_sampled(tangor.SampledProblem(X, **arguments), samples=1000)


def test_each_kind_of_problem_is_sent_to_its_solver():
    with pytest.raises(TypeError, match="tangor.minimize_sampled takes it"):
        tangor.minimize(tangor.SampledProblem(X, lambda x, draws: (x, None, None)))
    with pytest.raises(TypeError, match="tangor.minimize takes it"):
        tangor.minimize_sampled(tangor.Problem(X, f=f))


@pytest.mark.parametrize("size", [2, 20_000])
def test_a_gradient_that_writes_nothing_is_no_zero(size):
    def nothing(x, *, out):
        pass

    for more in ({}, {"threads": 2}):
        result = tangor.minimize(f, np.ones(size), jac=nothing, **more)
        assert not result.success and "gradient of the objective gave NaN" in result.failure


def endless(start):
    """A function that starts a run of itself."""

    def function(x, *rest):
        return start(function)

    return function


@pytest.mark.parametrize(
    "start",
    [
        lambda function: tangor.minimize(function, X).fun,
        lambda function: tangor.minimize(f, X, callback=function).fun,
        lambda function: tangor.minimize(f, X, constraints={"type": "eq", "fun": f, "jac": function}).fun,
        lambda function: tangor.Problem(X, f=function).f(X),
        lambda function: tangor.minimize_sampled(tangor.SampledProblem(X, function), samples=1000).fun,
    ],
    ids=["objective", "callback", "jacobian", "value", "noisy"],
)
def test_runs_without_end_inside_of_each_other_are_refused(start):
    with pytest.raises(RecursionError):
        start(endless(start))
    # The count of levels has come down again.
    assert tangor.minimize(lambda x: tangor.minimize(f, X).fun + f(x), X).success


def test_numbers_of_numpy_keep_no_half():
    for value in (np.complex128(1 + 1j), np.complex64(1), np.timedelta64(3, "s")):
        with pytest.raises(TypeError, match="must give one number"):
            tangor.minimize(lambda x: value, X, jac=g)
    with pytest.raises(TypeError, match="gave an int, but must give one number, and none that is too large"):
        tangor.minimize(lambda x: 10**400, X)
    for value in (np.float32(2), np.int8(2), np.bool_(True), decimal.Decimal(2)):
        assert tangor.minimize(lambda x: value, X, jac=lambda x: np.zeros(2)).fun == float(value)


def test_strange_jacobians_are_named():
    def rows(jac):
        return NonlinearConstraint(lambda x: x, 0, 1, jac=jac)

    with pytest.raises(TypeError, match=r"Jacobian of constraints\[0\] gave .*generator"):
        tangor.minimize(f, X, constraints=rows(lambda x: (row for row in np.eye(2))))
    for columns in ([0, -1], [0, 7]):
        matrix = csr_array(np.eye(2))
        matrix.indices = np.array(columns, dtype=np.int32)
        with pytest.raises(ValueError, match=r"the Jacobian of constraints\[0\] is no sparse matrix: .*indices"):
            tangor.minimize(f, X, constraints=rows(lambda x: matrix))


def test_numbers_that_are_none_are_named():
    for bounds, kind, message in (
        ([("0", "1")] * 2, TypeError, "must be numbers or None, not"),
        ([(0, 10**400)] * 2, ValueError, "too large for a float"),
    ):
        with pytest.raises(kind, match=message):
            tangor.minimize(f, X, bounds=bounds)
    with pytest.raises(TypeError, match="sigma must be a number"):
        tangor.collection["HS71"].hess([1, 2, 3, 4], [1, 1], "a")
    problem = tangor.Problem(X, f=f, grad=g, variable_names=["east", "north"])
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"x must be finite, but variable north is {value}"):
            tangor.check_derivatives(problem, x=[1.0, value])


def test_undefined_without_a_reason_says_so():
    def nowhere(x):
        raise tangor.Undefined

    assert "no reason is given" in tangor.minimize(nowhere, X).failure
