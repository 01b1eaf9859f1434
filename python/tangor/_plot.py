"""Pictures of a run with matplotlib."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ._numbers import count_of
from ._problem import Problem

RESIDUALS = ("stationarity", "feasibility", "complementarity")
#: What was found, in the words of a title.
FOUND = {
    "eps_kkt": "a KKT point within the tolerances",
    "eps_infeasible_stationary": "an infeasible stationary point",
    "unbounded": "unbounded",
    "feasible": "not solved, but feasible",
}
#: The fewest and the most points on each side of a picture of contours, and about how long their functions may take.
SIDES, SECONDS = (20, 80), 3.0


def plot(result: Any, problem: Any) -> Any:
    """Residuals, merit parameter and stepsize; for two variables the path as well."""
    if not len(result.trace.get("iteration", ())):
        raise ValueError("the run ended before its first iteration: there is nothing to plot")
    import matplotlib.pyplot as plt

    from ._picture import Picture

    with_path = "x0" in result.trace and isinstance(problem, Problem)
    size = (14, 4) if with_path else (9, 4)
    figure, axes = plt.subplots(1, 3 if with_path else 2, figsize=size, layout="constrained", FigureClass=Picture)
    draw_residuals(axes[0], result)
    draw_parameters(axes[1], result)
    if with_path:
        draw_path(axes[2], result, problem)
    figure.suptitle(f"{result.problem}: {FOUND.get(result.point, 'not solved')} after {count_of(result.nit, 'iteration')}", fontsize=11)
    return figure


def draw_residuals(axes: Any, result: Any) -> None:
    trace = result.trace
    for name in RESIDUALS:
        values = np.asarray(trace[name])
        # What is zero has no place on a logarithmic axis.
        shown = name if np.any(values > 0) else f"{name}: 0"
        axes.semilogy(trace["iteration"], np.where(values > 0, values, np.nan), label=shown, linewidth=1.2)
    for k, name in enumerate(RESIDUALS):
        judged = trace.get(f"judged_{name}")
        if judged is not None:
            label = "judged on fresh samples" if k == 0 else None
            axes.semilogy(trace["iteration"], np.where(judged > 0, judged, np.nan), "o", color=f"C{k}", fillstyle="none", label=label)
    axes.axhline(result.settings["tolerance"]["stationarity"], color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("iteration")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title("residuals, estimated" if result.get("verdict") else "residuals", fontsize=10)
    axes.legend(fontsize=8)


def draw_parameters(axes: Any, result: Any) -> None:
    trace = result.trace
    steps = np.asarray(trace["eta"])
    axes.semilogy(trace["iteration"], trace["rho"], label="merit parameter rho", linewidth=1.2)
    axes.semilogy(trace["iteration"], np.where(steps > 0, steps, np.nan), label="stepsize eta", linewidth=1.2)
    axes.set_xlabel("iteration")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title("rho and eta", fontsize=10)
    axes.legend(fontsize=8)


def draw_path(axes: Any, result: Any, problem: Any) -> None:
    """Contours of the objective, the feasible region, and each step with its normal and its tangent part."""
    path = np.column_stack([result.trace["x0"], result.trace["x1"]])
    draw_contours(axes, path, problem)
    axes.plot(path[:, 0], path[:, 1], "o-", color="tab:red", markersize=2.5, linewidth=0.8)
    for start, end in zip(path[:-1], path[1:]):
        normal, tangent = parts(problem, start, end - start)
        for part, colour, origin in ((normal, "tab:blue", start), (tangent, "tab:orange", start + normal)):
            axes.annotate("", origin + part, origin, arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.8})
    axes.set_xlabel(problem.variable_names[0])
    axes.set_ylabel(problem.variable_names[1])
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("path: normal (blue) and tangent (orange) parts", fontsize=10)


def draw_contours(axes: Any, path: np.ndarray, problem: Any) -> None:
    """Of the objective, and where constraints are at their limits; no function is called outside of the bounds."""
    low, high = path.min(axis=0), path.max(axis=0)
    margin = 0.35 * max(*(high - low), 1e-3)
    low, high = np.maximum(low - margin, problem.bounds.lb), np.minimum(high + margin, problem.bounds.ub)
    if not np.all(low < high):
        return
    side = fineness(problem, path[-1])
    first, second = np.meshgrid(*(np.linspace(low[i], high[i], side) for i in range(2)))
    points = np.column_stack([first.ravel(), second.ravel()])
    if problem.has_objective:
        values = np.array([_value(problem.f, point) for point in points]).reshape(first.shape)
        axes.contour(first, second, values, levels=20, linewidths=0.6, cmap="viridis")
    if problem.m:
        rows = np.array([_value(problem.c, point, problem.m) for point in points])
        for i in range(problem.m):
            for limit in {problem.c_lower[i], problem.c_upper[i]}:
                if np.isfinite(limit):
                    axes.contour(first, second, rows[:, i].reshape(first.shape), levels=[limit], colors="black", linewidths=1.2)


def fineness(problem: Any, x: np.ndarray) -> int:
    """Points on each side of the picture: fewer where functions are slow, so that nobody waits long for it."""
    began = time.perf_counter()
    _value(problem.f, x)
    _value(problem.c, x, problem.m)
    return int(np.clip(np.sqrt(SECONDS / max(time.perf_counter() - began, 1e-9)), *SIDES))


def parts(problem: Any, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The part of a step in the span of the gradients of the constraints that bind at `x`, and the rest."""
    if not problem.m:
        return np.zeros(2), step
    c, near = problem.c(x), 1e-6
    binding = (problem.c_lower == problem.c_upper) | (c <= problem.c_lower + near) | (c >= problem.c_upper - near)
    rows = problem.jac(x).toarray()[binding]
    if not rows.size:
        return np.zeros(2), step
    normal = rows.T @ np.linalg.lstsq(rows @ rows.T, rows @ step, rcond=None)[0]
    return normal, step - normal


def _value(function: Any, point: np.ndarray, count: int | None = None) -> Any:
    """Where there is no value there is no contour."""
    try:
        return function(point)
    except Exception:
        return np.nan if count is None else np.full(count, np.nan)
