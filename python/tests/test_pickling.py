"""Problems are pickled as what they were made from."""

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.optimize import Bounds

import tangor


def f(x):
    return x @ x


def grad(x):
    return 2 * x


def c(x):
    return x.sum()


def everything(x):
    return x @ x, 2 * x, np.array([x.sum()]), np.ones((1, x.size))


def sample(x, rng):
    return x - rng.normal(1.0, 0.1, x.size), None, None


def powers(x):
    return (x**4).sum()


MADE = {
    "functions": lambda: tangor.Problem([3.0, 1.0], f=f, grad=grad, c=c, c_lower=1, bounds=Bounds(-5, 5), row_names=["sum"], maximise=False),
    "evaluate": lambda: tangor.Problem([3.0, 1.0], evaluate=everything, c_lower=1.0, c_upper=1.0, threads=2),
    "collection": lambda: tangor.collection["HS71"],
}


@pytest.mark.parametrize("name", MADE)
def test_a_pickled_problem_runs_as_itself(name):
    problem = MADE[name]()
    whole = tangor.minimize(problem)
    for again in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem), copy.copy(problem)):
        assert type(again) is type(problem) and (again.n, again.m, again.name) == (problem.n, problem.m, problem.name)
        assert again.row_names == problem.row_names
        np.testing.assert_array_equal(tangor.minimize(again).x, whole.x)


def test_another_start_is_pickled_too():
    moved = tangor.collection["HS71"]._starting_at(np.array([2.0, 2.0, 2.0, 2.0]))
    again = pickle.loads(pickle.dumps(moved))
    np.testing.assert_array_equal(again.x0, 2.0)
    np.testing.assert_equal(again.known, moved.known)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).x0, 2.0)


def test_files_are_opened_again(tmp_path, monkeypatch):
    file = tmp_path / "SMALL.SIF"
    file.write_text("NAME          SMALL\nVARIABLES\n    X1\nGROUPS\n N  COST      X1        3.0\nENDATA\n")
    monkeypatch.chdir(tmp_path)
    text = pickle.dumps(tangor.read("SMALL.SIF"))
    monkeypatch.chdir("/")
    assert pickle.loads(text).f([2.0]) == 6.0
    file.unlink()
    with pytest.raises(FileNotFoundError, match="SMALL.SIF"):
        pickle.loads(text)


def test_noisy_problems_are_pickled():
    problem = tangor.SampledProblem([0.0, 0.0], sample=sample, bounds=[(0, 0.5), (None, None)], variable_names=["a", "b"])
    again = pickle.loads(pickle.dumps(problem))
    assert again.variable_names == ["a", "b"] and again.exact == problem.exact
    one, two = (tangor.minimize_sampled(each, samples=3000) for each in (problem, again))
    np.testing.assert_array_equal(one.x, two.x)


def test_a_problem_travels_to_another_process():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = pool.submit(tangor.minimize, MADE["functions"]()).result()
    assert result.success and "problem_object" not in result


def test_subclasses_keep_what_they_added():
    problem = Mine(3)
    again = pickle.loads(pickle.dumps(problem))
    assert again.size == 3 and again.n == 3 and again.f(np.ones(3)) == 3.0


class Mine(tangor.Problem):
    def __init__(self, size):
        super().__init__(np.ones(size), f=f, grad=grad)
        self.size = size


def test_what_cannot_be_pickled_says_so():
    inner = tangor.minimize(f, [1.0]).problem_object
    with pytest.raises(TypeError, match="made for one run"):
        pickle.dumps(inner)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(tangor.Problem([1.0], f=lambda x: x @ x))


def test_functions_of_torch_and_jax_are_pickled():
    found = 0
    for package, make in (("torch", tangor.from_torch), ("jax", tangor.from_jax)):
        try:
            __import__(package)
        except ImportError:
            continue
        found += 1
        problem = make(powers, x0=[1.0, 2.0])
        again = pickle.loads(pickle.dumps(problem))
        np.testing.assert_array_equal(tangor.minimize(again).x, tangor.minimize(problem).x)
    if not found:
        pytest.skip("neither torch nor JAX is installed")
