"""The loss of logistic regression and the constraints on its probabilities, with their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np


class Row:
    """One constraint: factors of the probabilities, or none for the squared norm."""

    def __init__(self, name: str, factors: np.ndarray | None, lower: float, upper: float) -> None:
        self.name, self.factors, self.lower, self.upper = name, factors, lower, upper


class Loss:
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

    def mean(self, chosen: np.ndarray, which: str) -> np.ndarray:
        """Factors that make a sum over all rows the weighted mean over the chosen ones, which messages call `which`."""
        total = self.weights[chosen].sum()
        if not total > 0:
            raise ValueError(f"a constraint is about rows of {which}, but there are none (with a positive weight)")
        return np.where(chosen, self.weights / total, 0.0)

    def slope(self, factors: np.ndarray) -> np.ndarray:
        """The gradient of a function with these derivatives by the scores."""
        table: np.ndarray = factors.T @ self.X
        if self.constant:
            table = np.column_stack([table, factors.sum(axis=0)])
        return table.reshape(-1)

    def evaluate(self, x: np.ndarray, rows: Any) -> tuple[float, np.ndarray, Any, Any]:
        """Objective, gradient, constraints and Jacobian."""
        coefficients, constants = self.split(x)
        scores = self.X @ coefficients.T + constants
        if self.outputs == 1:
            p = sigmoid(scores)
            losses = np.logaddexp(0.0, scores)[:, 0] - self.targets[:, 0] * scores[:, 0]
        else:
            p = softmax(scores)
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


def sigmoid(scores: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(scores))
    p: np.ndarray = np.where(scores >= 0, 1.0, small) / (1.0 + small)
    return p


def softmax(scores: np.ndarray) -> np.ndarray:
    powers: np.ndarray = np.exp(scores - scores.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
