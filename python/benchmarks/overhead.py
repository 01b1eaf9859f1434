"""What Python costs: the overhead of a call, HS71 beside SciPy's solvers, and a run with 1,000,000 variables beside the one in Rust.

    python benchmarks/overhead.py

All times are those of the processor, so that other work on the machine matters little. NumPy's products of vectors get one thread: a second one of OpenBLAS
keeps the processor busy while it waits for the next product, and that time would count as Python's.
"""

import os
import statistics
import time
import timeit

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is there

import numpy as np
import scipy.optimize
from scipy.optimize import Bounds, NonlinearConstraint

import tangor


def per_call() -> float:
    """Microseconds that a call of the user's function costs beyond the same call made by Python itself.

    The same run with functions of Python's and of Rust's; what Python's own calls take is measured apart.
    """
    native = tangor.collection["ROSENBROCK"]

    def f(x):
        return 100.0 * (x[1] - x[0] * x[0]) ** 2 + (1.0 - x[0]) ** 2

    def g(x):
        a = x[1] - x[0] * x[0]
        return np.array([-400.0 * a * x[0] - 2.0 * (1.0 - x[0]), 200.0 * a])

    mine = tangor.Problem(native.x0, f=f, grad=g)
    report = tangor.minimize(mine)
    counts = report.evaluations

    def run(problem):
        return min(timeit.repeat(lambda: tangor._tangor.Run(problem._model, "{}").advance(), timer=time.process_time, number=20, repeat=30)) / 20

    point = native.x0
    direct = [min(timeit.repeat(lambda: function(point), timer=time.process_time, number=5000, repeat=10)) / 5000 for function in (f, g)]
    by_python = counts["objective"] * direct[0] + counts["gradient"] * direct[1]
    beyond = run(mine) - run(native) - by_python
    return beyond / (counts["objective"] + counts["gradient"]) * 1e6


def hs71() -> dict[str, float]:
    """Median milliseconds of a whole solve, all with the same NumPy functions."""

    def f(x):
        return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]

    def g(x):
        return np.array([x[3] * (2 * x[0] + x[1] + x[2]), x[0] * x[3], x[0] * x[3] + 1, x[0] * (x[0] + x[1] + x[2])])

    def c(x):
        return np.array([x[0] * x[1] * x[2] * x[3], x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2])

    def jac(x):
        p = x[0] * x[1] * x[2] * x[3]
        return np.array([p / x, 2 * x])

    x0, bounds = np.array([1.0, 5.0, 5.0, 1.0]), Bounds([1] * 4, [5] * 4)
    rows = NonlinearConstraint(c, [25, 40], [np.inf, 40], jac)
    old = [
        {"type": "ineq", "fun": lambda x: c(x)[:1] - 25, "jac": lambda x: jac(x)[:1]},
        {"type": "eq", "fun": lambda x: c(x)[1:] - 40, "jac": lambda x: jac(x)[1:]},
    ]
    solvers = {
        "tangor": lambda: tangor.minimize(f, x0, jac=g, bounds=bounds, constraints=rows),
        "tangor, dictionaries": lambda: tangor.minimize(f, x0, jac=g, bounds=bounds, constraints=old),
        "SLSQP": lambda: scipy.optimize.minimize(f, x0, jac=g, bounds=bounds, constraints=old, method="SLSQP"),
        "trust-constr": lambda: scipy.optimize.minimize(f, x0, jac=g, bounds=bounds, constraints=rows, method="trust-constr"),
    }
    times: dict[str, list[float]] = {name: [] for name in solvers}
    # In turns, so that whatever else the machine does hits all alike.
    for turn in range(200):
        for name, solve in solvers.items():
            if name != "trust-constr" or turn < 3:
                before = time.process_time()
                solve()
                times[name].append(1e3 * (time.process_time() - before))
    return {name: statistics.median(taken) for name, taken in times.items()}


def large(n: int = 1_000_000, iterations: int = 30) -> dict[str, float]:
    """Seconds of a run with n variables and one constraint: functions of Rust's, and the same in NumPy writing into the solver's memory."""
    weights = 1.0 + np.arange(n) / n
    scratch = np.empty(n)

    def f(x):
        np.multiply(x, x, out=scratch)
        return 0.5 * float(weights @ scratch)

    def g(x, *, out):
        np.multiply(weights, x, out=out)

    def c(x):
        return x.sum()

    ones = np.ones((1, n))
    settings = {"limits": {"iterations": iterations}, "tolerance": {"stationarity": 1e-300}, "metric": {"kind": "spectral"}}
    python = tangor.Problem(np.ones(n), f=f, grad=g, c=c, jac=lambda x: ones, c_lower=1, c_upper=1)
    rust = tangor.Problem._of(tangor._tangor.weighted_squares(n))
    times = {}
    for name, problem in (("Rust", rust), ("Python", python)):
        runs = []
        for _ in range(3):
            before = time.process_time()
            result = tangor.minimize(problem, settings=settings)
            runs.append(time.process_time() - before)
        times[name] = min(runs)
        times[f"{name}, iterations"] = result.nit
    return times


if __name__ == "__main__":
    print(f"a call of the user's function costs {per_call():.2f} microseconds more than Python's own")
    solved = hs71()
    for name, milliseconds in solved.items():
        print(f"HS71 with {name}: {milliseconds:.3f} ms ({milliseconds / solved['tangor']:.1f} times tangor's)")
    big = large()
    print(f"1,000,000 variables: {big['Python']:.2f} s with NumPy's functions, {big['Rust']:.2f} s with Rust's: {big['Python'] / big['Rust']:.2f}")
