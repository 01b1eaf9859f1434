"""Models whose functions JAX or torch differentiates: `tangor.from_jax` and `tangor.from_torch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._numbers import kind_of, real_vector
from ._problem import Problem


def from_jax(f: Callable[..., Any] | None, c: Callable[..., Any] | None = None, *, x0: Any, **keywords: Any) -> Problem:
    """A problem with functions of JAX: `f(x)` gives a number, `c(x)` a vector or a list of numbers.

    Values and derivatives come from one function, compiled once and called once for each point, in double precision. `keywords` are
    those of `tangor.Problem`: bounds, c_lower, c_upper, names.

    >>> import tangor, jax.numpy as jnp                                                         # doctest: +SKIP
    >>> tangor.minimize(tangor.from_jax(lambda x: jnp.sum(x ** 4), x0=[1.0, 2.0])).success      # doctest: +SKIP
    True
    """
    return Problem(x0, evaluate=_Jax(f, c, np.size(x0)), **{"name": "problem of JAX", **keywords})


def from_torch(f: Callable[..., Any] | None, c: Callable[..., Any] | None = None, *, x0: Any, **keywords: Any) -> Problem:
    """A problem with functions of torch: `f(x)` gives a number, `c(x)` a vector or a list of numbers; `x` is a tensor of doubles.

    Values and derivatives come from one pass for each point. `keywords` are those of `tangor.Problem`.

    >>> import tangor, torch                                                                    # doctest: +SKIP
    >>> tangor.minimize(tangor.from_torch(lambda x: (x ** 4).sum(), x0=[1.0, 2.0])).success     # doctest: +SKIP
    True
    """
    if hasattr(x0, "detach"):
        x0 = x0.detach().cpu().numpy()
    return Problem(x0, evaluate=_Torch(f, c, real_vector(x0, "x0")), **{"name": "problem of torch", **keywords})


class _Jax:
    """All functions of a problem, compiled; pickled as what it was made from."""

    def __init__(self, f: Any, c: Any, size: int) -> None:
        import jax
        import jax.numpy as jnp

        self.given = f, c, size

        def flat(value: Any) -> Any:
            values = value if isinstance(value, (list, tuple)) else [value]
            if any(value is None or isinstance(value, str) for value in values):
                raise TypeError(f"a function gave {kind_of(value)}, which JAX cannot differentiate: give an array")
            return jnp.concatenate([jnp.reshape(value, (-1,)) for value in values])

        together = _joined(f, c, jnp.concatenate, flat)

        def values_and_slopes(x: Any) -> Any:
            rows = _rows(jax.eval_shape(together, x).shape)
            # Backward costs a pass for each row, forward one for each variable.
            derive = jax.jacrev if rows <= size else jax.jacfwd
            slopes, values = derive(lambda x: (together(x),) * 2, has_aux=True)(x)
            return values, slopes

        self.compiled: Any = jax.jit(values_and_slopes)
        self.precise: Any = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
        self.array: Any = lambda x: jnp.asarray(x, dtype=jnp.float64)

    def __reduce__(self) -> Any:
        return _Jax, self.given

    def __call__(self, x: np.ndarray) -> tuple[Any, Any, Any, Any]:
        f, c, _ = self.given
        with self.precise(True):
            values, slopes = self.compiled(self.array(x))
            return _split(np.asarray(values), np.asarray(slopes), f is not None, c is not None)


class _Torch:
    """All functions of a problem; pickled as what it was made from."""

    def __init__(self, f: Any, c: Any, x0: np.ndarray) -> None:
        import torch

        self.given = f, c, x0

        def flat(value: Any) -> Any:
            values = value if isinstance(value, (list, tuple)) else [value]
            if not all(isinstance(value, torch.Tensor) for value in values):
                raise TypeError(f"a function gave {kind_of(value)}, which torch cannot differentiate: give a tensor")
            return torch.cat([value.reshape(-1) for value in values])

        self.together = _joined(f, c, torch.cat, flat)
        self.tensor: Any = lambda x: torch.tensor(np.asarray(x), dtype=torch.float64)
        start = self.tensor(x0)
        for function, what in ((f, "the objective"), (c, "the constraints")):
            if function is not None and not flat(function(start.clone().requires_grad_())).requires_grad:
                message = f"{what} cannot be differentiated: torch knows of no way from x to what the function gives"
                raise TypeError(message + " (detach, item, float and torch.tensor cut it off)")
        with torch.no_grad():
            rows = self.together(start).numel()
        # Backward costs a pass for each row, forward one for each variable.
        self.derive: Any = torch.func.jacrev if rows <= start.numel() else torch.func.jacfwd

    def __reduce__(self) -> Any:
        return _Torch, self.given

    def __call__(self, x: np.ndarray) -> tuple[Any, Any, Any, Any]:
        f, c, _ = self.given
        slopes, values = self.derive(lambda x: (self.together(x),) * 2, has_aux=True)(self.tensor(x))
        return _split(values.detach().numpy(), slopes.detach().numpy(), f is not None, c is not None)


def _joined(f: Any, c: Any, join: Any, flat: Any) -> Callable[[Any], Any]:
    """Objective and constraints as one vector, so that one pass gives all derivatives."""
    if f is None and c is None:
        raise TypeError("a function is missing: give the objective, the constraints or both")
    for function, what in ((f, "f"), (c, "c")):
        if function is not None and not callable(function):
            raise TypeError(f"{what} is {kind_of(function)}, which cannot be called")

    def together(x: Any) -> Any:
        values = [] if f is None else [flat(f(x))]
        if values and values[0].shape != (1,):
            raise ValueError(f"the objective gave {values[0].shape[0]} numbers, but must give one")
        return join(values if c is None else [*values, flat(c(x))])

    return together


def _rows(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


def _split(values: np.ndarray, slopes: np.ndarray, has_f: bool, has_c: bool) -> tuple[Any, Any, Any, Any]:
    """Back into objective, gradient, constraints and Jacobian."""
    if not has_f:
        return None, None, values, slopes
    return float(values[0]), slopes[0], values[1:] if has_c else None, slopes[1:] if has_c else None
