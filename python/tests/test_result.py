"""What a result tells besides the point: numbers for SciPy's users, sentences for people."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

import tangor


def contradiction(x):
    return [x[0], x[0] - 1.0]


@pytest.mark.parametrize(
    "given, stop, point",
    [
        (dict(fun=lambda x: x @ x), "tolerance", "eps_kkt"),
        (dict(fun=lambda x: x @ x, constraints={"type": "eq", "fun": contradiction}), "tolerance", "eps_infeasible_stationary"),
        (dict(fun=lambda x: x[0]), "unbounded", "unbounded"),
        (dict(fun=lambda x: np.exp(x[0]) - 5 * x[0], options={"maxiter": 1}), "iterations", "feasible"),
    ],
)
def test_status_is_zero_only_for_success(given, stop, point):
    result = tangor.minimize(x0=[1.0], **given)
    assert (result.stop, result.point) == (stop, point)
    assert result.success == (result.status == 0) == (point == "eps_kkt")


def test_every_stop_has_a_number_of_its_own():
    from tangor._result import STATUS

    assert len(set(STATUS.values())) == len(STATUS) and 0 not in STATUS.values()


def test_linear_constraints_are_known_to_be_linear():
    linear = LinearConstraint([[1.0, 0.0], [1.0, 1.0]], -np.inf, [1.0, 2.0])
    curved = NonlinearConstraint(lambda x: x @ x, -np.inf, 100.0)
    given = dict(fun=lambda x: (x - 3) @ (x - 3), x0=[0.0, 0.0], constraints=[linear, curved])
    result = tangor.minimize(**given)
    assert result.problem_object._data["linear_rows"] == [True, True, False]
    # A row of one variable becomes a bound before the run, and gets its multiplier back.
    again = tangor.minimize(**given, presolve=True)
    for one in (result, again):
        np.testing.assert_allclose(one.x, [1.0, 1.0], atol=1e-5)
        np.testing.assert_allclose(np.concatenate(one.v), [0.0, 4.0, 0.0], atol=1e-4)


def test_a_noisy_run_tells_no_objective_that_it_does_not_know():
    def evaluate(x, draws):
        return x - np.mean(draws % 3), None, None

    result = tangor.minimize_sampled(evaluate, [0.0], members=300, samples=20_000)
    assert np.isnan(result.fun)
    for told in (str(result), result._repr_html_()):
        assert "unknown" in told and "nan" not in told and "samples" in told and "of the objective" not in told


def test_one_is_not_many():
    told = str(tangor.minimize(lambda x: x @ x, [1.0], jac=lambda x: 2 * x, options={"maxiter": 1}))
    assert "  1 iteration, " in told


def test_a_picture_says_what_was_found_in_words():
    pytest.importorskip("matplotlib").use("Agg")
    given = dict(fun=lambda x: np.exp(x[0]) - 5 * x[0], x0=[1.0])
    for options, expected in (({}, "a KKT point within the tolerances after "), ({"maxiter": 1}, "not solved, but feasible after 1 iteration")):
        figure = tangor.minimize(**given, options=options).plot()
        assert expected in figure.get_suptitle()
        assert all(tick == round(tick) for tick in figure.axes[0].get_xticks())
        labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
        assert labels == ["stationarity", "feasibility: 0", "complementarity: 0"]


@pytest.mark.parametrize("backend, goes_on", [("module://matplotlib_inline.backend_inline", False), ("agg", True)])
def test_a_notebook_shows_a_picture_once(monkeypatch, backend, goes_on):
    """At the end of a cell a notebook shows the figures that pyplot has: not those that it has shown as the value of the cell."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = tangor.minimize(lambda x: x @ x, [1.0]).plot()
    assert plt.fignum_exists(figure.number)
    monkeypatch.setattr(matplotlib, "get_backend", lambda: backend)
    # By this exception IPython knows that it is to show the figure as any other.
    with pytest.raises(NotImplementedError):
        figure._ipython_display_()
    assert plt.fignum_exists(figure.number) == goes_on
    plt.close(figure)


def test_where_there_is_nothing_to_minimise_no_objective_is_shown():
    result = tangor.minimize(tangor.Problem([1.0, 0.5], c=lambda x: [x @ x], jac=lambda x: [2 * x], c_lower=1, c_upper=1))
    assert result.success
    for shown in (str(result), result._repr_html_()):
        assert "none: only constraints to satisfy" in shown
