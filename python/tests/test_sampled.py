"""Noise: draws, populations, confidence."""

import pickle
import time

import numpy as np
import pytest

import tangor

CENTRE = np.array([1.0, -0.5])


def noise(draws):
    """The same draw, the same numbers."""
    return np.array([np.random.default_rng(int(draw)).normal(size=2) for draw in draws]).reshape(-1, 2).mean(axis=0)


def gradient(x, draws):
    return x - CENTRE + 0.1 * noise(draws)


def circle(**changes):
    """minimise |x - centre|^2 / 2 inside of the circle of radius 1/2; the solution is centre / |centre| / 2."""
    given = dict(
        gradient=gradient,
        constraints=lambda x, draws: [x @ x],
        jacobian=lambda x, draws: [2 * x],
        exact=("constraints", "jacobian"),
        c_upper=0.25,
    )
    return tangor.SampledProblem([0.2, 0.3], **{**given, **changes})


SOLUTION = 0.5 * CENTRE / np.linalg.norm(CENTRE)


def test_a_noisy_objective_under_an_exact_constraint():
    result = tangor.minimize_sampled(circle(), samples=40_000)
    np.testing.assert_allclose(result.x, SOLUTION, atol=0.02)
    assert result.verdict["confidence"] == 0.95 and result.samples["gradient"] <= 40_000
    # The tolerance was chosen from the noise, and the result says what was certified.
    assert 1e-4 < result.tolerance["stationarity"] < 0.1 and "margin" in result.tolerance["chosen"]
    assert result.certified["stationarity"] >= result.stationarity
    assert "with confidence 0.95" in str(result)


def test_verification_on_fresh_samples():
    problem = circle()
    result = tangor.minimize_sampled(problem, samples=40_000)
    verdict = tangor.verify(result, samples=4000)
    assert verdict["stationarity"]["upper"] < 0.1 and verdict["samples"] >= 4000
    again = pickle.loads(pickle.dumps(result))
    with pytest.raises(TypeError, match="does not know its problem"):
        tangor.verify(again)
    assert tangor.verify(again, problem, samples=4000) == verdict


def test_same_seed_same_bits():
    one, two = (tangor.minimize_sampled(circle(), samples=5000, seed=3) for _ in range(2))
    other = tangor.minimize_sampled(circle(), samples=5000, seed=4)
    np.testing.assert_array_equal(one.x, two.x)
    assert not np.array_equal(one.x, other.x)


def test_one_function_for_all_three_gives_the_same_bits():
    calls = []

    def evaluate(x, draws):
        calls.append(draws)
        return gradient(x, draws), [x @ x], [2 * x]

    together = tangor.minimize_sampled(circle(gradient=None, constraints=None, jacobian=None, evaluate=evaluate), samples=5000)
    apart = tangor.minimize_sampled(circle(), samples=5000)
    np.testing.assert_array_equal(together.x, apart.x)
    assert all(draws.dtype == np.uint64 for draws in calls)


def test_the_objective_may_come_along_with_all_three():
    calls = []

    def objective(x, draws):
        return 0.5 * (x - CENTRE) @ (x - CENTRE)

    def evaluate(x, draws):
        calls.append(x.copy())
        return objective(x, draws), gradient(x, draws), [x @ x], [2 * x]

    ones = {"gradient": None, "constraints": None, "jacobian": None}
    together = tangor.minimize_sampled(circle(**ones, evaluate=evaluate), samples=5000)
    asked = len(calls)
    own = tangor.minimize_sampled(circle(**ones, evaluate=lambda x, draws: evaluate(x, draws)[1:], objective=objective), samples=5000)
    np.testing.assert_array_equal(together.x, own.x)
    assert np.isfinite(together.fun) and together.fun == own.fun
    assert asked <= len(calls) - asked, "values of the objective cost no call"
    problem = circle(**ones, evaluate=evaluate)
    assert problem.f([0.0, 0.0], [1, 2]) == objective(np.zeros(2), None)

    def sample(x, rng):
        return 1.0, x - CENTRE + 0.1 * rng.normal(size=2), None, None

    result = tangor.minimize_sampled(tangor.SampledProblem([0.0, 0.0], sample=sample), samples=5000)
    assert result.fun == 1.0
    for wrong in (lambda x, draws: (1.0, 2.0), lambda x, draws: [1.0, 2.0, 3.0, 4.0]):
        with pytest.raises(TypeError, match="or the objective and these three"):
            tangor.SampledProblem([0.0, 0.0], wrong)


def test_finite_populations_see_their_members_only():
    data = np.random.default_rng(1).normal(size=(50, 2)) + CENTRE
    seen = set()

    def evaluate(x, draws):
        seen.update(int(draw) for draw in draws)
        return x - data[draws.astype(int)].mean(axis=0), None, None

    problem = tangor.SampledProblem([0.0, 0.0], evaluate, members=50)
    result = tangor.minimize_sampled(problem, samples=50_000)
    assert seen == set(range(50))
    np.testing.assert_allclose(result.x, data.mean(axis=0), atol=1e-2)
    assert result.success


