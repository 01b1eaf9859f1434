"""Classifiers for scikit-learn that keep to constraints."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._frame import check_groups, column, encoding, is_here
from ._logistic import Loss, Row, sigmoid, softmax
from ._minimize import minimize
from ._numbers import is_real, real_number, whole_number
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
        self._columns = encoding(X, [] if self.group_features else self._group_columns())
        X, y = validate_data(self, self._encoded(X), y, dtype=np.float64) if self._columns is None else self._validated(X, y)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weights < 0) or not np.any(weights > 0):
            raise ValueError("sample_weight must not be negative, and not all of it may be zero")
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"there is only one class, {self.classes_.tolist()[0]!r}: nothing can be told from it")
        features = X if self._columns is not None or self.group_features else np.delete(X, self._numbers(X), axis=1)
        self._dropped = [] if features is X else self._numbers(X)
        loss = Loss(features, labels, self.classes_.size, weights / weights.sum(), self.l2, self.fit_intercept)
        rows = self._rows(loss, given, groups)
        problem = Problem(
            np.zeros(loss.n), evaluate=lambda x: loss.evaluate(x, rows), c_lower=[row.lower for row in rows],
            c_upper=[row.upper for row in rows], name="logistic regression", row_names=[row.name for row in rows],
        ) if rows else Problem(np.zeros(loss.n), f=lambda x: loss.evaluate(x, ())[:2], grad=True, name="logistic regression")  # fmt: skip
        self.result_ = minimize(problem, tol=self.tol, options={"maxiter": whole_number(self.max_iter, "max_iter", 0)})
        if not self.result_.success:
            warnings.warn(f"the fit did not converge: {self.result_.message}", ConvergenceWarning, stacklevel=2)
        self.result_.pop("problem_object", None)
        self.coef_, self.intercept_ = loss.split(self.result_.x)
        # A fit that was interrupted before its first value knows none of them.
        values = self.result_.constr[0] if self.result_.constr else np.full(len(rows), np.nan)
        self.constraints_ = {row.name: float(value) for row, value in zip(rows, values)}
        self.n_iter_ = np.array([max(1, self.result_.nit)])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distances from the decision, times the norm of the coefficients; for more than two classes one column for each."""
        check_is_fitted(self)
        X = self._prepared(X)
        scores: np.ndarray = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, one column for each."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = sigmoid(scores)
            return np.column_stack([1.0 - second, second])
        return softmax(scores)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logarithms: np.ndarray = np.log(self.predict_proba(X))
        return logarithms

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        chosen: np.ndarray = self.classes_[best]
        return chosen

    def _check_parameters(self) -> None:
        for name, value, positive in (("l2", self.l2, False), ("norm", self.norm, True), ("false_positive", self.false_positive, True)):
            if not is_real(value) and (value is not None or name == "l2"):
                raise TypeError(f"{name} must be a number, not {value!r}")
            if value is not None and not (math.isfinite(real_number(value, name)) and (value > 0 if positive else value >= 0)):
                raise ValueError(f"{name} must be a {'positive' if positive else 'non-negative'} number, not {value!r}")
        for name in ("rate_gap", "true_positive_gap"):
            gaps = getattr(self, name)
            if gaps is not None and not isinstance(gaps, Mapping):
                raise TypeError(f"{name} must be a dictionary {{column: most}}, not {gaps!r}")
            for column, most in (gaps or {}).items():
                if not is_real(most):
                    raise TypeError(f"{name} of {column!r} must be a number, not {most!r}")
                if not 0 <= most <= 1:
                    raise ValueError(f"{name} of {column!r} must lie between 0 and 1, not {most!r}")

    def __sklearn_tags__(self) -> Any:
        """Rates are those of the second of two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._asks_for_rates()
        return tags

    def _asks_for_rates(self) -> bool:
        return bool(self.rate_gap or self.true_positive_gap) or self.false_positive is not None

    def _group_columns(self) -> list[Any]:
        return list(dict.fromkeys([*(self.rate_gap or {}), *(self.true_positive_gap or {})]))

    def _numbers(self, X: np.ndarray) -> list[int]:
        """Group columns of a plain array, by number or by the name that the DataFrame gave them."""
        names = list(getattr(self, "feature_names_in_", []))
        return [names.index(column) if column in names else int(column) for column in self._group_columns() if is_here(column, names)]

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

    def _rows(self, loss: Loss, X: Any, groups: Any) -> list[Row]:
        rows = []
        if self.norm is not None:
            rows.append(Row("norm", None, -np.inf, float(self.norm) ** 2))
        if not self._asks_for_rates():
            return rows
        if loss.classes > 2:
            # The first sentence is the one that scikit-learn expects.
            message = f"Only binary classification is supported. Constraints on rates need two classes, but there are {loss.classes}"
            raise ValueError(message)
        positive = loss.labels == 1
        first, second = (f"the class {one!r}" for one in self.classes_.tolist())
        among_all = "rate gap", self.rate_gap, np.ones_like(positive), ""
        among_positive = "true positive gap", self.true_positive_gap, positive, f" and {second}"
        for kind, gaps, among, which in (among_all, among_positive):
            for name, most in (gaps or {}).items():
                members = column(X, groups, name, list(getattr(self, "feature_names_in_", [])))
                check_groups(members, name, positive.size)
                for a, b in combinations(np.unique(members), 2):
                    means = [loss.mean(among & (members == one), f"the group {one!r} of {name!r}{which}") for one in (a, b)]
                    rows.append(Row(f"{kind} of {name}: {a} - {b}", means[0] - means[1], -float(most), float(most)))
        if self.false_positive is not None:
            rows.append(Row("false positive rate", loss.mean(~positive, first), -np.inf, float(self.false_positive)))
        return rows
