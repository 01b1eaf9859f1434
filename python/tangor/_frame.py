"""Tables of features: how columns become numbers, and which column names groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np


#: So many values of a column are never too many; more of them must be shared by two rows on average.
MOST_CATEGORIES = 50


class Categories:
    """The values of a column at the fit: each beyond the first is a feature of its own, and so is a missing value where there was one."""

    def __init__(self, values: Any) -> None:
        try:
            self.known = sorted(values.dropna().unique(), key=str)
        except TypeError as error:
            raise TypeError(f"column {values.name!r} has values that are neither numbers nor names of categories: {error}") from None
        self.with_missing = bool(values.isna().any())
        if len(self.known) > max(MOST_CATEGORIES, len(values) // 2):
            raise ValueError(
                f"column {values.name!r} has {len(self.known)} different values in {len(values)} rows: it tells rows apart, not kinds of rows; "
                "leave it out, or make a number of it"
            )

    def encode(self, values: Any, column: Any) -> list[np.ndarray]:
        missing = np.asarray(values.isna())
        strange = ~np.asarray(values.isin(self.known)) & ~(missing & self.with_missing)
        if strange.any():
            first = "a missing value" if missing[strange][0] else repr(values[strange].iloc[0])
            rows = "1 row" if strange.sum() == 1 else f"{strange.sum()} rows"
            like = repr(self.known[0]) if self.known else "all others"
            warnings.warn(f"column {column!r}: no row of the fit had {first}; {rows} of this kind count like {like}", UserWarning, stacklevel=5)
        made = [np.asarray(values == one, dtype=float) for one in self.known[1:]]
        return [*made, missing.astype(float)] if self.with_missing else made


class Encoding:
    """How the columns of a DataFrame become numbers."""

    def __init__(self, X: Any, without: list[Any]) -> None:
        columns = [column for column in X.columns if column not in without]
        self.parts = [(column, None if is_number(X[column]) else Categories(X[column])) for column in columns]

    def encode(self, X: Any) -> np.ndarray:
        missing = [column for column, _ in self.parts if column not in X.columns]
        if missing:
            raise ValueError(f"the column {missing[0]!r} is missing")
        made: list[np.ndarray] = []
        for column, categories in self.parts:
            made += [np.asarray(X[column], dtype=float)] if categories is None else categories.encode(X[column], column)
        return np.column_stack(made) if made else np.zeros((len(X), 0))


def encoding(X: Any, without: list[Any]) -> Encoding | None:
    """None: all columns are numbers, and scikit-learn's own checks do."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    numbers = all(is_number(X[column]) for column in X.columns) if X.columns.is_unique else True
    return None if numbers and not without else Encoding(X, without)


def is_number(values: Any) -> bool:
    if getattr(values.dtype, "kind", "O") == "c":
        raise ValueError(f"column {values.name!r} has complex numbers, which are not supported")
    return getattr(values.dtype, "kind", "O") in "biuf"


def is_here(column: Any, names: list[Any]) -> bool:
    return column in names or isinstance(column, (int, np.integer))


def column(X: Any, groups: Any, name: Any, names: list[Any]) -> np.ndarray:
    """The column that says to which group a row belongs."""
    for table in (groups, X):
        if table is None:
            continue
        if hasattr(table, "columns") and name in table.columns:
            return np.asarray(table[name])
        if isinstance(table, Mapping) and name in table:
            return np.asarray(table[name])
    if isinstance(name, (int, np.integer)) and not hasattr(X, "columns"):
        table = np.asarray(X)
        if -table.shape[1] <= name < table.shape[1]:
            return np.asarray(table[:, name])
    known = list(getattr(groups, "columns", groups or ())) + names
    raise ValueError(f"there is no column {name!r} that names groups; known columns: {', '.join(map(str, known)) or 'none'}")


#: The most groups that a column may name: each pair of them is a constraint.
MOST_GROUPS = 50


def check_groups(members: np.ndarray, name: Any, rows: int) -> None:
    """Each row belongs to one of a few groups."""
    if members.shape != (rows,):
        raise ValueError(f"the column {name!r} names groups of {members.shape[0] if members.ndim else 0} rows, but there are {rows}")
    # NaN is what is not equal to itself.
    if any(member is None or member != member for member in members):
        raise ValueError(f"the column {name!r}, which names groups, has missing values")
    groups = len(set(members.tolist()))
    if groups > MOST_GROUPS:
        raise ValueError(
            f"the column {name!r} names {groups} groups in {rows} rows, but may name at most {MOST_GROUPS}, since each pair of them is a "
            "constraint: where it holds numbers, cut it into a few classes first (pandas.cut, numpy.digitize)"
        )
