"""Ctrl-C at any moment: the best point so far comes back, and before the first iteration that is the start."""

import signal
import threading

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

import tangor

X = [-1.2, 1.0]


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


def interrupting(function, at):
    """The function, during whose call number `at` Ctrl-C is pressed."""
    calls = []

    def called(*args):
        calls.append(1)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return function(*args)

    return called


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5, 6, 9, 20])
def test_the_best_point_comes_back_whenever_it_was_pressed(at):
    result = tangor.minimize(interrupting(rosenbrock, at), X)
    assert result.stop == "user" and result.status == 99 and not result.success
    if result.nit == 0:
        np.testing.assert_array_equal(result.x, X)
    assert result.x.shape == (2,) and "interrupted" in result.message
    assert not np.isfinite(result.fun) or result.fun <= rosenbrock(np.array(X))
    str(result), result._repr_html_(), result.to_frame()


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_in_constraints_and_jacobians(at):
    circle = {"lb": 1, "ub": 1}
    for rows in (
        NonlinearConstraint(interrupting(lambda x: x @ x, at), **circle),
        NonlinearConstraint(lambda x: x @ x, **circle, jac=interrupting(lambda x: 2 * x, at)),
        {"type": "eq", "fun": interrupting(lambda x: x @ x - 1, at)},
    ):
        result = tangor.minimize(rosenbrock, X, bounds=[(-1, 2)] * 2, constraints=rows, tol=1e-300)
        assert result.stop == "user"
        if result.nit == 0:
            np.testing.assert_array_equal(result.x, [-1.0, 1.0])


@pytest.mark.parametrize("at", [1, 2, 3])
def test_in_a_function_for_all(at):
    def evaluate(x):
        return float(x @ x), 2 * x, None, None

    result = tangor.minimize(tangor.Problem(X, evaluate=interrupting(evaluate, at)), tol=1e-300)
    assert result.stop == "user" and (at > 1 or list(result.x) == X)


@pytest.mark.parametrize("at", [1, 2, 30, 100])
def test_in_a_noisy_run(at):
    def evaluate(x, draws):
        return x - np.random.default_rng(int(draws[0])).normal(size=2), None, None

    result = tangor.minimize_sampled(interrupting(evaluate, at), X, samples=200_000)
    assert result.stop == "user" and result.x.shape == (2,)
    if at <= 2:
        np.testing.assert_array_equal(result.x, X)


def test_there_is_nothing_to_plot_of_a_run_that_did_not_begin():
    def never(x):
        raise KeyboardInterrupt

    result = tangor.minimize(rosenbrock, X, constraints={"type": "eq", "fun": never})
    with pytest.raises(ValueError, match="nothing to plot"):
        result.plot()


def test_who_asks_for_a_value_gets_the_exception():
    problem = tangor.Problem(X, f=interrupting(rosenbrock, 1))
    with pytest.raises(KeyboardInterrupt):
        problem.f(X)
    problem = tangor.Problem(X, f=interrupting(rosenbrock, 3))
    with pytest.raises(KeyboardInterrupt):
        tangor.check_derivatives(problem)


