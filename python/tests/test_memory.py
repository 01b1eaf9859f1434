"""What a run holds is given back: no cycle of references keeps it, and what does not fit into memory is refused."""

import gc
import weakref

import numpy as np
import pytest

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


def test_a_function_that_keeps_parts_of_its_argument_is_collected():
    # Above 10,000 variables a function looks at the solver's own memory, which lives as long as the parts that it keeps.
    def minimise():
        kept = []

        def f(x):
            kept.append(x[:3])
            return float(x @ x)

        tangor.minimize(f, np.ones(12_000), jac=lambda x: 2 * x)
        assert len(kept[0]) == 3
        return weakref.ref(f)

    still_there = minimise()
    gc.collect()
    assert still_there() is None


def test_a_jacobian_that_does_not_fit_is_refused():
    rows = np.zeros(3_000_000)
    problem = tangor.Problem(np.zeros(3_000_000), f=lambda x: 0.0, c=lambda x: rows)
    with pytest.raises(MemoryError, match="the Jacobian with 9000000000000 entries would need 72.0 TB"):
        problem.jac(problem.x0)
    with pytest.raises(MemoryError, match="would need"):
        tangor.check_derivatives(problem)
    with pytest.raises(MemoryError, match="9000000000000 entries of its Jacobian would need"):
        tangor.minimize(problem)
