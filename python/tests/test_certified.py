"""What fresh samples certify: rows without noise beside noisy ones, and tolerances that are chosen, once and again."""

import numpy as np
import pytest

import tangor

SPREAD = 0.3


def noise(draws, count):
    return np.array([np.random.default_rng(int(draw)).normal(size=count) for draw in draws]).reshape(-1, count).mean(axis=0)


def beside(**more):
    """minimise E|x - (2, 2) - xi|^2 / 2 where E[x_0 + zeta] <= 1 and x_1 <= 1, which has no noise; the solution is (1, 1)."""

    def evaluate(x, draws):
        xi = SPREAD * noise(draws, 3)
        return x - 2.0 - xi[:2], [x[0] + xi[2], x[1]], np.eye(2)

    return tangor.SampledProblem([0.0, 0.0], evaluate, exact=("jacobian",), c_upper=1.0, row_names=["noisy", "budget"], **more)


@pytest.mark.parametrize("rows", [["budget"], [1], [-1], "budget", [False, True], np.array([False, True])])
def test_rows_that_are_declared_exact_are_certified_on_a_small_budget(rows):
    given = dict(samples=6000, tol=0.2)
    result = tangor.minimize_sampled(beside(exact_rows=rows), **given, sampling={"judge": {"rarest": 0.02}})
    assert result.success and sum(result.samples.values()) <= 6000
    np.testing.assert_allclose(result.x, 1.0, atol=0.2)
    # Who does not say that rarer events do not matter gets no certainty from so few samples.
    silent = tangor.minimize_sampled(beside(exact_rows=rows), **given)
    assert not silent.success and "may be missing among the fresh ones" in silent.message


def test_a_row_that_nobody_declares_is_named_with_what_it_needs():
    result = tangor.minimize_sampled(beside(), samples=6000, tol=0.2)
    assert not result.success and result.verdict["few_events"] and result.verdict["silent_row"] == 1
    assert "constraint budget did not vary" in result.message and "exact_rows" in result.message and "24593 samples" in result.message


def test_rows_that_are_declared_exact_and_are_not_are_not_believed():
    def evaluate(x, draws):
        # An event in one of 500 draws.
        return x - 2.0, [x[0] + 10.0 * np.mean(draws % 500 == 0)], np.ones((1, 1))

    given = dict(members=1_000_000, exact=("gradient", "jacobian"), exact_rows=[0], c_upper=1.0, samples=20_000, tol=0.05)
    results = [tangor.minimize_sampled(evaluate, [0.0], seed=seed, **given) for seed in range(5)]
    # True is x <= 1 - 10 / 500.
    assert not any(result.success and result.x[0] > 0.98 + 0.05 for result in results)


@pytest.mark.parametrize(
    "rows, message",
    [(["bugdet"], "'bugdet'"), ([2], "there are 2 constraints"), ([True], "1 booleans"), ([1.5], "1.5"), ([None], "None")],
)
def test_rows_that_are_not_there_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        beside(exact_rows=rows)


def growing(rate):
    """minimise E|x - 3 - s(x) xi|^2 / 2 without constraints; the noise grows by `exp(rate)` on the way from the start."""

    def gradient(x, draws):
        return x - 3.0 + SPREAD * np.exp(rate * np.linalg.norm(x) / np.linalg.norm(np.full(2, 3.0))) * noise(draws, 2)

    return tangor.SampledProblem([0.0, 0.0], gradient=gradient)


@pytest.mark.parametrize("rate", [0.0, 2.0, 4.0])
def test_a_tolerance_is_chosen_again_where_the_first_one_is_not_reached(rate):
    certified = 0
    for seed in range(4):
        result = tangor.minimize_sampled(growing(rate), samples=30_000, seed=seed, sampling={"judge": {"rarest": 0.01}})
        certified += result.success
        bounds = result.verdict["stationarity"]
        again = "again at the last point judged" in result.tolerance["chosen"]
        assert again == (rate > 0.0) and (again or result.success)
        assert result.success == all(result.certified[name] <= result.tolerance[name] for name in result.certified)
        if again:
            # The rule itself: three times the margin, whatever the residual is.
            assert result.tolerance["stationarity"] >= 3.0 * (bounds["upper"] - bounds["value"]) * (1 - 1e-12)
            assert result.settings["tolerance"]["stationarity"] == result.tolerance["stationarity"]
        true = np.linalg.norm(result.x - 3.0)
        assert not result.success or true <= result.tolerance["stationarity"]
    assert certified == 4


def test_a_tolerance_that_is_given_stays():
    result = tangor.minimize_sampled(growing(2.0), samples=5000, tol=1e-5)
    assert not result.success and result.tolerance["chosen"] == "given" and result.settings["tolerance"]["stationarity"] == 1e-5
    partly = tangor.minimize_sampled(growing(4.0), samples=5000, tolerance={"stationarity": 1e-5})
    assert not partly.success and partly.tolerance["stationarity"] == 1e-5