def test_a_check_ends_wherever_it_was_pressed():
    calls = []
    tangor.check_derivatives(tangor.Problem(np.ones(30), f=lambda x: calls.append(1) or x @ x))
    for at in (2, 7, len(calls) // 2, len(calls)):
        pressed, after = interrupting(lambda x: float(x @ x), at), []
        with pytest.raises(KeyboardInterrupt):
            tangor.check_derivatives(tangor.Problem(np.ones(30), f=lambda x: (after.append(1), pressed(x))[1]))
        assert len(after) == at


def test_while_numpy_reads_what_a_function_gave():
    class Numbers:
        """Pressed while `numpy.asarray` is at work."""

        def __array__(self, dtype=None, copy=None):
            signal.raise_signal(signal.SIGINT)
            return np.ones(2)

    result = tangor.minimize(lambda x: float(x @ x), X, jac=lambda x: Numbers())
    assert result.stop == "user" and list(result.x) == X
    # What a conversion raises is still told as what it is.
    with pytest.raises(TypeError, match="must give numbers"):
        tangor.minimize(lambda x: float(x @ x), X, jac=lambda x: object())


def test_while_a_bar_is_made(monkeypatch):
    import tangor._progress

    monkeypatch.setattr(tangor._progress, "bar", lambda: signal.raise_signal(signal.SIGINT))
    result = tangor.minimize(rosenbrock, X, progress=True)
    assert result.stop == "user" and list(result.x) == X
    result = tangor.minimize_sampled(lambda x, draws: (x, None, None), X, samples=10_000, progress=True)
    assert result.stop == "user" and list(result.x) == X


@pytest.mark.parametrize("name", ["minimize", "sampled"])
def test_once_more_while_the_result_is_made(monkeypatch, name):
    import tangor._solver

    make, calls = tangor._solver._result.make, []

    def pressed(*args):
        calls.append(1)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return make(*args)

    monkeypatch.setattr(tangor._solver._result, "make", pressed)
    if name == "minimize":
        result = tangor.minimize(rosenbrock, X)
    else:
        result = tangor.minimize_sampled(lambda x, draws: (x, None, None), X, samples=10_000)
    assert len(calls) > 1 and result.stop != "user" and result.nit > 1 and np.isfinite(result.x).all()


@pytest.mark.parametrize("at", [1, 2, 3, 8])
def test_in_a_fit(at, monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    import tangor.sklearn

    rng = np.random.default_rng(0)
    x, group = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    monkeypatch.setattr(tangor.sklearn.Loss, "evaluate", interrupting(tangor.sklearn.Loss.evaluate, at))
    model = tangor.sklearn.ConstrainedLogisticRegression(rate_gap={"group": 0.01})
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(x, x[:, 0] + group > 0.5, groups={"group": group})
    assert model.result_.stop == "user" and model.predict(x).shape == (200,) and len(model.constraints_) == 1


def test_nothing_is_verified_of_a_run_that_did_not_begin():
    result = tangor.minimize_sampled(interrupting(lambda x, draws: (x, None, None), 1), X)
    with pytest.raises(ValueError, match="nothing to verify"):
        tangor.verify(result)


def test_one_that_rust_alone_was_busy_with_is_not_late():
    """Pressed while no function of Python's runs: the run sees it, at the latest when it ends."""
    large = tangor.Problem._of(tangor._tangor.weighted_squares(200_000))
    for delay in (0.2, 0.35):
        threading.Timer(delay, signal.pthread_kill, (threading.get_ident(), signal.SIGINT)).start()
        result = tangor.minimize(large, tol=1e-300, limits={"iterations": 100_000})
        assert result.stop == "user" and np.isnan(result.jac).all()


def test_what_a_handler_of_ones_own_raises_comes_back():
    class Mine(Exception):
        pass

    def handler(number, frame):
        raise Mine

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Mine):
            tangor.minimize(lambda x: signal.raise_signal(signal.SIGUSR1) or rosenbrock(x), X)
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_while_a_noisy_run_judges_a_point():
    def evaluate(x, draws):
        noise = np.array([np.random.default_rng(int(draw)).normal() for draw in draws])
        return 2 * (x - 1) + 0.1 * noise.mean(), np.array([x[0] + x[1] - 1 + 0.1 * noise.mean()]), np.array([[1.0, 1.0]])

    def run(at):
        problem = tangor.SampledProblem([0.0, 0.0], interrupting(evaluate, at), c_upper=0.0)
        return tangor.minimize_sampled(problem, samples=4000)

    whole = []
    problem = tangor.SampledProblem([0.0, 0.0], lambda x, draws: (whole.append(1), evaluate(x, draws))[1], c_upper=0.0)
    tangor.minimize_sampled(problem, samples=4000)
    # The last calls of all are a judgement.
    for at in np.linspace(3, len(whole) - 1, 12).astype(int).tolist() + [len(whole) - 2, len(whole) - 3]:
        assert run(at).stop == "user", at
