"""Numbers that people give: vectors, one number for all, whole numbers. What is none is named in a sentence."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np


def real_vector(values: Any, what: str) -> np.ndarray:
    """A vector of real numbers of its own, or a sentence that says what is wrong with it."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype == np.float64:
        return values.copy()
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError as error:
        raise ValueError(f"{what} is no vector of numbers: {error}") from error
    if array.ndim != 1:
        raise ValueError(f"{what} must have one dimension, but its shape is {array.shape}")
    return real_array(array, what)


def real_array(array: Any, what: str) -> np.ndarray:
    """The same numbers as floats, contiguous; texts, complex numbers and None are refused."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{what} must be real numbers, but they are {array.dtype}")
    if array.dtype.kind == "O" and any(value is None for value in array.flat):
        raise TypeError(f"{what} must be real numbers, but one of them is None")
    try:
        return np.array(array, dtype=float, order="C")
    except OverflowError:
        raise ValueError(f"{what} has a number that is too large for a float") from None
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} must be real numbers: {error}") from error


def broadcast(values: Any, count: int, what: str) -> np.ndarray:
    """One number for each of `count`, or one for all."""
    if type(values) is float:
        return np.array([values] * count)
    array = np.asarray(values)
    array = real_array(array.reshape(-1) if array.ndim != 1 else array, what)
    if array.size not in (1, count):
        raise ValueError(f"{what} has {array.size} numbers, but {count} are needed (or one for all)")
    return np.full(count, array[0]) if array.size != count else array


def whole_number(value: Any, what: str, least: int = 1) -> int:
    """A whole number of at least `least` and below 2^64; 1e6 is one, too."""
    if not is_real(value):
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    if not isinstance(value, numbers.Integral) and not (math.isfinite(value) and int(value) == value):
        raise ValueError(f"{what} must be a whole number, not {value!r}")
    number = int(value)
    # Not repeated: a number may have more digits than Python prints.
    if number >= 2**64:
        raise ValueError(f"{what} is too large: whole numbers are below 2^64")
    if number < least:
        raise ValueError(f"{what} must be at least {least}" + (f", not {value!r}" if number > -(2**64) else ""))
    return number


def read_draws(draws: Any, members: int | None) -> list[int]:
    """Numbers of samples: members of the population, if it has an end."""
    read = [whole_number(draw, "a draw", 0) for draw in np.atleast_1d(draws).tolist()]
    strange = [draw for draw in read if draw >= (2**64 if members is None else members)]
    if strange:
        raise ValueError(f"there is no draw {strange[0]}: the population has {members or 2**64} members")
    return read


def read_names(names: Any, what: str) -> list[str]:
    """A name for each; a text alone would be as many names as it has letters."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a sequence of names, not {names!r}")
    return [str(name) for name in names]


def is_real(value: Any) -> bool:
    """Whether it is one real number; what is true or false is none."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def real_number(value: Any, what: str) -> float:
    """A number that is no NaN; what is not within its range the solver refuses itself."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{what} must be a number, not {value!r}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{what} is too large for a float") from None
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, not {value!r}") from None
    if np.isnan(number):
        raise ValueError(f"{what} must be a number, not NaN")
    return number


def kind_of(value: Any) -> str:
    """The type of a value with its article: `a str`, `an int`."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def count_of(count: int, noun: str) -> str:
    """`1 variable`, `2 variables`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
