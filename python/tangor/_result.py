"""`tangor.Result`: what a run gives back."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

#: SciPy's status numbers: 0 is success, the others say why the run ended without it.
SUCCESS = 0
STATUS = {
    "tolerance": 9,
    "unbounded": 10,
    "iterations": 1,
    "wall_time": 2,
    "evaluations": 3,
    "samples": 4,
    "noise_floor": 5,
    "step_too_small": 6,
    "evaluation_failed": 7,
    "numerical_trouble": 8,
    "user": 99,
}


#: The residuals that tell what a point is.
RESIDUALS = ("stationarity", "feasibility", "complementarity")


class Result(OptimizeResult):
    """A `scipy.optimize.OptimizeResult` with SciPy's fields and ours.

    x, fun, jac, success, status, message, nit, nfev, njev, execution_time
        As SciPy has them; `jac` is the gradient of the objective.
    constr, v
        Values and multipliers of the constraints as a list, one array for each constraint that was given; the last of `v` belongs to
        the bounds, if there are any. Signs are those of trust-constr: the gradient of `fun + v . constr` vanishes.
    constr_violation, optimality
        The largest violation, and `stationarity`.
    stop, point
        Why the run ended, and, apart from that, what the point is: "eps_kkt", "eps_infeasible_stationary", "unbounded",
        "feasible" or "nothing".
    stationarity, feasibility, complementarity
        The three residuals, unscaled, 2-norm.
    violated
        The most violated constraints by name, worst first.
    trace
        The iterations as columns; `result.to_frame()` makes a pandas.DataFrame of them.
    verdict, fun_error
        Of a noisy run: the residuals with confidence bounds, and how far `fun` may be off; None where it is exact or unknown.
    tolerance, certified
        Of `minimize_sampled`: the tolerances with a sentence on how they were chosen, and the upper confidence bounds, infinite
        where none is known (`verdict["bounds_unknown"]`).
    """

    x: NDArray[np.float64]
    fun: float
    jac: NDArray[np.float64]
    grad: NDArray[np.float64]
    success: bool
    status: int
    message: str
    nit: int
    nfev: int
    njev: int
    execution_time: float
    constr: list[NDArray[np.float64]]
    v: list[NDArray[np.float64]]
    row_multipliers: NDArray[np.float64]
    bound_multipliers: NDArray[np.float64]
    constr_violation: float
    maxcv: float
    optimality: float
    problem: str
    stop: str
    point: str
    stationarity: float
    feasibility: float
    complementarity: float
    infeasible_stationarity: float
    rho: float
    violated: list[dict[str, Any]]
    evaluations: dict[str, int]
    samples: dict[str, int]
    unusual: dict[str, int]
    failure: str | None
    verdict: dict[str, Any] | None
    fun_error: float | None
    trace: dict[str, Any]
    tolerance: dict[str, Any]
    certified: dict[str, float]
    settings_json: str
    method: str
    version: str

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the run, read from `settings_json` when somebody asks: a small run would take longer to read them than to iterate."""
        read: dict[str, Any] = json.loads(self["settings_json"])
        return read

    def __missing__(self, key: str) -> Any:
        if key == "settings":
            return self.settings
        raise KeyError(key)

    def __dir__(self) -> list[str]:
        return [*self.keys(), "settings", "plot", "to_frame"]

    def __repr__(self) -> str:
        return summary(self)

    def __str__(self) -> str:
        return summary(self)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.items() if key != "problem_object"}

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.__getstate__())

    def to_frame(self) -> Any:
        """The trace as a pandas.DataFrame, one row for each iteration."""
        import pandas

        return pandas.DataFrame(self.trace)

    def plot(self, problem: Any = None) -> Any:
        """Residuals, merit parameter and stepsize over the iterations; for two variables also the path over contours.

        Gives the figure of matplotlib.
        """
        from ._plot import plot

        return plot(self, problem if problem is not None else self.get("problem_object"))

    def _repr_html_(self) -> str:
        from ._html import html

        return html(self)


def _rebuild(kind: type, state: dict[str, Any]) -> Any:
    return kind(state)


def error_of(verdict: dict[str, Any] | None) -> float | None:
    """How far the objective of a noisy run may be off, with the confidence of its verdict; None where it is exact or unknown."""
    judged = verdict.get("objective") if verdict else None
    error = None if judged is None else judged["error"]
    return None if error is None else float(error)


