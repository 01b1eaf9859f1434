"""Tangor beside POUNCE on a folder of .nl files.

    python python/benchmarks/pounce.py FOLDER

`pounce` (pip install pounce-solver) and `tangor` must be on the path. Each solver writes its .sol file within the same limits; `tangor verify`
recomputes the residuals of both from point and multipliers, unscaled. A solver that crashes, refuses or is killed has no residuals.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

LEVELS = (1e-3, 1e-4, 1e-6)


def commands(iterations: int, seconds: float) -> dict[str, list[str]]:
    pounce = ["pounce", "STUB", "-AMPL", f"max_iter={iterations}", f"max_wall_time={seconds}", "tol=1e-8"]
    tangor = ["tangor", "STUB", "-AMPL", f"maxit={iterations}", f"timelimit={seconds}"]
    return {
        "tangor, first derivatives": tangor,
        "tangor, second derivatives": [*tangor, "metric.kind=exact"],
        "pounce, limited memory": [*pounce, "hessian_approximation=limited-memory"],
        "pounce, second derivatives": pounce,
    }


def residual(model: pathlib.Path, answer: pathlib.Path) -> float:
    """The largest of the three residuals."""
    if not answer.exists():
        return math.inf
    text = subprocess.run(["tangor", "verify", model, answer], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^ *(?:stationarity|feasibility|complementarity) +(\S+)", text, re.M)
    return max(map(float, found)) if len(found) == 3 else math.inf


def run(command: list[str], model: pathlib.Path, seconds: float) -> tuple[float, float]:
    """The residual that was reached, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        stub = pathlib.Path(folder) / model.stem
        copy = pathlib.Path(shutil.copy(model, stub.with_suffix(".nl")))
        start = time.perf_counter()
        try:
            subprocess.run([str(stub) if word == "STUB" else word for word in command], capture_output=True, timeout=seconds + 10, check=False)
        except subprocess.TimeoutExpired:
            pass
        return residual(copy, stub.with_suffix(".sol")), time.perf_counter() - start


def main() -> None:
    arguments = argparse.ArgumentParser(description="Tangor beside POUNCE on a folder of .nl files")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--iterations", type=int, default=3000)
    arguments.add_argument("--seconds", type=float, default=20.0)
    given = arguments.parse_args()
    models = sorted(given.folder.glob("*.nl"))
    solvers = commands(given.iterations, given.seconds)
    reached: dict[str, dict[str, float]] = {solver: {} for solver in solvers}
    times = dict.fromkeys(solvers, 0.0)
    for count, model in enumerate(models, start=1):
        for solver, command in solvers.items():
            reached[solver][model.stem], seconds = run(command, model, given.seconds)
            times[solver] += seconds
        print(f"\r{count} of {len(models)}", end="", flush=True)
    print("\r| all residuals at most | " + " | ".join(f"{level:.0e}" for level in LEVELS) + " | seconds |")
    print("| --- |" + " ---: |" * (len(LEVELS) + 1))
    for solver, found in reached.items():
        counts = [sum(value <= level for value in found.values()) for level in LEVELS]
        print(f"| {solver} | " + " | ".join(map(str, counts)) + f" | {times[solver]:.0f} |")
    solved = {solver: {name for name, value in found.items() if value <= 1e-6} for solver, found in reached.items()}
    ours = set().union(*(names for solver, names in solved.items() if solver.startswith("tangor")))
    theirs = set().union(*(names for solver, names in solved.items() if solver.startswith("pounce")))
    print(f"\nto 1e-6 by Tangor alone ({len(ours - theirs)}): {', '.join(sorted(ours - theirs))}")
    print(f"to 1e-6 by POUNCE alone ({len(theirs - ours)}): {', '.join(sorted(theirs - ours))}")


if __name__ == "__main__":
    main()
