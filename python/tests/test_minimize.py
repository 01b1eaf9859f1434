"""`tangor.minimize` beyond solving: results, callbacks, exceptions, memory."""

import gc
import math
import pickle
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult
from scipy.sparse import csr_array, csr_matrix, diags

import tangor


def hs71():
    return dict(
        fun=lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
        x0=[1.0, 5.0, 5.0, 1.0],
        bounds=[(1, 5)] * 4,
        constraints=[
            {"type": "ineq", "fun": lambda x: np.prod(x) - 25},
            {"type": "eq", "fun": lambda x: x @ x - 40},
        ],
    )


def test_result_has_the_fields_of_scipy_and_ours():
    result = tangor.minimize(**hs71())
    assert isinstance(result, OptimizeResult)
    assert result.success and result.status == 0 and result.stop == "tolerance" and result.point == "eps_kkt"
    assert max(result.stationarity, result.feasibility, result.complementarity) <= 1e-6
    assert [v.shape for v in result.v] == [(1,), (1,), (4,)]
    # Signs as trust-constr has them: the gradient of the Lagrangian vanishes.
    x, slope = result.x, result.jac.copy()
    slope += result.v[0] * np.prod(x) / x + result.v[1] * 2 * x + result.v[2]
    assert np.abs(slope).max() < 1e-6
    assert result.nfev > result.nit and result.violated == [] and result.constr_violation < 1e-7
    assert "KKT" in str(result) and "17.014" in str(result)
    assert "<table>" in result._repr_html_()


def test_multipliers_equal_those_of_trust_constr():
    case = hs71()
    ours = tangor.minimize(**case)
    bounds = Bounds([1] * 4, [5] * 4)
    rows = [NonlinearConstraint(lambda x: np.prod(x), 25, np.inf), NonlinearConstraint(lambda x: x @ x, 40, 40)]
    theirs = scipy.optimize.minimize(case["fun"], case["x0"], method="trust-constr", bounds=bounds, constraints=rows, tol=1e-9)
    for a, b in zip(ours.v, theirs.v):
        np.testing.assert_allclose(a, b, atol=1e-3)


def test_scipy_accepts_the_method():
    case = hs71()
    result = scipy.optimize.minimize(**case, method=tangor.scipy_method, tol=1e-8, options={"maxiter": 100})
    assert result.success and result.fun == pytest.approx(17.0140173, rel=1e-8)
    assert result.settings["tolerance"]["stationarity"] == 1e-8
    seen = []
    scipy.optimize.minimize(**case, method=tangor.scipy_method, callback=lambda intermediate_result: seen.append(intermediate_result.fun))
    assert len(seen) > 3


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda a: csr_array(a).tocoo(), lambda a: csr_array(a).tocsc()])
def test_sparse_jacobians_give_the_same_points_as_dense_ones(kind):
    n = 30
    matrix = diags([np.ones(n - 1), -np.ones(n - 1)], [0, 1], shape=(n - 1, n)).toarray()

    def jac(x):
        return matrix + np.eye(n - 1, n) * 2 * x

    def c(x):
        return matrix @ x + x[:-1] ** 2

    case = dict(fun=lambda x: ((x - 2) ** 2).sum(), jac=lambda x: 2 * (x - 2), x0=np.full(n, 0.5))
    dense = tangor.minimize(**case, constraints=NonlinearConstraint(c, -1, 1, jac))
    sparse = tangor.minimize(**case, constraints=NonlinearConstraint(c, -1, 1, lambda x: kind(jac(x))))
    structure = csr_array((np.abs(matrix) + np.eye(n - 1, n)) > 0)
    estimated = NonlinearConstraint(c, -1, 1, jac="3-point", finite_diff_jac_sparsity=structure)
    calls = []
    estimated.fun = lambda x: (calls.append(1), c(x))[1]
    grouped = tangor.minimize(**case, constraints=estimated)
    np.testing.assert_allclose(sparse.x, dense.x, atol=1e-6)
    np.testing.assert_allclose(grouped.x, dense.x, atol=1e-6)
    # A band of two takes two groups: a Jacobian costs four calls, not sixty.
    assert len(calls) < 8 * grouped.evaluations["jacobian"] + 3 * grouped.evaluations["constraints"] + 5


