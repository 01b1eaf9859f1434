"""How often and where the user's functions are called, and patterns that are checked before they are relied on."""

import numpy as np
import pytest
from scipy.optimize import Bounds, NonlinearConstraint
from scipy.sparse import csr_array, eye_array

import tangor


class Counting:
    """A function that keeps the points of its calls."""

    def __init__(self, function):
        self.function, self.points = function, []

    def __call__(self, x):
        self.points.append(tuple(x))
        return self.function(x)

    def repeated(self):
        return len(self.points) - len(set(self.points))


def hs71(sparse=False):
    def evaluate(x):
        jac = np.array([np.prod(x) / x, 2 * x])
        gradient = np.array([x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * (x[0] + x[1] + x[2])])
        return x[0] * x[3] * x[:3].sum() + x[2], gradient, np.array([np.prod(x), x @ x]), csr_array(jac) if sparse else jac

    return Counting(evaluate)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_function_for_all_is_called_once_for_each_point(sparse):
    evaluate = hs71(sparse)
    problem = tangor.Problem([1, 5, 5, 1], evaluate=evaluate, bounds=Bounds(1, 5), c_lower=[25, 40], c_upper=[np.inf, 40])
    result = tangor.minimize(problem)
    assert result.success and evaluate.repeated() == 0
    assert result.nfev == len(evaluate.points) - sparse
    np.testing.assert_allclose(result.jac, evaluate.function(result.x)[1], rtol=1e-12)
    # A second run of the same problem calls it anew: what it gives may have changed meanwhile.
    before = len(evaluate.points)
    again = tangor.minimize(problem)
    np.testing.assert_array_equal(again.x, result.x)
    assert len(evaluate.points) - before == again.nfev == result.nfev


def test_a_function_for_all_that_uses_its_arrays_again():
    gradient, c, jac = np.empty(2), np.empty(1), np.empty((1, 2))

    def evaluate(x):
        gradient[:], c[:], jac[:] = 1.0, x @ x, 2 * x
        return x.sum(), gradient, c, jac

    problem = tangor.Problem([1.0, 0.5], evaluate=evaluate, c_lower=1, c_upper=1)
    np.testing.assert_allclose(tangor.minimize(problem).x, -np.sqrt(0.5), atol=1e-5)


def test_constraints_are_not_called_again_to_learn_their_shape():
    c, jac = Counting(lambda x: x @ x), Counting(lambda x: 2 * x)
    result = tangor.minimize(lambda x: x.sum(), [1.0, 0.5], jac=lambda x: np.ones(2), constraints=NonlinearConstraint(c, 1, 1, jac))
    assert result.success and c.points.count((1.0, 0.5)) == 1 and jac.points.count((1.0, 0.5)) == 1


def chain(x):
    """Row i depends on x[i] and x[i + 1]; the last one also on x[0]."""
    c = x[:-1] * x[1:] + x[:-1]
    c[-1] += 0.1 * x[0]
    return c


def pattern_of_chain(n, complete):
    pattern = np.zeros((n - 1, n))
    for i in range(n - 1):
        pattern[i, i : i + 2] = 1
    pattern[-1, 0] = complete
    return csr_array(pattern)


@pytest.mark.parametrize("n", [3, 4, 12, 101])
@pytest.mark.parametrize("jac", ["2-point", "3-point"])
def test_a_pattern_that_lacks_an_entry_is_refused(n, jac):
    def run(complete, x0):
        rows = NonlinearConstraint(chain, 0, 0, jac=jac, finite_diff_jac_sparsity=pattern_of_chain(n, complete))
        return tangor.minimize(lambda x: ((x - 1) ** 2).sum(), x0, jac=lambda x: 2 * (x - 1), constraints=rows, options={"maxiter": 3})

    # At zero all products vanish, and entries with them.
    for x0 in (np.zeros(n), np.linspace(1, 2, n)):
        with pytest.raises(ValueError, match=rf"constraints\[0\] .*row {n - 2}, column 0$"):
            run(False, x0)
        run(True, x0)


def test_patterns_of_later_blocks_and_problems_are_checked_too():
    good = NonlinearConstraint(lambda x: x - 1, 0, 0, finite_diff_jac_sparsity=eye_array(3))
    bad = NonlinearConstraint(lambda x: [x[0], x[1] + x[2] ** 2], 0, 1, finite_diff_jac_sparsity=[[1, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match=r"constraints\[1\] depends on variable 2 in row 1"):
        tangor.minimize(lambda x: x @ x, [1.0, 2.0, 3.0], constraints=[good, bad])
    with pytest.raises(ValueError, match="row 0, column 1"):
        tangor.Problem([1.0, 2.0], f=lambda x: x @ x, c=lambda x: x[0] * x[1], sparsity=[[1, 0]])


def test_a_pattern_is_not_doubted_without_reason():
    def steep(x):
        # Curved, with a kink nearby, and fixed variables and bounds in the way.
        return np.array([np.exp(20 * x[0]), abs(x[1] - 1e-4), 1e6 * x[2] ** 3, 0.0 * x[0] + 7])

    rows = NonlinearConstraint(steep, -np.inf, np.inf, finite_diff_jac_sparsity=csr_array(([1, 1, 1], ([0, 1, 2], [0, 1, 2])), shape=(4, 3)))
    bounds = [(None, 1.0), (0.0, None), (1.0, 1.0)]
    assert tangor.minimize(lambda x: x @ x, [1.0, 0.0, 1.0], bounds=bounds, constraints=rows).x[1] < 1e-6


def test_a_pattern_is_not_looked_at_where_functions_have_no_value():
    rows = NonlinearConstraint(lambda x: np.log(1.0 - x), -1e3, 0, finite_diff_jac_sparsity=eye_array(2))
    with np.errstate(all="ignore"):
        assert tangor.minimize(lambda x: x @ x, [0.9999, 0.9999], constraints=rows).success
