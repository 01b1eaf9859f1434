"""Nonconvex constrained optimisation, exact and noisy, with steps that find their own length.

    import tangor
    result = tangor.minimize(fun, x0, bounds=bounds, constraints=constraints)
    print(result)
"""

from importlib.metadata import version as _version

from ._automatic import from_jax, from_torch
from ._check import DerivativeCheck, check_derivatives
from ._files import Collection, FileProblem, collection, read
from ._minimize import minimize, scipy_method
from ._problem import Problem
from ._result import Result
from ._sampled import minimize_sampled
from ._sampled_problem import SampledProblem
from ._settings import Settings
from ._solver import Solver
from ._tangor import Row, Undefined
from ._verify import verify

__version__ = _version("tangor")

__all__ = [
    "Collection",
    "DerivativeCheck",
    "FileProblem",
    "Problem",
    "Result",
    "Row",
    "SampledProblem",
    "Settings",
    "Solver",
    "Undefined",
    "check_derivatives",
    "collection",
    "from_jax",
    "from_torch",
    "minimize",
    "minimize_sampled",
    "read",
    "scipy_method",
    "verify",
]
