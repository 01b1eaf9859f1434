"""What a checkpoint of the optimizer keeps: everything that the next step depends on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from ._directions import Warm
from ._comparisons import Seen
from ._progress import Progress

__all__ = ["check", "load", "save"]


def save(optimizer: Any) -> dict[str, Any]:
    """Tensors are those of the optimizer, as in other optimizers: copy or write them before the next step."""
    estimates, metric, seen = optimizer._estimates, optimizer._metric, optimizer._comparisons.seen
    return {
        "progress": asdict(optimizer._progress),
        "effective_samples": estimates.numbers(),
        "one_row": estimates.one_row,
        "derivatives": estimates.derivatives,
        "c": estimates.c.tolist(),
        "y": estimates.y.tolist(),
        "gathered": estimates.gathered,
        "seen": None if seen is None else _plain(vars(seen)),
        "patterns": optimizer._comparisons.patterns,
        "squares": metric.squares,
        "metric": [metric.step, metric.scalar, metric.least],
        "memory": optimizer._memory.save(),
        "base": optimizer._base,
        "multipliers": optimizer._multipliers.tolist(),
        "warm": _plain(vars(optimizer._warm)),
        "objective_scale": optimizer._objective_scale,
        "row_scale": optimizer._row_scale.tolist(),
        "limits": _plain({"lower": optimizer._limits.lower, "upper": optimizer._limits.upper}),
        "batched": optimizer._evaluator.batched,
        "eps": optimizer._evaluator.eps,
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Without arrays of NumPy, which `torch.load` does not take by default."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def check(optimizer: Any, saved: dict[str, Any]) -> None:
    """Whether what was saved fits."""
    wanted, there = tuple(optimizer._estimates.derivatives.shape), tuple(saved["derivatives"].shape)
    if wanted != there:
        raise ValueError(
            f"the state_dict is of {there[1]} parameters and {there[0] - 1} constraints, "
            f"but the optimizer has {wanted[1]} and {wanted[0] - 1}"
        )
    if saved["one_row"] != optimizer._estimates.one_row:
        raise ValueError("the state_dict is of a run with another recursion: make the optimizer with the same")
    limits = optimizer._limits
    if saved["limits"] != {"lower": limits.lower.tolist(), "upper": limits.upper.tolist()}:
        raise ValueError("the state_dict is of constraints with other bounds")


@torch.no_grad()
def load(optimizer: Any, saved: dict[str, Any]) -> None:
    """Puts everything back."""
    estimates, metric, flat = optimizer._estimates, optimizer._metric, optimizer._flat
    optimizer._progress = Progress(**saved["progress"])
    estimates.restore(saved["effective_samples"])
    estimates.derivatives.copy_(saved["derivatives"])
    estimates.gram = None
    estimates.c, estimates.y, estimates.gathered = _array(saved["c"]), _array(saved["y"]), saved["gathered"]
    seen = saved["seen"]
    if seen is not None:
        there = {name: seen[name].to(flat.device, flat.dtype).clone() for name in ("here", "change")}
        seen = Seen(**{**seen, **there, **{name: _array(seen[name]) for name in ("weights", "c_here", "c_change")}})
    optimizer._comparisons.seen, optimizer._comparisons.patterns = seen, saved["patterns"]
    metric.squares.copy_(saved["squares"])
    metric.step, metric.scalar, metric.least = saved["metric"]
    optimizer._memory.load(saved["memory"])
    optimizer._base.copy_(saved["base"])
    optimizer._multipliers = _array(saved["multipliers"])
    optimizer._warm = Warm(**{name: _array(value) for name, value in saved["warm"].items()})
    optimizer._objective_scale, optimizer._row_scale = saved["objective_scale"], _array(saved["row_scale"])
    optimizer._scaled = optimizer._limits.scaled(optimizer._row_scale)
    optimizer._evaluator.batched, optimizer._evaluator.eps = saved["batched"], saved["eps"]


def _array(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)
