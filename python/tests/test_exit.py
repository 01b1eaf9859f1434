"""The interpreter exits while a daemon thread is inside of a run: the process ends as if the thread were not there."""

import subprocess
import sys

import pytest

SCRIPT = """
import itertools, threading, time
import numpy as np
from scipy.sparse import csr_array
import tangor

X, WORDS = [-1.2, 1.0], dict(tol=1e-300)
calls, reached = itertools.count(), threading.Event()

def stay():
    "After some calls it is here that the thread is when the interpreter exits."
    if next(calls) > 12:
        reached.set()
        while True:
            pass

def plain(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

def slope(x):
    return np.array([400 * x[0] * (x[0] ** 2 - x[1]) + 2 * x[0] - 2, 200 * (x[1] - x[0] ** 2)])

def f(x, *args):
    stay()
    return plain(x)

def waits(x):
    next(calls) > 12 and reached.set()
    time.sleep(0.01)
    return plain(x)

def writes(x, *, out=None):
    stay()
    if out is None:
        return slope(x)
    out[:] = slope(x)

def noisy(x, draws):
    stay()
    return x - np.random.default_rng(int(draws[0])).normal(size=2), None, None

class Slope:
    def __init__(self, x):
        self.x = x
    def __array__(self, dtype=None, copy=None):
        stay()
        return slope(self.x)

class Number:
    def __init__(self, x):
        self.x = x
    def item(self):
        stay()
        return plain(self.x)

class Float(Slope):
    def __float__(self):
        stay()
        return plain(self.x)

class Anything(Slope):
    def __getattr__(self, name):
        stay()
        raise AttributeError(name)

class Matrix(csr_array):
    def tocsr(self, copy=False):
        stay()
        return super().tocsr(copy)

class Shape(csr_array):
    @property
    def shape(self):
        stay()
        return super().shape

def run():
    while True:
        RUN

threading.Thread(target=run, daemon=True).start()
assert reached.wait(30)
"""

SPARSE = "tangor.minimize(tangor.Problem(X, f=plain, grad=slope, c=lambda x: x[:1] * x[1], jac=lambda x: {}([[x[1], x[0]]])), **WORDS)"
RUNS = {
    "objective": "tangor.minimize(f, X, **WORDS)",
    "with arguments": "tangor.minimize(f, X, (1, 2), **WORDS)",
    "that waits": "tangor.minimize(waits, X, **WORDS)",
    "in threads": "tangor._threads.Threads.map = lambda *args: stay() or list(map(*args[1:])); tangor.minimize(plain, X, threads=2, **WORDS)",
    "constraints": "tangor.minimize(plain, X, constraints={'type': 'eq', 'fun': f}, **WORDS)",
    "gradient into out": "tangor.Solver(tangor.Problem(X, f=plain, grad=writes), **WORDS).run()",
    "callback": "tangor.minimize(plain, X, callback=lambda row: stay(), **WORDS)",
    "noisy": "tangor.minimize_sampled(noisy, X, samples=10**9)",
    "array": "tangor.minimize(plain, X, jac=Slope, **WORDS)",
    "number": "tangor.minimize(Number, X, jac=slope, **WORDS)",
    "float": "tangor.minimize(Float, X, jac=slope, **WORDS)",
    "attributes": "tangor.minimize(plain, X, jac=Anything, **WORDS)",
    "matrix": SPARSE.format("Matrix"),
    "property": SPARSE.format("Shape"),
    "check": "tangor.check_derivatives(tangor.Problem(X, f=f))",
    "value": "tangor.Problem(X, f=f).f(X)",
    "fit": "import tangor.sklearn as ours; rows = np.random.default_rng(0).normal(size=(200, 2)); "
    "ours.Loss.evaluate = lambda *args, known=ours.Loss.evaluate: stay() or known(*args); "
    "ours.ConstrainedLogisticRegression(rate_gap={'group': 0.01}).fit(rows, rows[:, 0] > 0, groups={'group': rows[:, 1] > 0})",
    "run in a function": "tangor.minimize(lambda x: tangor.minimize(f, x, **WORDS).fun, X, **WORDS)",
}


@pytest.mark.parametrize("what", RUNS)
def test_a_daemon_thread_inside_of_a_run_does_not_abort(what, tmp_path):
    script = SCRIPT.replace("RUN\n", RUNS[what] + "\n")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
