"""Tangor beside SLSQP, trust-constr and Ipopt on the embedded problems: who solves what, and how long it takes.

    python benchmarks/beside.py

All get the same Python functions: value, gradient, constraints and a dense Jacobian. A problem is solved when the point violates no
constraint by more than 1e-6 and its objective is at most 1e-6 (relative to max(1, |f|)) above the best known value; a better value counts as
well. Left out are problems without an objective or a feasible point, and those with more than 1000 variables (CHAIN, CHAINBALLS), whose
dense Jacobians SLSQP could not hold. Each run has 20 seconds of the processor, and times are those of the
processor: short runs are repeated, for its clock is coarse while a limit runs, and their mean is taken. Ipopt comes from `pip install cyipopt` (which needs Ipopt's library) or, without that, from `pip install ipyopt` (which brings it);
it uses limited-memory second derivatives, since there are none to give it.
"""

import signal
import time
import warnings

import numpy as np
import scipy.optimize
from scipy.optimize import NonlinearConstraint

import tangor

SECONDS = 20
TOLERANCE = 1e-6
MOST_VARIABLES = 1000
#: Runs are repeated until they took so long, or so often.
ENOUGH_SECONDS, ENOUGH_RUNS = 0.2, 100


class Late(Exception):
    """The time is over."""


def late(number, frame):
    raise Late


def rows(problem):
    """All constraints as one of SciPy's."""
    if not problem.m:
        return []
    return [NonlinearConstraint(problem.c, problem.c_lower, problem.c_upper, dense(problem))]


def dense(problem):
    return lambda x: problem.jac(x).toarray()


def with_tangor(problem):
    f = dict(f=problem.f, grad=problem.grad) if problem.has_objective else {}
    c = dict(c=problem.c, jac=dense(problem), c_lower=problem.c_lower, c_upper=problem.c_upper) if problem.m else {}
    return tangor.minimize(tangor.Problem(problem.x0, **f, **c, bounds=problem.bounds)).x


def with_scipy(method, **options):
    def solve(problem):
        return scipy.optimize.minimize(
            problem.f, problem.x0, jac=problem.grad, bounds=problem.bounds, constraints=rows(problem), method=method, **options
        ).x

    return solve


def with_cyipopt(problem):
    import cyipopt

    return cyipopt.minimize_ipopt(problem.f, problem.x0, jac=problem.grad, bounds=problem.bounds, constraints=rows(problem)).x


def with_ipyopt(problem):
    import ipyopt

    n, m = problem.n, problem.m
    places = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
    none = np.empty(0, int), np.empty(0, int)

    def fill(function):
        def write(x, out):
            out[()] = np.asarray(function(x)).reshape(-1)
            return out

        return write

    solver = ipyopt.Problem(
        n, problem.bounds.lb, problem.bounds.ub, m, problem.c_lower, problem.c_upper, places, none,
        problem.f, fill(problem.grad), fill(problem.c), fill(dense(problem)),
    )  # fmt: skip
    solver.set(print_level=0, sb="yes", hessian_approximation="limited-memory")
    return solver.solve(problem.x0.copy())[0]


def solvers():
    found = {
        "Tangor": with_tangor,
        "SLSQP": with_scipy("SLSQP", options={"maxiter": 1000, "ftol": 1e-10}),
        "trust-constr": with_scipy("trust-constr", options={"maxiter": 3000}),
    }
    for name, package, solve in (("Ipopt (cyipopt)", "cyipopt", with_cyipopt), ("Ipopt (ipyopt)", "ipyopt", with_ipyopt)):
        try:
            __import__(package)
        except ImportError:
            print(f"{package} is not installed: left out")
        else:
            found[name] = solve
            break
    return found


def solved(problem, x):
    """Feasible, and as good as the best known value."""
    if x is None or not np.all(np.isfinite(x)):
        return False
    best, value = problem.known["fun"], problem.f(x)
    short = [problem.bounds.lb - x, x - problem.bounds.ub]
    if problem.m:
        c = problem.c(x)
        short += [problem.c_lower - c, c - problem.c_upper]
    return max(part.max(initial=0.0) for part in short) <= TOLERANCE and value <= best + TOLERANCE * max(1.0, abs(best))


def timed(solve, problem):
    """What a solver gives, and the seconds of a run."""
    x, runs, before = None, 0, time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        while runs == 0 or (runs < ENOUGH_RUNS and time.process_time() - before < ENOUGH_SECONDS):
            x = solve(problem)
            runs += 1
    except Late:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return x, (time.process_time() - before) / max(runs, 1)


def main():
    signal.signal(signal.SIGPROF, late)
    problems = {name: problem for name, problem in tangor.collection.items() if problem.known["fun"] is not None and problem.n <= MOST_VARIABLES}
    table = {}
    for method, solve in solvers().items():
        for name, problem in problems.items():
            x, seconds = None, float("nan")
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    x, seconds = timed(solve, problem)
            except Exception as error:
                print(f"{method} on {name}: {type(error).__name__}: {error}")
            table[method, name] = solved(problem, x), seconds
    methods = list(dict.fromkeys(method for method, _ in table))
    all_solve = [name for name in problems if all(table[method, name][0] for method in methods)]
    print(f"\n{len(problems)} problems, {len(all_solve)} of them solved by all\n")
    print("| solver | solved | time on those that all solve, sum | median | not solved |")
    print("| --- | --- | --- | --- | --- |")
    for method in methods:
        times = [table[method, name][1] for name in all_solve]
        missed = [name for name in problems if not table[method, name][0]]
        print(f"| {method} | {len(problems) - len(missed)} | {sum(times):.3f} s | {1e3 * np.median(times):.2f} ms | {', '.join(missed) or 'none'} |")


if __name__ == "__main__":
    main()