def test_functions_and_objects_are_problems_too():
    def evaluate(x, draws):
        return gradient(x, draws), None, None

    result = tangor.minimize_sampled(evaluate, [0.0, 0.0], samples=20_000, bounds=[(0, 0.5), (None, None)])
    np.testing.assert_allclose(result.x, [0.5, -0.5], atol=0.05)

    class Mine:
        x0 = (0.0, 0.0)
        bounds = [(0, 0.5), (None, None)]

        def sample(self, x, rng):
            return x - CENTRE + 0.1 * rng.normal(size=2), None, None

        def objective(self, x, draws):
            return float(0.5 * (x - CENTRE) @ (x - CENTRE))

    result = tangor.minimize_sampled(Mine(), samples=20_000)
    np.testing.assert_allclose(result.x, [0.5, -0.5], atol=0.05)
    assert np.isfinite(result.fun)


def test_the_objective_has_an_error_bar():
    def objective(x, draws):
        return float(0.5 * (x - CENTRE) @ (x - CENTRE) + 0.1 * noise(draws) @ x)

    problem = circle(objective=objective)
    result = tangor.minimize_sampled(problem, samples=40_000)
    exact = 0.5 * (result.x - CENTRE) @ (result.x - CENTRE)
    assert 0 < result.fun_error < 0.05 and abs(result.fun - exact) <= result.fun_error
    assert f"+- {result.fun_error:.2g}" in str(result) and "&plusmn;" in result._repr_html_()
    fresh = tangor.verify(result, samples=4000)["objective"]
    assert abs(fresh["value"] - exact) <= fresh["error"]
    # Without values of the objective there is nothing to tell.
    rows = []
    unknown = tangor.minimize_sampled(circle(), samples=5000, callback=rows.append)
    assert unknown.fun_error is None and np.isnan(unknown.fun)
    assert np.isnan([row.fun for row in rows]).all() and np.isnan(unknown.trace["fun"]).all()


def test_the_bar_shows_no_objective_that_nobody_evaluated(capsys):
    pytest.importorskip("tqdm")
    # A bar is drawn anew after a tenth of a second at the earliest: a run that is over before shows nothing.
    tangor.minimize_sampled(circle(), samples=5000, progress=True, callback=lambda row: time.sleep(0.15 if row.iteration < 3 else 0))
    shown = capsys.readouterr().err
    assert "worst residual" in shown and "f =" not in shown


def test_judgements_are_marked_on_the_estimates():
    result = tangor.minimize_sampled(circle(), samples=40_000)
    judged = result.trace["judged_stationarity"]
    assert np.isfinite(judged).any() and np.isnan(judged).any()
    assert judged[np.isfinite(judged)][-1] == result.stationarity
    axes = result.plot().axes[0]
    assert axes.get_title() == "residuals, estimated" and "judged on fresh samples" in [text.get_text() for text in axes.get_legend().texts]


def test_derivatives_are_checked_with_fixed_draws():
    def objective(x, draws):
        return float(0.5 * (x - CENTRE) @ (x - CENTRE) + 0.1 * noise(draws) @ x)

    assert tangor.check_derivatives(circle(objective=objective), draws=[1, 2, 3])
    wrong = circle(objective=objective, gradient=lambda x, draws: 2 * gradient(x, draws), row_names=["disc"])
    check = tangor.check_derivatives(wrong)
    assert not check and check.worst["function"] == "gradient of the objective"
    wrong = circle(jacobian=lambda x, draws: [3 * x], row_names=["disc"])
    assert tangor.check_derivatives(wrong).worst["row"] == "disc"


class Weird(Exception):
    pass


def test_draws_that_are_not_the_randomness_are_found():
    rng = np.random.default_rng(0)
    problem = tangor.SampledProblem(
        [0.0], gradient=lambda x, draws: x, constraints=lambda x, draws: x + 1e-2 * rng.normal(), jacobian=lambda x, draws: [[1.0]], c_upper=1.0
    )
    check = tangor.check_derivatives(problem)
    assert not check and check.unsteady[0]["row"] == "c[0]"
    assert "not the same when asked again: constraints, row c[0]" in str(check)


def test_bad_noisy_problems_are_named():
    def raises(x, draws):
        raise Weird

    cases = [
        (dict(gradient=None, constraints=None, jacobian=None), TypeError, "a function is missing"),
        (dict(jacobian=None), TypeError, "belong together"),
        (dict(members=0), ValueError, "at least 1"),
        (dict(members=2.5), ValueError, "whole number"),
        (dict(exact=("hessian",)), ValueError, "hessian"),
        (dict(constraints=raises), Weird, None),
    ]
    for changes, kind, message in cases:
        with pytest.raises(kind, match=message):
            circle(**changes)
    for changes, kind, message in [
        (dict(gradient=raises), Weird, None),
        (dict(gradient=lambda x, draws: None), TypeError, "gave None"),
        (dict(gradient=lambda x, draws: np.ones((len(draws), 2))), ValueError, "give the average over the draws"),
        (dict(jacobian=lambda x, draws: np.eye(2)), ValueError, r"\(1, 2\) is needed"),
    ]:
        with pytest.raises(kind, match=message):
            tangor.minimize_sampled(circle(**changes), samples=2000)
    with pytest.raises(TypeError, match="must be a SampledProblem"):
        tangor.minimize_sampled(3)
    with pytest.raises(TypeError, match="x0"):
        tangor.minimize_sampled(gradient)
