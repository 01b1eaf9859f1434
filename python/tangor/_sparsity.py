"""Where Jacobians may have entries: stated, found, and whether what was stated is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse


def read_pattern(sparsity: Any, rows: int, n: int, label: str) -> tuple[list[int], list[int]]:
    """Where entries may be, from a matrix whose entries are not zero there."""
    try:
        matrix = csr_array(sparsity, copy=True)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the sparsity of {label} must be a matrix: {error}") from None
    if matrix.shape != (rows, n):
        raise ValueError(f"the sparsity of {label} has shape {matrix.shape}, but ({rows}, {n}) is needed")
    matrix.sum_duplicates()
    return matrix.indptr.tolist(), matrix.indices.tolist()


def find_pattern(
    first: Any, jacobian: Callable[[np.ndarray], Any], x0: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], rows: int, label: str
) -> tuple[list[int], list[int]] | None:
    """Where a Jacobian that is given as a sparse matrix has entries: at the start, `first`, or at one point nearby. None: it is dense."""
    if not issparse(first):
        return None
    # Some entries vanish at the start by chance; a point nearby has them.
    step = 1e-3 * np.random.default_rng(0).uniform(0.5, 1.0, x0.size) * np.maximum(1.0, np.abs(x0))
    second = jacobian(np.clip(x0 + step, *bounds))
    if first.shape != (rows, x0.size):
        raise ValueError(f"the Jacobian of {label} has shape {first.shape}, but ({rows}, {x0.size}) is needed")
    # Stored zeros count, too: who stores them says that there may be something.
    same_kind = issparse(second) and second.shape == first.shape
    try:
        union = stored(first) + stored(second) if same_kind else stored(first)
    except ValueError as error:
        raise ValueError(f"the Jacobian of {label} is no sparse matrix: {error}") from None
    union.sum_duplicates()
    return union.indptr.tolist(), union.indices.tolist()


def stored(matrix: Any) -> csr_array:
    """One for each stored entry."""
    if hasattr(matrix, "check_format"):
        # SciPy's own sums do not look, and would write beyond their memory.
        matrix.check_format(full_check=True)
    rows = csr_array(matrix, copy=True)
    rows.data = np.ones(rows.data.size)
    return rows


#: How far from the start a stated pattern is looked at, relative to the variables: at the start itself entries may vanish by chance.
NEARBY = 1e-3
#: The step of the look, and the share of a row's change that a missing entry must make to be seen.
STEP = 1e-4
SHARE = 1e-3
#: The most rows that are looked at one by one.
MOST_ROWS = 10


class Stated:
    """A pattern that somebody stated, and that differences rely on: columns that share no row are moved together."""

    def __init__(self, label: str, first_row: int, pattern: tuple[list[int], list[int]]) -> None:
        self.label, self.first_row, self.pattern = label, first_row, pattern

    def columns(self, row: int) -> list[int]:
        start, columns = self.pattern
        return columns[start[row] : start[row + 1]]

    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + len(self.pattern[0]) - 1)


def check_stated(problem: Any, stated: list[Stated]) -> None:
    """Raises a ValueError where a constraint depends on a variable that its stated pattern lacks.

    The Jacobian is compared with one difference in a random direction. Rows where they differ are looked at by themselves: what is not in
    the pattern moves, and the row must not.
    """
    if not stated:
        return
    try:
        look = _Look(problem)
    except Exception:
        # A function that fails nearby may have values where the run goes. If not, the run says so.
        return
    for one in stated:
        for row in look.suspicious(one.rows)[:MOST_ROWS]:
            column = look.missing(one.first_row + row, one.columns(row))
            if column is not None:
                raise ValueError(
                    f"{one.label} depends on variable {column} in row {row}, but its stated sparsity has no entry in row {row}, column {column}"
                )


class _Look:
    """Two points near the start, and what the constraints do between them."""

    def __init__(self, problem: Any) -> None:
        rng = np.random.default_rng(0)
        self.model, bounds = problem._model, problem.bounds
        start, n = np.clip(problem.x0, bounds.lb, bounds.ub), problem.n
        size = np.maximum(1.0, np.abs(start))
        self.x = np.clip(start + NEARBY * rng.uniform(0.5, 1.0, n) * size, bounds.lb, bounds.ub)
        step = STEP * rng.uniform(0.5, 1.0, n) * rng.choice([-1.0, 1.0], n) * size
        there = np.clip(self.x + step, bounds.lb, bounds.ub)
        # At a bound the other way is free.
        self.there = np.where(there == self.x, np.clip(self.x - step, bounds.lb, bounds.ub), there)
        self.c = self.model.constraints(self.x)
        jacobian, moved = problem.jac(self.x), self.there - self.x
        self.off = np.abs(self.model.constraints(self.there) - self.c - jacobian @ moved)
        self.expected = abs(jacobian) @ np.abs(moved)
        self.rounding = 1e-10 * np.maximum(1.0, np.abs(self.c))

    def suspicious(self, rows: slice) -> list[int]:
        """Rows that change by other than their Jacobian says, worst first."""
        off, most = self.off[rows], SHARE * self.expected[rows] + self.rounding[rows]
        worst = np.argsort(-off / most)
        return [int(row) for row in worst if off[row] > most[row]]

    def missing(self, row: int, columns: list[int]) -> int | None:
        """A column beyond these that the row depends on."""
        others = np.setdiff1d(np.arange(self.x.size), columns)
        if not self.change(row, others) > self.rounding[row]:
            return None
        while others.size > 1:
            halves = np.array_split(others, 2)
            others = max(halves, key=lambda half: self.change(row, half))
        return int(others[0])

    def change(self, row: int, columns: np.ndarray) -> float:
        x = self.x.copy()
        x[columns] = self.there[columns]
        return float(abs(self.model.constraints(x)[row] - self.c[row]))
