"""Tangor for Pyomo: `import tangor.pyomo`, and `SolverFactory("tangor")` is there, in both of Pyomo's solver interfaces.

    import pyomo.environ as pyo
    import tangor.pyomo

    results = pyo.SolverFactory("tangor").solve(model, options={"tol": 1e-8}, timelimit=60)

    from pyomo.contrib.solver.common.factory import SolverFactory
    results = SolverFactory("tangor").solve(model, solver_options={"tol": 1e-8}, time_limit=60)

The run starts at the values of the variables. Options are `tol`, `maxit`, `timelimit`, `outlev` and every setting by its path or as a
nested dictionary. Duals, reduced costs and multipliers of bounds arrive in the suffixes `dual`, `rc`, `tangor_zL_out`, `tangor_zU_out`
(and Ipopt's `ipopt_zL_out`, `ipopt_zU_out`) that the model declares for import.
"""

from pyomo.contrib.solver.common.factory import SolverFactory

from ._legacy import LegacyTangor
from ._solver import Tangor

__all__ = ["LegacyTangor", "Tangor"]

SolverFactory.register("tangor", doc="Tangor: nonconvex constrained optimisation")(Tangor, LegacyTangor)