def test_value_and_gradient_may_be_a_list_as_in_scipy():
    assert tangor.minimize(lambda x: [x @ x, 2 * x], [1.0, 2.0], jac=True).success


def test_linear_constraints_call_nobody():
    result = tangor.minimize(lambda x: x @ x, [3.0, 1.0], jac=lambda x: 2 * x, constraints=LinearConstraint([[1, 1]], 1, 1))
    np.testing.assert_allclose(result.x, [0.5, 0.5], atol=1e-8)
    assert result.evaluations["constraints"] > 0


def test_differences_never_leave_the_bounds():
    lower, upper = np.array([0.0, 1.0, -2.0]), np.array([1.0, 1.0 + 1e-9, 3.0])
    seen = []

    def fun(x):
        seen.append(np.array(x))
        return np.sqrt(x[0]) + (x[1] - 3) ** 2 + np.log(x[2] + 2.0001)

    for scheme in ("2-point", "3-point"):
        tangor.minimize(fun, [0.5, 1.0, 1.0], jac=scheme, bounds=Bounds(lower, upper), options={"maxiter": 50})
    assert all(np.all(x >= lower) and np.all(x <= upper) for x in seen)


@pytest.mark.parametrize("scheme, digits", [("2-point", 5e-7), ("3-point", 1e-9), ("cs", 1e-14)])
def test_differences_are_as_good_as_they_can_be(scheme, digits):
    problem = tangor.Problem([0.3, 0.7], f=lambda x: np.exp(x[0]) * np.sin(x[1]), grad=scheme)
    expected = [np.exp(0.3) * np.sin(0.7), np.exp(0.3) * np.cos(0.7)]
    np.testing.assert_allclose(problem.grad([0.3, 0.7]), expected, rtol=digits)


def test_callbacks_see_rows_and_may_stop():
    rows = []

    def watch(row):
        rows.append(row)
        return row.iteration == 3

    result = tangor.minimize(**hs71(), callback=watch)
    assert [row.iteration for row in rows] == [0, 1, 2, 3] and result.stop == "user"
    assert rows[0].x.shape == (4,) and rows[2].rho >= rows[1].rho

    def stop(row):
        raise StopIteration

    assert tangor.minimize(**hs71(), callback=stop).stop == "user"


class Kept:
    """Callbacks of SciPy's kinds, as functions and as methods."""

    def __init__(self):
        self.seen = []

    def pair(self, xk, state):
        self.seen.append((xk, state))
        return state.nit == 3

    def point(self, xk):
        self.seen.append(xk)

    def result(self, *, intermediate_result):
        self.seen.append(intermediate_result)
        if intermediate_result.nit == 3:
            raise StopIteration

    def row(self, row, log=()):
        self.seen.append(row)
        return np.bool_(row.iteration == 3)


def test_callbacks_of_scipys_kinds():
    kept = {name: Kept() for name in ("pair", "point", "result", "row")}
    stops = {name: tangor.minimize(**hs71(), callback=getattr(one, name)).stop for name, one in kept.items()}
    assert stops == {"pair": "user", "point": "tolerance", "result": "user", "row": "user"}
    rows = kept["row"].seen
    for row, (xk, state), point, result in zip(rows, kept["pair"].seen, kept["point"].seen, kept["result"].seen, strict=False):
        np.testing.assert_array_equal([xk, state.x, point, result.x], [row.x] * 4)
        assert state.fun == result.fun == row.fun and state.optimality == row.stationarity and state.constr_violation == row.feasibility
    assert len(rows) == len(kept["pair"].seen) == 4
    # SciPy passes callbacks on as they are.
    again = Kept()
    scipy.optimize.minimize(**hs71(), method=tangor.scipy_method, callback=again.pair)
    assert len(again.seen) == 4
    solver = tangor.Solver(tangor.collection["HS71"])
    solver.run(callback=Kept().pair)
    assert solver.stop == "user"
    with pytest.raises(TypeError, match="callback needs 3 arguments, a, b, c"):
        tangor.minimize(**hs71(), callback=lambda a, b, c: None)


