"""A result as a notebook shows it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ._result import objective

MOST_SHOWN = 12


def html(result: Any) -> str:
    """A table of what matters."""
    colour = "#1a7f37" if result.success else "#9a6700"
    total = sum(result.samples.values())
    evaluations = ("evaluations", f"{result.nfev} of the objective, {result.njev} of its gradient")
    rows = [
        ("objective", objective(result).replace("+-", "&plusmn;")),
        *((name, residual(result, name)) for name in ("stationarity", "feasibility", "complementarity")),
        ("iterations", f"{result.nit}"),
        # Values of the objective are nothing that a noisy run asks for.
        ("samples", f"{total}") if total else evaluations,
        ("time", f"{result.execution_time:.3g} s"),
        ("x", vector(result.x)),
    ]
    for row in result.violated[:3]:
        rows.append(("violated", f"{escape(row['name'])} is {row['value']:.6g}, its limit {row['bound']:.6g}"))
    body = "".join(f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{text}</td></tr>" for name, text in rows)
    return f"<div><b style='color:{colour}'>{escape(result.problem)}: {escape(result.message)}</b><table>{body}</table></div>"


def residual(result: Any, name: str) -> str:
    """With its confidence bound, if there is one."""
    text = f"{result[name]:.2e}"
    verdict = result.get("verdict")
    if not verdict:
        return text
    if verdict.get("bounds_unknown"):
        return f"{text} (no bound is known)"
    return f"{text} (at most {verdict[name]['upper']:.2e}, confidence {verdict['confidence']:g})"


def vector(x: np.ndarray) -> str:
    """The first entries."""
    shown = ", ".join(f"{value:.6g}" for value in x[:MOST_SHOWN])
    return f"{shown}, ... ({x.size} in all)" if x.size > MOST_SHOWN else shown
