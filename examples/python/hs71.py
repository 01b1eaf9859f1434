"""Problem 71 of Hock and Schittkowski: exact functions, so that Tangor solves it as any other problem.

    minimise x0 x3 (x0 + x1 + x2) + x2   subject to   x0 x1 x2 x3 >= 25,  |x|^2 = 40,  1 <= x <= 5

The least value is 17.0140173.
"""

import math

import oracle


def objective(x, draws):
    return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]


def gradient(x, draws):
    total = x[0] + x[1] + x[2]
    return [x[3] * (x[0] + total), x[0] * x[3], x[0] * x[3] + 1.0, x[0] * total]


def constraints(x, draws):
    return [math.prod(x), sum(value * value for value in x)]


def jacobian(x, draws):
    product = [math.prod(x[:i]) * math.prod(x[i + 1:]) for i in range(4)]
    return product + [2.0 * value for value in x]


oracle.serve(
    "HS71", [1.0, 5.0, 5.0, 1.0], gradient, objective, constraints, jacobian,
    x_lower=[1.0] * 4, x_upper=[5.0] * 4, c_lower=[25.0, 40.0], c_upper=[None, 40.0], row_names=["product", "sphere"],
)
