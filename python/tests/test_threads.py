"""Functions that allow several threads, and those that do not."""

import threading
import time

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint

import tangor


class Seen:
    """Which threads called, and how many of them at once."""

    def __init__(self):
        self.names, self.most, self._now, self._lock = set(), 0, 0, threading.Lock()

    def __enter__(self):
        with self._lock:
            self.names.add(threading.current_thread().name)
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_):
        with self._lock:
            self._now -= 1


def case(seen, pause=0.0):
    """Differences of an objective and of constraints, which write into `out`."""

    def fun(x):
        with seen:
            time.sleep(pause)
            return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]

    def rows(x, *, out=None):
        with seen:
            time.sleep(pause)
            values = [np.prod(x) - 25, x @ x - 40]
            if out is None:
                return values
            out[:] = values

    constraints = [{"type": "ineq", "fun": lambda x: rows(x)[0]}, NonlinearConstraint(rows, [0, 0], [np.inf, 0])]
    return dict(fun=fun, x0=[1.0, 5.0, 5.0, 1.0], bounds=[(1, 5)] * 4, constraints=constraints)


@pytest.mark.parametrize("scheme", ["2-point", "3-point", "cs"])
def test_differences_in_threads_give_the_same_bits(scheme):
    results, calls = [], []
    for threads in (None, 1, 3):
        seen = Seen()
        given = {**case(seen), "jac": scheme}
        if scheme == "cs":
            given["constraints"] = [{"type": "eq", "fun": lambda x: (x * x).sum() - 40}]
        results.append(tangor.minimize(**given, threads=threads))
        calls.append(results[-1].nfev)
    assert results[0].success
    for other in results[1:]:
        np.testing.assert_array_equal(other.x, results[0].x)
        assert other.nit == results[0].nit
    assert calls[0] == calls[1] == calls[2]


def test_one_thread_unless_the_user_says_otherwise():
    seen = Seen()
    tangor.minimize(**case(seen))
    assert seen.names == {threading.current_thread().name} and seen.most == 1
    seen = Seen()
    tangor.minimize(**case(seen, pause=0.001), threads=4, options={"maxiter": 3})
    assert 1 < seen.most <= 5 and any(name.startswith("tangor") for name in seen.names)


def test_waiting_functions_take_less_time_in_threads():
    def slow(x):
        time.sleep(0.005)
        return float(x @ x)

    seconds = []
    for threads in (None, 8):
        before = time.perf_counter()
        tangor.Problem(np.ones(16), f=slow, threads=threads).grad(np.ones(16))
        seconds.append(time.perf_counter() - before)
    assert seconds[1] < 0.5 * seconds[0]


def test_exceptions_and_undefined_points_in_threads():
    class Weird(Exception):
        pass

    def fun(x):
        if threading.current_thread().name.startswith("tangor"):
            raise Weird("in a thread")
        return float(x @ x)

    with pytest.raises(Weird, match="in a thread") as caught:
        tangor.minimize(fun, [3.0, 4.0], threads=2)
    assert any(entry.name == "fun" for entry in caught.traceback)

    def bounded(x):
        if x[0] <= 0:
            raise tangor.Undefined("a negative number")
        return x[0] - np.log(x[0])

    assert tangor.minimize(bounded, [8.0], threads=2).x == pytest.approx([1.0], abs=1e-5)


def sampled(threads, seen=None, **functions):
    centre = np.array([1.0, -0.5])

    def noise(draws):
        return np.array([np.random.default_rng(int(draw)).normal(size=2) for draw in draws]).mean(axis=0)

    def evaluate(x, draws):
        if seen is not None:
            with seen:
                time.sleep(0.0005)
        return x - centre + 0.1 * noise(draws), [x @ x], [2 * x]

    given = functions or {"evaluate": evaluate}
    return tangor.SampledProblem([0.2, 0.3], **given, exact=("constraints", "jacobian"), c_upper=0.25, threads=threads)


def test_draws_in_threads_give_the_same_bits_at_any_number():
    one, three = (tangor.minimize_sampled(sampled(threads), samples=4000) for threads in (1, 3))
    np.testing.assert_array_equal(one.x, three.x)
    alone = tangor.minimize_sampled(sampled(None), samples=4000)
    np.testing.assert_allclose(alone.x, one.x, atol=1e-9)
    seen = Seen()
    tangor.minimize_sampled(sampled(4, seen), samples=500)
    assert 1 < seen.most <= 4
    seen = Seen()
    tangor.minimize_sampled(sampled(None, seen), samples=500)
    assert seen.names == {threading.current_thread().name}


def test_single_samples_in_threads_give_the_bits_of_one():
    def sample(x, rng):
        return x - rng.normal(1.0, 0.1, 2), x @ x, 2 * x

    runs = [tangor.minimize_sampled(sampled(threads, sample=sample), samples=3000) for threads in (None, 1, 3)]
    for other in runs[1:]:
        np.testing.assert_array_equal(other.x, runs[0].x)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2", [2]])
def test_wrong_numbers_of_threads_are_refused(threads):
    kind = ValueError if type(threads) in (int, float) else TypeError
    with pytest.raises(kind, match="threads must be a whole number"):
        tangor.minimize(lambda x: x @ x, [1.0], threads=threads)
    with pytest.raises(kind, match="threads must be a whole number"):
        tangor.minimize_sampled(lambda x, draws: (x, None, None), [1.0], threads=threads)


def test_a_problem_says_its_own_threads():
    with pytest.raises(TypeError, match=r"tangor.Problem\(..., threads=...\)"):
        tangor.minimize(tangor.collection["HS71"], threads=2)
