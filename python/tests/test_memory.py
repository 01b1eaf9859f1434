"""What a run holds is given back: no cycle of references keeps it, and what does not fit into memory is refused."""

import gc
import weakref

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint
from scipy.sparse import csr_array

import tangor


class Simulation:
    """An object whose methods are the functions of a problem that it keeps."""

    def f(self, x):
        return float(x @ x)

    def gradient(self, x):
        return 2 * x

    def c(self, x):
        return x[0]

    def evaluate(self, x):
        return self.f(x), 2 * x, [x[0]], [[1.0, 0.0]]

    def sample(self, x, draws):
        return 2 * x + np.random.default_rng(draws[0]).normal(size=2), None, None

    def keep_problem(self):
        self.problem = tangor.Problem([1.0, 2.0], f=self.f, grad=self.gradient, c=self.c, c_lower=0)

    def keep_fused(self):
        self.problem = tangor.Problem([1.0, 2.0], evaluate=self.evaluate, threads=2)
        tangor.minimize(self.problem, [3.0, 4.0])

    def keep_solver(self):
        self.solver = tangor.Solver(tangor.Problem([1.0, 2.0], f=self.f))
        self.solver.step()

    def keep_result(self):
        self.result = tangor.minimize(self.f, [1.0, 2.0], callback=lambda row: self.f(row.x) < 0)

    def keep_noisy_result(self):
        self.result = tangor.minimize_sampled(self.sample, [1.0, 2.0], samples=1000)


@pytest.mark.parametrize("keep", [name for name in dir(Simulation) if name.startswith("keep_")])
def test_an_object_whose_problem_has_its_methods_is_collected(keep):
    simulation = Simulation()
    getattr(simulation, keep)()
    still_there = weakref.ref(simulation)
    del simulation
    gc.collect()
    assert still_there() is None


def test_a_collected_cycle_leaves_others_alone():
    simulation = Simulation()
    simulation.keep_problem()
    problem = simulation.problem._starting_at(np.array([3.0, 4.0]))
    del simulation
    gc.collect()
    assert problem.f([3.0, 4.0]) == 25.0 and tangor.minimize(problem).success


N = 12_000


def test_a_function_that_keeps_parts_of_its_argument_is_collected():
    # Above 10,000 variables a function looks at the solver's own memory, which lives as long as the parts that it keeps.
    def minimise():
        kept, outs = [], []

        def f(x):
            kept.append(x[:3])
            return float(x @ x)

        def gradient(x, *, out):
            if len(kept) > 1:
                outs.append(out[:3])
            np.multiply(2, x, out=out)

        tangor.minimize(f, np.ones(N), jac=gradient)
        assert len(kept[0]) == len(outs[0]) == 3
        return weakref.ref(f)

    still_there = minimise()
    gc.collect()
    assert still_there() is None


class Keeping:
    """Keeps parts of the arrays that it gets, the numbers that they have then, and where they are."""

    def __init__(self, every=1):
        self.every, self.seen, self.calls, self.places = every, [], 0, set()

    def __call__(self, x):
        self.calls += 1
        self.places.add(x.__array_interface__["data"][0])
        if self.calls % self.every == 0:
            self.seen.append((x[10:20], x[10:20].copy(), memoryview(x)[:5], list(x[:5]), x, float(x[-1])))

    def check(self):
        assert self.seen
        for part, values, view, first, whole, last in self.seen:
            np.testing.assert_array_equal(part, values)
            assert list(view) == first and whole[-1] == last


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("linear", [False, True])
def test_parts_that_are_kept_do_not_change(every, linear):
    weights = 1.0 + 9.0 * np.arange(N) / N
    keep = [Keeping(every) for _ in range(4)]

    def f(x):
        keep[0](x)
        return 0.25 * float(weights @ x**4)

    def gradient(x):
        keep[1](x)
        return weights * x**3

    def c(x):
        keep[2](x)
        return x @ x / N

    def jac(x):
        keep[3](x)
        return 2 * x / N

    # With linear rows functions are evaluated before the solver has any memory.
    rows = [NonlinearConstraint(c, 0.1, 0.5, jac), *([LinearConstraint(csr_array(np.ones((1, N))), 1, np.inf)] if linear else [])]
    result = tangor.minimize(f, np.arange(N) / N, jac=gradient, constraints=rows, tol=1e-300, options={"maxiter": 40})
    assert result.nit > 5
    del result
    for one in keep:
        one.check()


def test_parts_stay_when_a_function_raises_or_the_run_never_begins():
    for at in (1, 2, 5):
        keep, calls = Keeping(), []

        def gradient(x):
            keep(x)
            calls.append(1)
            if len(calls) == at:
                raise ZeroDivisionError
            return x**3

        with pytest.raises(ZeroDivisionError):
            tangor.minimize(lambda x: keep(x) or 0.25 * float((x**4).sum()), np.arange(N) / N, jac=gradient)
        gc.collect()
        keep.check()


def test_parts_of_points_of_noisy_problems_do_not_change():
    keep = Keeping(3)

    def evaluate(x, draws):
        keep(x)
        return x - 1 + 0.1 * np.random.default_rng(draws[0]).normal(), [x.sum() / N], np.full((1, N), 1 / N)

    tangor.minimize_sampled(evaluate, np.zeros(N), c_upper=0.5, samples=600, tol=1e-3)
    keep.check()


def test_memory_is_used_again_once_nobody_looks():
    keep = Keeping(every=10**9)
    tangor.minimize(lambda x: keep(x) or 0.25 * float((x**4).sum()), np.arange(N) / N, jac=lambda x: x**3)
    assert keep.calls > 20 and len(keep.places) <= 4


def test_who_keeps_what_it_wrote_has_copies():
    outs, values = [], []

    def gradient(x, *, out):
        out[:] = x**3
        outs.append(out[:3])
        values.append(out[:3].copy())

    tangor.minimize(lambda x: 0.25 * float((x**4).sum()), np.arange(N) / N, jac=gradient)
    assert len(outs) > 5
    np.testing.assert_array_equal(outs, values)


def test_a_jacobian_that_does_not_fit_is_refused():
    rows = np.zeros(3_000_000)
    problem = tangor.Problem(np.zeros(3_000_000), f=lambda x: 0.0, c=lambda x: rows)
    with pytest.raises(MemoryError, match="the Jacobian with 9000000000000 entries would need 72.0 TB"):
        problem.jac(problem.x0)
    with pytest.raises(MemoryError, match="would need"):
        tangor.check_derivatives(problem)
    with pytest.raises(MemoryError, match="9000000000000 entries of its Jacobian would need"):
        tangor.minimize(problem)
