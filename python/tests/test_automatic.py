"""Functions of JAX and torch."""

import doctest

import numpy as np
import pytest

import tangor


def solved(problem):
    assert tangor.check_derivatives(problem)
    result = tangor.minimize(problem)
    assert result.success and result.fun == pytest.approx(17.0140173, rel=1e-8)


def test_functions_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    calls = []

    def f(x):
        calls.append(1)
        return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]

    limits = dict(bounds=[(1, 5)] * 4, c_lower=[25, 40], c_upper=[np.inf, 40])
    solved(tangor.from_jax(f, lambda x: jnp.array([jnp.prod(x), x @ x]), x0=[1.0, 5.0, 5.0, 1.0], **limits))
    # Compiled: Python's function is only traced.
    assert len(calls) <= 4


def test_functions_of_torch():
    torch = pytest.importorskip("torch")
    limits = dict(bounds=[(1, 5)] * 4, c_lower=[25, 40], c_upper=[np.inf, 40])
    problem = tangor.from_torch(
        lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], lambda x: torch.stack([x.prod(), x @ x]), x0=[1.0, 5.0, 5.0, 1.0], **limits
    )
    solved(problem)


@pytest.mark.parametrize("package, function", [("jax", tangor.from_jax), ("torch", tangor.from_torch)])
def test_the_examples_of_docstrings_run_where_their_package_is_there(package, function):
    pytest.importorskip(package)
    (examples,) = doctest.DocTestFinder().find(function, function.__name__)
    for example in examples.examples:
        example.options.pop(doctest.SKIP)
    outcome = doctest.DocTestRunner().run(examples)
    assert outcome.failed == 0 and outcome.attempted == 2


def test_an_objective_of_several_numbers_is_refused():
    pytest.importorskip("jax")
    with pytest.raises(ValueError, match="gave 2 numbers, but must give one"):
        tangor.minimize(tangor.from_jax(lambda x: x, x0=[1.0, 2.0]))
    with pytest.raises(TypeError, match="f is an int"):
        tangor.from_jax(3, x0=[1.0])


def test_functions_of_jax_may_give_lists_but_not_nothing():
    jnp = pytest.importorskip("jax.numpy")
    problem = tangor.from_jax(lambda x: ((x - 1) ** 2).sum(), lambda x: [x[0], jnp.sin(x[1])], x0=[0.0, 0.0], c_upper=[0.5, 0.0])
    result = tangor.minimize(problem)
    assert result.success and result.x == pytest.approx([0.5, 0.0], abs=1e-6)
    with pytest.raises(TypeError, match="a function gave a NoneType, which JAX cannot differentiate"):
        tangor.minimize(tangor.from_jax(lambda x: None, x0=[1.0]))


def test_torch_functions_that_are_cut_off_are_refused():
    torch = pytest.importorskip("torch")

    def f(x):
        return ((x - 1) ** 2).sum()

    # Numbers of a list are put together, and a parameter of a model is a start like any other.
    start = torch.nn.Parameter(torch.zeros(2))
    result = tangor.minimize(tangor.from_torch(f, lambda x: [x[0], x[1]], x0=start, c_upper=0.5))
    assert result.success and result.x == pytest.approx([0.5, 0.5])
    for cut in (lambda x: f(x).item(), lambda x: float(f(x)), lambda x: f(x).detach()):
        with pytest.raises(TypeError, match="cannot (be )?differentiate"):
            tangor.from_torch(cut, x0=[0.0, 0.0])
    with pytest.raises(TypeError, match="the constraints cannot be differentiated"):
        tangor.from_torch(f, lambda x: torch.tensor([x[0], x[1]]), x0=[0.0, 0.0])


def test_a_tensor_that_requires_its_gradient_is_refused_with_what_to_do():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"the gradient of the objective gave a Tensor, but must give numbers: .*detach\(\)"):
        tangor.minimize(lambda x: float(x @ x), [1.0, 2.0], jac=lambda x: torch.tensor(2 * x, requires_grad=True))
    # Without it tensors are numbers, in single precision, too.
    single = tangor.minimize(lambda x: torch.tensor(x @ x), [1.0, 2.0], jac=lambda x: torch.tensor(2 * x, dtype=torch.float32))
    assert single.success
