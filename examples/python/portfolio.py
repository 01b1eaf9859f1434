"""A portfolio from 1000 recorded days of 50 assets: a finite population, evaluated with NumPy.

    minimise    average over days of (r'x - target)^2
    subject to  average over days of r'x >= target,   sum x = 1,   0 <= x <= 0.2

The days are generated here; a real model would load them. No portfolio of these assets earns more than 0.039 on average.

    tangor solve --oracle "python3 portfolio.py" --tolerance 1e-3 --batch 50
"""

import sys

import oracle

try:
    import numpy
except ImportError:
    sys.exit("This model needs NumPy, which is not installed: python3 -m pip install numpy")

DAYS, ASSETS, TARGET = 1000, 50, 0.02
SOURCE = numpy.random.default_rng(1)
MARKET = SOURCE.normal(0.05, 1.0, (DAYS, 1))
RETURNS = SOURCE.uniform(0.2, 1.5, ASSETS) * MARKET + SOURCE.normal(0.02, 0.5, (DAYS, ASSETS))


def of(x, draws):
    """The point, the returns on the days drawn, and what the portfolio earns on them."""
    x, returns = numpy.frombuffer(x), RETURNS[numpy.frombuffer(draws, dtype=numpy.uint64).astype(int)]
    return x, returns, returns @ x


def objective(x, draws):
    _, _, earned = of(x, draws)
    return numpy.mean((earned - TARGET) ** 2)


def gradient(x, draws):
    _, returns, earned = of(x, draws)
    return 2.0 * (earned - TARGET) @ returns / len(draws)


def constraints(x, draws):
    x, _, earned = of(x, draws)
    return numpy.array([earned.mean(), x.sum()])


def jacobian(x, draws):
    _, returns, _ = of(x, draws)
    return numpy.concatenate([returns.mean(axis=0), numpy.ones(ASSETS)])


oracle.serve(
    "portfolio", [1.0 / ASSETS] * ASSETS, gradient, objective, constraints, jacobian,
    x_lower=[0.0] * ASSETS, x_upper=[0.2] * ASSETS, c_lower=[TARGET, 1.0], c_upper=[None, 1.0],
    row_names=["return", "budget"], linear_rows=[True, True],
    gradient_access=oracle.finite(DAYS), constraints_access=oracle.finite(DAYS), jacobian_access=oracle.finite(DAYS),
)