class Weird(Exception):
    pass


def raiser(after):
    """Gives numbers for some calls, then raises."""
    calls = []

    def fun(x):
        calls.append(1)
        if len(calls) > after:
            raise Weird("this is mine")
        return float(x @ x)

    return fun


@pytest.mark.parametrize("after", [0, 1, 5])
def test_exceptions_come_back_as_themselves(after):
    with pytest.raises(Weird, match="this is mine") as caught:
        tangor.minimize(raiser(after), [3.0, 4.0])
    assert any(entry.name == "fun" for entry in caught.traceback)
    jac = raiser(after)
    with pytest.raises(Weird):
        tangor.minimize(lambda x: (x**4).sum(), [3.0, 4.0], jac=lambda x: jac(x) * x)
    if after:
        with pytest.raises(Weird):
            tangor.minimize(lambda x: x @ x, [3.0, 4.0], constraints={"type": "eq", "fun": raiser(after)})
    with pytest.raises(Weird):
        tangor.minimize(**hs71(), callback=lambda row: raiser(0)(row.x))


def test_a_point_without_a_value_shortens_the_step():
    def fun(x):
        if x[0] <= 0:
            raise tangor.Undefined("the logarithm of a negative number")
        return x[0] - np.log(x[0])

    result = tangor.minimize(fun, [8.0], jac=lambda x: 1 - 1 / x)
    assert result.success and result.x == pytest.approx([1.0], abs=1e-5)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = tangor.minimize(lambda x: x[0] - np.log(x[0]), [8.0], jac=lambda x: 1 - 1 / x)
    assert result.success


def test_a_value_that_is_too_large_is_none():
    """`math.exp` raises where NumPy gives an infinity; an objective that is flat at its start is looked at far away."""
    result = tangor.minimize(lambda x: -math.exp(x[0]), [-40.0], jac=lambda x: np.array([-math.exp(x[0])]))
    assert result.point == "unbounded" and not result.success, result.message


def test_control_c_gives_the_best_point():
    going = threading.Event()
    calls = []

    def interrupt():
        going.wait()
        signal.raise_signal(signal.SIGINT)

    def slow(x):
        calls.append(x)
        if len(calls) == 20:
            # Some iterations later, at any speed of the machine.
            going.set()
        time.sleep(0.01)
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    thread = threading.Thread(target=interrupt)
    thread.start()
    result = tangor.minimize(slow, [-1.2, 1.0], options={"maxiter": 100000}, tol=1e-300)
    thread.join()
    assert result.stop == "user" and np.isfinite(result.fun) and result.fun < 24.3


def test_other_threads_run_while_rust_works():
    """A run without callbacks holds no lock: a thread goes on counting."""
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.0005)

    problem = tangor.collection["CHAIN"] if "CHAIN" in tangor.collection else tangor.collection[list(tangor.collection)[-1]]
    thread = threading.Thread(target=count)
    thread.start()
    before = time.perf_counter()
    while time.perf_counter() < before + 0.3:
        tangor.minimize(problem, limits={"iterations": 200})
    done.set()
    thread.join()
    assert counted[0] > 50


def test_results_are_pickled():
    result = tangor.minimize(**hs71())
    again = pickle.loads(pickle.dumps(result))
    assert again.keys() == result.keys() - {"problem_object"}
    np.testing.assert_array_equal(again.x, result.x)
    assert str(again) == str(result) and type(again) is tangor.Result


