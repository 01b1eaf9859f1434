"""What is certified: finite populations as a whole, fresh samples that are fresh, samples that are all counted."""

import numpy as np
import pytest

import tangor

DATA = np.random.default_rng(1).normal(size=(300, 2)) + [1.0, -0.5]


class Seen:
    """The mean of data, and which draws were asked for."""

    def __init__(self, **more):
        self.x0 = np.zeros(2)
        self.draws = []
        self.__dict__.update(more)

    def gradient(self, x, draws):
        self.draws.append(draws.copy())
        if hasattr(self, "members"):
            return x - DATA[draws.astype(int)].mean(axis=0)
        return x - np.array([np.random.default_rng(int(draw)).normal(size=2) for draw in draws]).mean(axis=0)

    def seen(self):
        return np.concatenate(self.draws)


def test_a_whole_population_is_verified_exactly():
    model = Seen(members=300)
    result = tangor.minimize_sampled(model, samples=100_000, tol=1e-8)
    assert result.success
    model.draws.clear()
    verdict = tangor.verify(result)
    assert verdict["holds"] and verdict["samples"] == 300
    assert sorted(model.seen()) == list(range(300))
    for name in ("stationarity", "feasibility", "complementarity"):
        assert verdict[name]["upper"] == verdict[name]["value"] == verdict[name]["lower"]
    # More samples than there are members are no more than the members.
    assert tangor.verify(result, samples=5000)["samples"] == 300
    # Fewer are a sample, with its noise.
    assert not tangor.verify(result, samples=100)["holds"]


def test_a_whole_population_with_constraints_is_verified_exactly():
    def evaluate(x, draws):
        rows = DATA[draws.astype(int)]
        return x - rows.mean(axis=0), [x[0] * rows[:, 0].mean()], [[rows[:, 0].mean(), 0.0]]

    result = tangor.minimize_sampled(evaluate, [0.0, 0.0], members=300, c_upper=0.5, samples=200_000, tol=1e-6)
    verdict = tangor.verify(result)
    assert result.success and verdict["holds"] and verdict["samples"] == 900 and not verdict["few_events"]


def test_samples_of_the_pilot_are_counted_and_never_seen_again():
    model = Seen()
    result = tangor.minimize_sampled(model, samples=20_000)
    run = model.seen()
    assert result.samples["gradient"] == run.size <= 20_000
    assert result.trace["samples"][-1] == run.size
    model.draws.clear()
    verdict = tangor.verify(result, samples=10_000)
    assert verdict["samples"] == model.seen().size
    assert not set(run.tolist()) & set(model.seen().tolist())


def test_the_pilot_sees_other_samples_than_the_run():
    model = Seen()
    result = tangor.minimize_sampled(model, samples=20_000)
    chosen = Seen()
    again = tangor.minimize_sampled(chosen, samples=20_000, tol=result.tolerance["stationarity"])
    pilot = set(model.seen().tolist()) - set(chosen.seen().tolist())
    assert again.tolerance["chosen"] == "given" and len(pilot) >= 100
    # What is given leaves no draw twice, but for those at both ends of a step.
    assert len(set(model.seen().tolist())) > 0.4 * model.seen().size


@pytest.mark.parametrize("samples", [60, 300, 1000])
def test_small_budgets_are_kept(samples):
    model = Seen()
    result = tangor.minimize_sampled(model, samples=samples)
    assert result.samples["gradient"] == model.seen().size <= samples
    assert result.nit > 0 or samples < 100


@pytest.mark.parametrize(
    "arguments, kind, message",
    [
        (dict(samples=0), ValueError, "samples must be at least 1"),
        (dict(samples=-3), ValueError, "samples must be at least 1"),
        (dict(samples=2.5), ValueError, "samples must be a whole number"),
        (dict(samples=np.nan), ValueError, "samples must be a whole number"),
        (dict(samples="many"), TypeError, "samples must be a whole number"),
        (dict(samples=True), TypeError, "samples must be a whole number"),
        (dict(samples=5), ValueError, "give tol"),
        (dict(samples=500, limits={"samples": 300}), TypeError, "give one of them"),
        (dict(batch="x"), TypeError, "batch must be a whole number"),
        (dict(batch=0), ValueError, "batch must be at least 1"),
        (dict(seed="x"), TypeError, "seed must be a whole number"),
        (dict(seed=-1), ValueError, "seed must be at least 0"),
        (dict(confidence="high"), TypeError, "confidence must be a number"),
        (dict(confidence=2), ValueError, "confidence"),
        (dict(seconds="long"), TypeError, "seconds must be a number"),
        (dict(tol=np.nan), ValueError, "tol must be a number, not NaN"),
        (dict(limits=3), TypeError, "settings are wrong"),
    ],
)
def test_bad_arguments_are_named(arguments, kind, message):
    with pytest.raises(kind, match=message):
        tangor.minimize_sampled(Seen(), **arguments)