def make(report: dict[str, Any], sizes: list[int], with_bounds: bool) -> Result:
    """From the extension's report. `sizes` are the rows of each constraint that was given."""
    rest = json.loads(report.pop("rest"))
    calls = report.pop("calls")
    y, mu, c = report.pop("row_multipliers"), report.pop("bound_multipliers"), report.pop("constr")
    multipliers = parts(y, sizes)
    if with_bounds:
        multipliers.append(-mu)
    evaluations = rest["evaluations"]
    failure = rest["failure"]
    result = Result(report)
    result.update(
        success=report["point"] == "eps_kkt",
        status=SUCCESS if report["point"] == "eps_kkt" else STATUS[report["stop"]],
        constr=parts(c, sizes),
        v=multipliers,
        row_multipliers=y,
        bound_multipliers=mu,
        nfev=(calls[0] + calls[4]) or evaluations["objective"],
        njev=calls[1] + calls[4] or evaluations["gradient"],
        maxcv=report["constr_violation"],
        optimality=report["stationarity"],
        evaluations=evaluations,
        samples=rest["samples"],
        verdict=rest["verdict"],
        fun_error=error_of(rest["verdict"]),
        violated=rest["worst_rows"],
        unusual={name: count for name, count in rest["unusual"]},
        failure=None if failure is None else failure["message"],
        version=rest["tangor"],
        method="tangor",
    )
    return result


def parts(values: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    """One array for each constraint that was given."""
    ends = list(itertools.accumulate(sizes))
    return [values[end - size : end] for size, end in zip(sizes, ends)]


def stopped_at_the_start(x0: Any, problem: Any = None) -> Result:
    """After Ctrl-C before anything was known of the problem but its start."""
    x = np.array(x0, dtype=float).reshape(-1)
    name = "problem" if problem is None else problem.name
    return Result(
        problem=name, x=x, fun=np.nan, jac=np.full(x.size, np.nan), grad=np.full(x.size, np.nan), success=False, status=STATUS["user"],
        stop="user", point="nothing", message="Stopped because it was interrupted, before the functions were known at the start.",
        nit=0, nfev=0, njev=0, execution_time=0.0, constr=[], v=[], constr_violation=np.nan, maxcv=np.nan, optimality=np.nan,
        **dict.fromkeys(RESIDUALS, np.nan), violated=[], evaluations={}, samples={}, unusual={}, failure=None, verdict=None, fun_error=None,
        settings_json="{}", trace={}, tolerance={}, certified={}, method="tangor", problem_object=problem,
    )  # fmt: skip


def objective(result: Any) -> str:
    """With its error bar, if it has one; a noisy run need not know it, and there may be nothing to minimise."""
    if not getattr(result.get("problem_object"), "has_objective", True):
        return "none: only constraints to satisfy"
    if np.isnan(result.fun):
        return "unknown"
    error = result.get("fun_error")
    return f"{result.fun:.10g} +- {error:.2g}" if error else f"{result.fun:.10g}"


def counted(count: int, what: str) -> str:
    """`1 sample`, `2 samples`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def summary(result: Result) -> str:
    """For people."""
    if "stop" not in result:
        return str(OptimizeResult.__repr__(result))
    lines = [
        f"{result.problem}: {result.message}",
        f"  objective       {objective(result)}",
        f"  x               {np.array2string(result.x, threshold=8, precision=6, max_line_width=110)}",
    ]
    verdict = result.get("verdict")
    for name in RESIDUALS:
        line = f"  {name:<15} {getattr(result, name):.2e}"
        if verdict:
            line += f"  (at most {verdict[name]['upper']:.2e} with confidence {verdict['confidence']:g})"
        lines.append(line)
    for row in result.violated[:3]:
        lines.append(f"  violated        {row['name']} is {row['value']:.6g}, its limit {row['bound']:.6g}")
    total = sum(result.samples.values())
    # Values of the objective are nothing that a noisy run asks for.
    functions = f"{counted(result.nfev, 'value')} and {counted(result.njev, 'gradient')} of the objective"
    effort = counted(total, "sample") if total else functions
    lines.append(f"  {counted(result.nit, 'iteration')}, {effort}, {result.execution_time:.3g} s")
    return "\n".join(lines)
