"""The classifier: scikit-learn's own checks, and what its constraints promise."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tangor.sklearn import ConstrainedLogisticRegression


CHECKED = ({"l2": 1e-3}, {"norm": 2.0}, {"l2": 1e-3, "false_positive": 0.5})


@parametrize_with_checks([ConstrainedLogisticRegression(**parameters) for parameters in CHECKED])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def people(rows=600, seed=0):
    """Two groups of people with different incomes."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["female", "male"], rows)
    town = rng.choice(["north", "south", "west"], rows)
    years = rng.normal(12, 3, rows) + (sex == "male")
    score = 0.5 * (years - 12) + 0.8 * (sex == "male") + 0.4 * (town == "west") + rng.logistic(size=rows)
    frame = pd.DataFrame({"sex": pd.Categorical(sex), "town": town, "years": years})
    return frame, np.where(score > 0.5, "yes", "no")


def rates(model, X, y=None):
    """Mean probabilities of "yes" by sex."""
    chosen = np.ones(len(X), bool) if y is None else y == "yes"
    p = model.predict_proba(X)[:, 1]
    return [p[chosen & (X["sex"] == sex)].mean() for sex in ("female", "male")]


def test_without_constraints_it_is_logistic_regression():
    X, y = people()
    X = X[["years"]].assign(other=np.random.default_rng(1).normal(size=len(X)))
    ours = ConstrainedLogisticRegression(l2=0.01).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.01 * len(X)), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_more_than_two_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = np.argmax(X + rng.normal(size=(300, 3)), axis=1)
    ours = ConstrainedLogisticRegression(l2=0.01).fit(X, y)
    theirs = LogisticRegression(C=1 / (0.01 * 300), tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    with pytest.raises(ValueError, match="need two classes"):
        ConstrainedLogisticRegression(false_positive=0.1).fit(X, y)


def test_gaps_between_groups_named_by_column():
    X, y = people()
    free = ConstrainedLogisticRegression().fit(X, y)
    fair = ConstrainedLogisticRegression(rate_gap={"sex": 0.02}).fit(X, y)
    equal = ConstrainedLogisticRegression(true_positive_gap={"sex": 0.03}, group_features=False).fit(X, y)
    assert np.diff(rates(free, X))[0] > 0.1
    assert abs(np.diff(rates(fair, X))[0]) <= 0.02 + 1e-6
    assert abs(np.diff(rates(equal, X, y))[0]) <= 0.03 + 1e-6
    assert list(fair.constraints_) == ["rate gap of sex: female - male"]
    assert free.score(X, y) >= fair.score(X, y) - 0.02 and fair.score(X, y) > 0.6
    assert free.coef_.shape == (1, 4) and equal.coef_.shape == (1, 3)


def test_norm_and_false_alarms():
    X, y = people()
    model = ConstrainedLogisticRegression(norm=0.5, false_positive=0.3).fit(X, y)
    assert np.linalg.norm(model.coef_) <= 0.5 + 1e-6
    assert model.predict_proba(X)[y == "no", 1].mean() <= 0.3 + 1e-6


def test_weights_are_repetitions():
    X, y = people(200)
    counts = np.random.default_rng(3).integers(0, 4, len(X))
    weighted = ConstrainedLogisticRegression(rate_gap={"sex": 0.05}).fit(X, y, sample_weight=counts)
    repeated = ConstrainedLogisticRegression(rate_gap={"sex": 0.05}).fit(X.loc[X.index.repeat(counts)], np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


def test_in_a_pipeline_and_a_search():
    X, y = people(300)
    columns = ColumnTransformer([("text", OneHotEncoder(drop="first"), ["sex", "town"]), ("rest", StandardScaler(), ["years"])])
    pipeline = make_pipeline(columns, ConstrainedLogisticRegression(rate_gap={"sex": 0.02}))
    pipeline.fit(X, y, constrainedlogisticregression__groups=X[["sex"]])
    assert abs(np.diff(rates(pipeline, X))[0]) <= 0.02 + 1e-6
    search = GridSearchCV(ConstrainedLogisticRegression(), {"norm": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["norm"] == 1.0


@pytest.mark.parametrize(
    "parameters, kind, message",
    [
        (dict(l2=-1), ValueError, "l2 must be"),
        (dict(l2="small"), TypeError, "l2 must be a number"),
        (dict(l2=None), TypeError, "l2 must be a number"),
        (dict(max_iter="many"), TypeError, "max_iter must be a whole number"),
        (dict(norm=0), ValueError, "norm must be a positive"),
        (dict(rate_gap={"sex": 2}), ValueError, "between 0 and 1"),
        (dict(rate_gap={"sex": "little"}), TypeError, "rate_gap of 'sex' must be a number"),
        (dict(rate_gap="sex"), TypeError, r"rate_gap must be a dictionary \{column: most\}, not 'sex'"),
        (dict(true_positive_gap=["sex"]), TypeError, "true_positive_gap must be a dictionary"),
        (dict(rate_gap={"age": 0.1}), ValueError, "there is no column 'age'"),
    ],
)
def test_bad_parameters_are_named(parameters, kind, message):
    X, y = people(50)
    with pytest.raises(kind, match=message):
        ConstrainedLogisticRegression(**parameters).fit(X, y)


@pytest.mark.parametrize("groups, message", [([1, 2], "groups of 2 rows"), ([None, "a"] * 25, "missing values"), ([np.nan, 1.0] * 25, "missing")])
def test_bad_groups_are_named(groups, message):
    X, y = people(50)
    with pytest.raises(ValueError, match=message):
        ConstrainedLogisticRegression(rate_gap={"mine": 0.1}).fit(X, y, groups={"mine": groups})


def test_numbers_are_no_groups():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 60, 600), "score": rng.normal(size=600)})
    y = X["score"] + rng.normal(size=600) > 0
    with pytest.raises(ValueError, match="the column 'age' names 600 groups in 600 rows.*pandas.cut"):
        ConstrainedLogisticRegression(rate_gap={"age": 0.1}).fit(X, y)
    classes = pd.cut(X["age"], 4, labels=False)
    fitted = ConstrainedLogisticRegression(true_positive_gap={"class": 0.05}).fit(X, y, groups={"class": classes})
    assert len(fitted.constraints_) == 6 and all(abs(gap) <= 0.0501 for gap in fitted.constraints_.values())


def test_columns_that_tell_rows_apart_are_refused():
    X = pd.DataFrame({"day": pd.date_range("2020", periods=200), "x": np.arange(200.0) % 7})
    with pytest.raises(ValueError, match="column 'day' has 200 different values in 200 rows"):
        ConstrainedLogisticRegression().fit(X, X.x > 3)


def test_categories_that_the_fit_has_not_seen_are_said():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 80, 200), "job": rng.choice(["a", "b", "c"], 200)})
    y = X.age + 20 * (X.job == "b") + rng.normal(0, 5, 200) > 50
    model = ConstrainedLogisticRegression(l2=1e-3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    strange = X.iloc[:3].assign(job=["a", "zebra", "zebu"])
    with pytest.warns(UserWarning, match="column 'job': no row of the fit had 'zebra'; 2 rows of this kind count like 'a'"):
        probabilities = model.predict_proba(strange)
    np.testing.assert_array_equal(probabilities, model.predict_proba(strange.assign(job="a")))
    with pytest.warns(UserWarning, match="no row of the fit had a missing value; 1 row"):
        model.predict(strange.assign(job=["a", None, "b"]))


def test_a_missing_category_is_one_of_its_own():
    rng = np.random.default_rng(0)
    job = rng.choice(["a", "b", "gone"], 400)
    X = pd.DataFrame({"job": np.where(job == "gone", None, job)})
    y = rng.uniform(size=400) < np.select([job == "a", job == "b"], [0.2, 0.5], 0.8)
    model = ConstrainedLogisticRegression().fit(X, y)
    rates = [y[job == name].mean() for name in ("a", "b", "gone")]
    found = model.predict_proba(pd.DataFrame({"job": ["a", "b", None]}))[:, 1]
    np.testing.assert_allclose(found, rates, atol=1e-4)


def test_columns_that_are_neither_numbers_nor_categories_are_named():
    import pandas

    frame, y = pandas.DataFrame({"kind": ["a", "b"] * 10}), [0, 1] * 10
    for column, kind, message in (([[1]] * 20, TypeError, "column 'odd' has values that are neither"), ([1j] * 20, ValueError, "'odd' has complex")):
        with pytest.raises(kind, match=message):
            ConstrainedLogisticRegression().fit(frame.assign(odd=column), y)
    with pytest.raises(ValueError, match="only one class, 'a': nothing"):
        ConstrainedLogisticRegression().fit(frame, ["a"] * 20)
