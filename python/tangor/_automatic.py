"""Models whose functions JAX or torch differentiates: `tangor.from_jax` and `tangor.from_torch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._numbers import real_vector
from ._problem import Problem


def from_jax(f: Callable[..., Any] | None, c: Callable[..., Any] | None = None, *, x0: Any, **keywords: Any) -> Problem:
    """A problem with functions of JAX: `f(x)` gives a number, `c(x)` a vector.

    Values and derivatives come from one function, compiled once and called once for each point, in double precision. `keywords` are
    those of `tangor.Problem`: bounds, c_lower, c_upper, names.

    >>> import tangor, jax.numpy as jnp                                                         # doctest: +SKIP
    >>> tangor.minimize(tangor.from_jax(lambda x: jnp.sum(x ** 4), x0=[1.0, 2.0])).success      # doctest: +SKIP
    True
    """
    import jax
    import jax.numpy as jnp

    together = _joined(f, c, jnp.concatenate, lambda value: jnp.reshape(value, (-1,)))
    size = np.size(x0)

    def values_and_slopes(x: Any) -> Any:
        rows = _rows(jax.eval_shape(together, x).shape)
        # Backward costs a pass for each row, forward one for each variable.
        derive = jax.jacrev if rows <= size else jax.jacfwd
        slopes, values = derive(lambda x: (together(x),) * 2, has_aux=True)(x)
        return values, slopes

    compiled = jax.jit(values_and_slopes)
    precise = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64

    def evaluate(x: np.ndarray) -> tuple[Any, Any, Any, Any]:
        with precise(True):
            values, slopes = compiled(jnp.asarray(x, dtype=jnp.float64))
            return _split(np.asarray(values), np.asarray(slopes), f is not None, c is not None)

    return Problem(x0, evaluate=evaluate, **{"name": "problem of JAX", **keywords})


def from_torch(f: Callable[..., Any] | None, c: Callable[..., Any] | None = None, *, x0: Any, **keywords: Any) -> Problem:
    """A problem with functions of torch: `f(x)` gives a number, `c(x)` a vector; `x` is a tensor of doubles.

    Values and derivatives come from one pass for each point. `keywords` are those of `tangor.Problem`.

    >>> import tangor, torch                                                                    # doctest: +SKIP
    >>> tangor.minimize(tangor.from_torch(lambda x: (x ** 4).sum(), x0=[1.0, 2.0])).success     # doctest: +SKIP
    True
    """
    import torch

    def flat(value: Any) -> Any:
        values = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(value, torch.Tensor) for value in values):
            raise TypeError(f"a function gave a {type(value).__name__}, which torch cannot differentiate: give a tensor")
        return torch.cat([value.reshape(-1) for value in values])

    together = _joined(f, c, torch.cat, flat)
    if isinstance(x0, torch.Tensor):
        x0 = x0.detach().cpu().numpy()
    start = torch.tensor(real_vector(x0, "x0"), dtype=torch.float64)
    for function, what in ((f, "the objective"), (c, "the constraints")):
        tracked = start.clone().requires_grad_()
        if function is not None and callable(function) and not flat(function(tracked)).requires_grad:
            message = f"{what} cannot be differentiated: torch knows of no way from x to what the function gives"
            raise TypeError(message + " (detach, item, float and torch.tensor cut it off)")
    with torch.no_grad():
        rows = together(start).numel()
    # Backward costs a pass for each row, forward one for each variable.
    derive = torch.func.jacrev if rows <= start.numel() else torch.func.jacfwd

    def evaluate(x: np.ndarray) -> tuple[Any, Any, Any, Any]:
        point = torch.tensor(np.asarray(x), dtype=torch.float64)
        slopes, values = derive(lambda x: (together(x),) * 2, has_aux=True)(point)
        return _split(values.detach().numpy(), slopes.detach().numpy(), f is not None, c is not None)

    return Problem(x0, evaluate=evaluate, **{"name": "problem of torch", **keywords})


def _joined(f: Any, c: Any, join: Any, flat: Any) -> Callable[[Any], Any]:
    """Objective and constraints as one vector, so that one pass gives all derivatives."""
    if f is None and c is None:
        raise TypeError("a function is missing: give the objective, the constraints or both")
    for function, what in ((f, "f"), (c, "c")):
        if function is not None and not callable(function):
            raise TypeError(f"{what} is a {type(function).__name__}, which cannot be called")

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