def test_tolerances_that_are_not_given_are_chosen():
    result = tangor.minimize_sampled(Seen(), samples=20_000, tolerance={"feasibility": 0.5})
    assert result.settings["tolerance"]["feasibility"] == 0.5 and result.tolerance["stationarity"] > 1e-3
    assert "partly given" in result.tolerance["chosen"]


def test_another_start_and_what_is_said_twice():
    problem = tangor.SampledProblem([0.0, 0.0], gradient=Seen().gradient)
    result = tangor.minimize_sampled(problem, [3.0, 3.0], samples=2000)
    assert result.trace["x0"][0] == 3.0 and problem.x0[0] == 0.0
    with pytest.raises(TypeError, match="has its own bounds"):
        tangor.minimize_sampled(problem, bounds=[(0, 1)] * 2)
    with pytest.raises(TypeError, match="must be a SampledProblem"):
        tangor.verify(result, problem=3)


def test_a_function_without_a_value_at_the_start_is_told_as_in_an_exact_run():
    exact = tangor.minimize(lambda x: np.nan, [0.0, 0.0], jac=lambda x: x)
    for tol in (None, 1e-2):
        noisy = tangor.minimize_sampled(lambda x, draws: (x * np.nan, None, None), [0.0, 0.0], samples=2000, tol=tol)
        assert noisy.stop == exact.stop == "evaluation_failed" and "gradient" in noisy.failure


def test_what_nobody_knows_is_nan():
    result = tangor.minimize_sampled(Seen(), samples=20_000, callback=lambda row: row.iteration == 2)
    assert result.stop == "user" and np.isnan(result.fun)


def test_functions_that_are_all_exact_need_values_of_the_objective():
    given = dict(gradient=lambda x, draws: x - 1, exact=("gradient", "constraints", "jacobian"))
    with pytest.raises(TypeError, match="needs values of the objective"):
        tangor.SampledProblem([3.0, 2.0], **given)
    problem = tangor.SampledProblem([3.0, 2.0], objective=lambda x, draws: 0.5 * ((x - 1) ** 2).sum(), **given)
    np.testing.assert_allclose(tangor.minimize_sampled(problem, samples=1000, tol=1e-6).x, 1.0, atol=1e-5)
    with pytest.raises(TypeError, match="must be a tangor.Result"):
        tangor.verify(None)


def silent(**more):
    """minimise E|x - (2, 2) - xi|^2 / 2 where x <= 1; nobody says that the constraints have no noise."""

    def evaluate(x, draws):
        xi = np.array([np.random.default_rng(int(draw)).normal(size=2) for draw in draws]).mean(axis=0)
        return x - 2.0 - 0.3 * xi, x, np.eye(2)

    return tangor.SampledProblem([0.0, 0.0], evaluate, exact=("jacobian",), c_upper=1.0, **more)


def test_a_look_that_cannot_tell_is_followed_by_a_larger_one():
    result = tangor.minimize_sampled(silent(), samples=8000, tol=0.1)
    # The budget of the run was too small to tell that the constraints have no noise.
    assert not result.success and result.verdict["few_events"]
    verdict = tangor.verify(result)
    assert verdict["holds"] and not verdict["few_events"] and verdict["confidence"] == 0.95
    # Who says how many gets so many.
    few = tangor.verify(result, samples=2000)
    assert not few["holds"] and few["few_events"] and few["samples"] == 4000


def test_noise_that_hides_a_residual_asks_for_as_many_samples_as_tell():
    from tangor._verify import telling

    def bounded(value, margin):
        return {"value": value, "lower": max(0.0, value - margin), "upper": value + margin}

    within, tolerance = bounded(0.0, 0.01), dict.fromkeys(("stationarity", "feasibility", "complementarity"), 0.1)
    verdict = {"stationarity": bounded(0.05, 0.1), "feasibility": within, "complementarity": within, "few_events": False, "rarest": None}
    # A margin of 0.1 must become 0.05: four times the samples, and half as many again.
    assert telling(verdict, tolerance, 1000, 50_000, 1e-3) == 6000
    assert telling(verdict, tolerance, 1000, 5000, 1e-3) == 5000
    # What is known needs no more.
    assert telling({**verdict, "stationarity": bounded(0.3, 0.1)}, tolerance, 1000, 50_000, 1e-3) == 1000
    assert telling({**verdict, "stationarity": within}, tolerance, 1000, 50_000, 1e-3) == 1000
    assert telling({**verdict, "stationarity": within, "few_events": True}, tolerance, 1000, 50_000, 1e-3) == 50_000
    assert telling({**verdict, "stationarity": within, "rarest": 2e-3}, tolerance, 1000, 50_000, 1e-3) == 50_000