def test_pictures_and_frames():
    problem = tangor.Problem(
        [-1.0, 1.0], f=lambda x: (x[0] - 2) ** 2 + x[1] ** 2, c=lambda x: x @ x, c_upper=1.0, variable_names=["a", "b"]
    )
    result = tangor.minimize(problem)
    figure = result.plot()
    assert len(figure.axes) == 3 and figure.axes[2].get_xlabel() == "a"
    assert len(tangor.minimize(**hs71()).plot().axes) == 2
    frame = result.to_frame()
    assert list(frame["iteration"]) == list(range(result.nit + 1)) and {"rho", "eta", "x0"} <= set(frame.columns)


def test_pictures_stay_inside_of_the_bounds():
    seen = []
    result = tangor.minimize(lambda x: (seen.append(x.copy()), (x[0] - 1) ** 2 + x[1] ** 2)[1], [0.5, 0.5], bounds=[(0, 0.75), (0.25, 2)])
    result.plot()
    low, high = np.min(seen, axis=0), np.max(seen, axis=0)
    assert len(seen) > 400 and low.min() >= 0 and low[1] >= 0.25 and high[0] <= 0.75 and high[1] <= 2


def test_progress_shows_a_bar(capsys):
    tangor.minimize(**hs71(), progress=True)
    assert "iterations" in capsys.readouterr().err


def test_disp_prints(capsys):
    tangor.minimize(**hs71(), options={"disp": True})
    assert "17.014" in capsys.readouterr().out


# -- large problems: the solver's memory without copies ------------------------------------------------------------------------------
N = 50_000


def test_large_points_are_the_solvers_memory():
    places, owned, outs = Counter(), Counter(), Counter()
    weights = 1.0 + 9.0 * np.arange(N) / N

    def fun(x):
        if not x.flags.owndata:
            places[x.__array_interface__["data"][0]] += 1
            assert not x.flags.writeable
        owned[x.flags.owndata] += 1
        return 0.5 * float(weights @ (x * x))

    def grad(x, *, out):
        outs[None if out.flags.owndata else out.__array_interface__["data"][0]] += 1
        np.multiply(weights, x, out=out)

    result = tangor.minimize(fun, np.arange(N) / N, jac=grad)
    assert result.success and np.abs(result.x).max() < 1e-6 and places.total() > 10
    # The points are where the solver has them (the current point, the trial and a corrected trial), however many there are. Copies are the
    # best point, which is evaluated once more for the report, and the first array to write into, which tells whether it is kept.
    assert owned[True] <= 1 and len(places) <= 3 and outs[None] <= 2 and len(outs) <= 3


def test_kept_arrays_are_safe_and_keep_their_values():
    kept, parts, outs = [], [], []

    def fun(x):
        kept.append((x, float(x[-1])))
        parts.append(x[10:20])
        return 0.25 * float((x**4).sum())

    def grad(x, *, out):
        outs.append(out)
        out[:] = x**3

    result = tangor.minimize(fun, np.arange(N) / N, jac=grad)
    assert result.nit > 2
    del result
    gc.collect()
    np.random.default_rng(0).normal(size=5 * N)
    assert all(x[-1] == last for x, last in kept) and len(kept) > 2
    assert all(np.isfinite(part).all() for part in parts) and all(np.isfinite(out).all() for out in outs)


def test_small_points_are_arrays_of_their_own():
    kept = []

    def fun(x):
        kept.append((x, x.copy()))
        return float(x @ x)

    tangor.minimize(fun, [3.0, 4.0], jac=lambda x: 2 * x)
    assert all(np.array_equal(a, b) for a, b in kept)

    def vandal(x):
        value = float(x @ x)
        x[:] = np.nan
        return value

    assert tangor.minimize(vandal, [3.0, 4.0], jac=lambda x: 2 * x).success
