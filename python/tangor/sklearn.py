"""Classifiers for scikit-learn that keep to constraints."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._minimize import minimize
from ._problem import Problem

__all__ = ["ConstrainedLogisticRegression"]


class ConstrainedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression under constraints on the model and on what it does to groups of rows.

        minimise  (1/W) sum_i w_i log(1 + exp(-s_i (a_i . x + b))) + l2/2 |x|^2

    Rates are means of predicted probabilities of the second class, which are smooth. With more than two classes the loss is the
    multinomial one, and only `norm` can be asked for.

    Parameters
    ----------
    l2 : float
        Weight of the squared norm of the coefficients, the intercept not counted.
    norm : float, optional
        The norm of the coefficients is at most this.
    rate_gap : dict, optional
        `{column: most}`: the rates of any two groups, rows with the same value in this column, differ by at most this (demographic
        parity). A column is a name (of a DataFrame) or a number.
    true_positive_gap : dict, optional
        The same for the rates among rows of the second class (equal opportunity).
    false_positive : float, optional
        The rate among rows of the first class is at most this (Neyman and Pearson).
    group_features : bool
        Whether columns that name groups are features as well.
    fit_intercept : bool
        Whether there is a constant.
    tol, max_iter
        Tolerance of all residuals and most iterations of the solver.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_
        As in scikit-learn's LogisticRegression.
    constraints_ : dict
        What each constraint came to on the training rows.
    result_ : tangor.Result
        Of the run.

    >>> import numpy as np
    >>> from tangor.sklearn import ConstrainedLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 2, 400)
    >>> X = np.column_stack([rng.normal(size=400) + group, group])
    >>> y = X[:, 0] + rng.normal(size=400) > 0.5
    >>> fair = ConstrainedLogisticRegression(rate_gap={1: 0.02}).fit(X, y)
    >>> rates = [fair.predict_proba(X[group == k])[:, 1].mean() for k in (0, 1)]
    >>> bool(abs(rates[1] - rates[0]) < 0.0201)
    True
    """

    def __init__(
        self,
        *,
        l2: float = 0.0,
        norm: float | None = None,
        rate_gap: Mapping[Any, float] | None = None,
        true_positive_gap: Mapping[Any, float] | None = None,
        false_positive: float | None = None,
        group_features: bool = True,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 3000,
    ) -> None:
        self.l2 = l2
        self.norm = norm
        self.rate_gap = rate_gap
        self.true_positive_gap = true_positive_gap
        self.false_positive = false_positive
        self.group_features = group_features
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> ConstrainedLogisticRegression:
        """Fits the model.

        `groups` may hold the columns that name groups, as a DataFrame or a dictionary of arrays, where `X` has none of them (inside of a
        Pipeline, for instance, where columns have lost their names).
        """
        self._check_parameters()
        given = X
        self._columns = _encoding(X, [] if self.group_features else self._group_columns())
        X, y = validate_data(self, self._encoded(X), y, dtype=np.float64) if self._columns is None else self._validated(X, y)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weights < 0) or not np.any(weights > 0):
            raise ValueError("sample_weight must not be negative, and not all of it may be zero")
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"there is only one class, {self.classes_[0]!r}: nothing can be told from it")
        features = X if self._columns is not None or self.group_features else np.delete(X, self._numbers(X), axis=1)
        self._dropped = [] if features is X else self._numbers(X)
        loss = _Loss(features, labels, self.classes_.size, weights / weights.sum(), self.l2, self.fit_intercept)
        rows = self._rows(loss, given, groups)
        problem = Problem(
            np.zeros(loss.n), evaluate=lambda x: loss.evaluate(x, rows), c_lower=[row.lower for row in rows],
            c_upper=[row.upper for row in rows], name="logistic regression", row_names=[row.name for row in rows],
        ) if rows else Problem(np.zeros(loss.n), f=lambda x: loss.evaluate(x, ())[:2], grad=True, name="logistic regression")  # fmt: skip
        self.result_ = minimize(problem, tol=self.tol, options={"maxiter": int(self.max_iter)})
        if not self.result_.success:
            warnings.warn(f"the fit did not converge: {self.result_.message}", ConvergenceWarning, stacklevel=2)
        self.result_.pop("problem_object", None)
        self.coef_, self.intercept_ = loss.split(self.result_.x)
        values = self.result_.constr[0] if rows else ()
        self.constraints_ = {row.name: float(value) for row, value in zip(rows, values)}
        self.n_iter_ = np.array([max(1, self.result_.nit)])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances from the decision, times the norm of the coefficients; for more than two classes one column for each."""
        check_is_fitted(self)
        X = self._prepared(X)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, one column for each."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = _sigmoid(scores)
            return np.column_stack([1.0 - second, second])
        return _softmax(scores)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _check_parameters(self) -> None:
        for name, value, positive in (("l2", self.l2, False), ("norm", self.norm, True), ("false_positive", self.false_positive, True)):
            if value is not None and not (np.isfinite(value) and (value > 0 if positive else value >= 0)):
                raise ValueError(f"{name} must be a {'positive' if positive else 'non-negative'} number, not {value!r}")
        for name in ("rate_gap", "true_positive_gap"):
            for column, most in (getattr(self, name) or {}).items():
                if not 0 <= most <= 1:
                    raise ValueError(f"{name} of {column!r} must lie between 0 and 1, not {most!r}")

    def _group_columns(self) -> list[Any]:
        return list(dict.fromkeys([*(self.rate_gap or {}), *(self.true_positive_gap or {})]))

    def _numbers(self, X: np.ndarray) -> list[int]:
        """Group columns of a plain array, by number or by the name that the DataFrame gave them."""
        names = list(getattr(self, "feature_names_in_", []))
        return [names.index(column) if column in names else int(column) for column in self._group_columns() if _is_here(column, names)]

    def _validated(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Of a DataFrame with columns that are no numbers: names and count are those of the DataFrame, numbers those of the encoding."""
        encoded, y = validate_data(self, self._encoded(X), y, dtype=np.float64)
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.n_features_in_ = X.shape[1]
        return encoded, y

    def _encoded(self, X: Any) -> Any:
        return X if self._columns is None else self._columns.encode(X)

    def _prepared(self, X: Any) -> np.ndarray:
        if self._columns is not None:
            if not hasattr(X, "columns"):
                raise ValueError("the model was fitted to a DataFrame with categorical columns: give one with the same columns")
            return self._columns.encode(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.delete(X, self._dropped, axis=1) if self._dropped else X

    def _rows(self, loss: _Loss, X: Any, groups: Any) -> list[_Row]:
        rows = []
        if self.norm is not None:
            rows.append(_Row("norm", None, -np.inf, float(self.norm) ** 2))
        asked = self.rate_gap or self.true_positive_gap or self.false_positive is not None
        if not asked:
            return rows
        if loss.classes > 2:
            raise ValueError(f"constraints on rates need two classes, but there are {loss.classes}")
        positive = loss.labels == 1
        for kind, gaps, among in (("rate gap", self.rate_gap, np.ones_like(positive)), ("true positive gap", self.true_positive_gap, positive)):
            for column, most in (gaps or {}).items():
                members = _column(X, groups, column, list(getattr(self, "feature_names_in_", [])))
                for a, b in combinations(np.unique(members), 2):
                    contrast = loss.mean(among & (members == a)) - loss.mean(among & (members == b))
                    rows.append(_Row(f"{kind} of {column}: {a} - {b}", contrast, -float(most), float(most)))
        if self.false_positive is not None:
            rows.append(_Row("false positive rate", loss.mean(~positive), -np.inf, float(self.false_positive)))
        return rows


class _Row:
    """One constraint: factors of the probabilities, or none for the squared norm."""

    def __init__(self, name: str, factors: np.ndarray | None, lower: float, upper: float) -> None:
        self.name, self.factors, self.lower, self.upper = name, factors, lower, upper


class _Loss:
    """The mean loss and its derivatives."""

    def __init__(self, X: np.ndarray, labels: np.ndarray, classes: int, weights: np.ndarray, l2: float, constant: bool) -> None:
        self.X, self.labels, self.classes, self.weights, self.l2 = X, labels, classes, weights, float(l2)
        self.constant, self.outputs = constant, 1 if classes == 2 else classes
        self.width = X.shape[1] + int(constant)
        self.n = self.outputs * self.width
        self.targets = labels.astype(float)[:, None] if self.outputs == 1 else np.eye(classes)[labels]

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts."""
        table = x.reshape(self.outputs, self.width)
        count = self.X.shape[1]
        return table[:, :count].copy(), table[:, count].copy() if self.constant else np.zeros(self.outputs)

    def mean(self, chosen: np.ndarray) -> np.ndarray:
        """Factors that make a sum over all rows the weighted mean over the chosen ones."""
        total = self.weights[chosen].sum()
        if not total > 0:
            raise ValueError("a group that a constraint is about has no rows (with a positive weight)")
        return np.where(chosen, self.weights / total, 0.0)

    def slope(self, factors: np.ndarray) -> np.ndarray:
        """The gradient of a function with these derivatives by the scores."""
        table = factors.T @ self.X
        if self.constant:
            table = np.column_stack([table, factors.sum(axis=0)])
        return table.reshape(-1)

    def evaluate(self, x: np.ndarray, rows: Any) -> tuple[float, np.ndarray, Any, Any]:
        """Objective, gradient, constraints and Jacobian."""
        coefficients, constants = self.split(x)
        scores = self.X @ coefficients.T + constants
        if self.outputs == 1:
            p = _sigmoid(scores)
            losses = np.logaddexp(0.0, scores)[:, 0] - self.targets[:, 0] * scores[:, 0]
        else:
            p = _softmax(scores)
            losses = -np.log(np.maximum((p * self.targets).sum(axis=1), 1e-300))
        value = float(self.weights @ losses + 0.5 * self.l2 * (coefficients**2).sum())
        norm_slope = np.column_stack([coefficients, np.zeros(self.outputs)]) if self.constant else coefficients
        gradient = self.slope(self.weights[:, None] * (p - self.targets)) + self.l2 * norm_slope.reshape(-1)
        if not rows:
            return value, gradient, None, None
        change = p * (1.0 - p)
        c = [float((coefficients**2).sum()) if row.factors is None else float(row.factors @ p[:, 0]) for row in rows]
        jac = [2.0 * norm_slope.reshape(-1) if row.factors is None else self.slope(row.factors[:, None] * change) for row in rows]
        return value, gradient, np.array(c), np.array(jac)


class _Encoding:
    """How the columns of a DataFrame become numbers: a category beyond the first is a feature of its own."""

    def __init__(self, X: Any, without: list[Any]) -> None:
        self.parts: list[tuple[Any, list[Any] | None]] = []
        for column in X.columns:
            if column not in without:
                self.parts.append((column, None if _is_number(X[column]) else sorted(X[column].dropna().unique(), key=str)[1:]))

    def encode(self, X: Any) -> np.ndarray:
        missing = [column for column, _ in self.parts if column not in X.columns]
        if missing:
            raise ValueError(f"the column {missing[0]!r} is missing")
        made = []
        for column, categories in self.parts:
            values = X[column]
            made += [np.asarray(values, dtype=float)] if categories is None else [np.asarray(values == one, dtype=float) for one in categories]
        return np.column_stack(made) if made else np.zeros((len(X), 0))


def _encoding(X: Any, without: list[Any]) -> _Encoding | None:
    """None: all columns are numbers, and scikit-learn's own checks do."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    numbers = all(_is_number(X[column]) for column in X.columns) if X.columns.is_unique else True
    return None if numbers and not without else _Encoding(X, without)


def _is_number(values: Any) -> bool:
    return getattr(values.dtype, "kind", "O") in "biuf"


def _is_here(column: Any, names: list[Any]) -> bool:
    return column in names or isinstance(column, (int, np.integer))


def _column(X: Any, groups: Any, column: Any, names: list[Any]) -> np.ndarray:
    """The column that says to which group a row belongs."""
    for table in (groups, X):
        if table is None:
            continue
        if hasattr(table, "columns") and column in table.columns:
            return np.asarray(table[column])
        if isinstance(table, Mapping) and column in table:
            return np.asarray(table[column])
    if isinstance(column, (int, np.integer)) and not hasattr(X, "columns"):
        table = np.asarray(X)
        if -table.shape[1] <= column < table.shape[1]:
            return np.asarray(table[:, column])
    known = list(getattr(groups, "columns", groups or ())) + names
    raise ValueError(f"there is no column {column!r} that names groups; known columns: {', '.join(map(str, known)) or 'none'}")


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0 / (1.0 + small), small / (1.0 + small))


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
