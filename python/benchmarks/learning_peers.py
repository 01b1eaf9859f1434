"""Other methods for learning under constraints, each with the grid that it is tuned on: Cooper (cooper-optim) and humancompatible-train.

All have Adam for the parameters, whose learning rate falls along half a cosine.
"""

import itertools
import math

import torch


def grid(**choices):
    """All combinations."""
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def rates(task):
    return [1e-3, 3e-3, 1e-2] if "network" in task.name else [3e-3, 1e-2, 3e-2]


def has_equalities(task):
    return bool((task.lower == task.upper).any())


class Adam:
    """Parameters with their optimizer."""

    def __init__(self, task, seed, rate):
        self.x = torch.nn.Parameter(task.start(seed))
        self.rate, self.optimizer = rate, torch.optim.Adam([self.x], lr=rate)

    def set_share(self, done):
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * max(1e-3, 0.5 * (1.0 + math.cos(math.pi * done)))


class Cooper(Adam):
    """Lagrangian, augmented Lagrangian and nuPI of Cooper."""

    def __init__(self, task, seed, form, rate, dual, penalty=None, proportional=None):
        import cooper

        super().__init__(task, seed, rate)
        augmented, outer = form == "augmented", self
        kinds = cooper.formulations
        formulation = kinds.AugmentedLagrangian if augmented else kinds.Lagrangian

        def constraint(kind, count):
            multiplier = cooper.multipliers.DenseMultiplier(num_constraints=count, dtype=torch.float64)
            extra = {}
            if augmented:
                extra["penalty_coefficient"] = cooper.penalty_coefficients.DensePenaltyCoefficient(init=torch.tensor(penalty))
            return cooper.Constraint(constraint_type=kind, formulation_type=formulation, multiplier=multiplier, **extra)

        counts = [len(one) for one in task.rows(torch.zeros(len(task.lower)))]

        class Problem(cooper.ConstrainedMinimizationProblem):
            def __init__(self):
                super().__init__()
                types = cooper.ConstraintType
                if counts[0]:
                    self.equal = constraint(types.EQUALITY, counts[0])
                if counts[1]:
                    self.below = constraint(types.INEQUALITY, counts[1])

            def compute_cmp_state(self, batch):
                loss, c = task.evaluate(outer.x, batch)
                names, values = ("equal", "below"), task.rows(c)
                seen = {getattr(self, name): cooper.ConstraintState(violation=v) for name, v in zip(names, values) if len(v)}
                return cooper.CMPState(loss=loss, observed_constraints=seen)

        problem = Problem()
        if form == "nupi":
            gains = {"Kp": torch.tensor(proportional), "Ki": torch.tensor(1.0), "ema_nu": 0.9}
            ascent = cooper.optim.nuPI(problem.dual_parameters(), lr=dual, maximize=True, **gains)
        else:
            ascent = torch.optim.SGD(problem.dual_parameters(), lr=dual, maximize=True)
        both = {"primal_optimizers": self.optimizer, "dual_optimizers": ascent}
        self.whole = cooper.optim.AlternatingDualPrimalOptimizer(cmp=problem, **both)

    def step(self, batch):
        self.whole.roll(compute_cmp_state_kwargs={"batch": batch})


class HumanCompatible(Adam):
    """Augmented Lagrangian and penalty-barrier method of humancompatible-train. The barrier takes an equality as two inequalities."""

    WIDTH = 1e-3

    def __init__(self, task, seed, form, rate, dual=None, penalty=None, shrink=None, smooth=None):
        from humancompatible.train import dual_optim

        super().__init__(task, seed, rate)
        self.task, self.form = task, form
        equal, below = (len(one) for one in task.rows(torch.zeros(len(task.lower))))
        if form == "augmented":
            self.dual = dual_optim.ALM(m=equal or below, is_ineq=not equal, lr=dual, penalty=penalty)
        else:
            still = {"gamma_annealing": False, "penalty_annealing": False, "penalty_update": "dimin_adapt", "init_duals": 0.01}
            self.dual = dual_optim.PBM(m=2 * equal + below, penalty_mult=shrink, gamma=smooth, **still)

    def step(self, batch):
        loss, c = self.task.evaluate(self.x, batch)
        equal, below = self.task.rows(c)
        rows = torch.cat([equal, below])
        if self.form == "barrier":
            rows = torch.cat([equal - self.WIDTH, -equal - self.WIDTH, below])
        self.dual.forward_update(loss, rows).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def methods(task):
    """By name: how a method is made, and what it is tuned on."""
    equal, rate = has_equalities(task), rates(task)
    duals = [0.01, 0.1, 1.0] if equal else [0.01, 0.03, 0.1, 0.3, 1.0]
    penalties, slow = ([10.0, 100.0], [0.1, 1.0, 10.0]) if equal else ([0.1, 1.0, 10.0], [0.03, 0.3])
    gains = grid(rate=rate, dual=[0.01, 0.1] if equal else [0.03, 0.1, 0.3], proportional=[1.0, 10.0])
    both = grid(rate=rate, dual=slow, penalty=penalties)
    return {
        "Cooper, Lagrangian": (Cooper, "lagrangian", grid(rate=rate, dual=duals)),
        "Cooper, nuPI": (Cooper, "nupi", gains),
        "Cooper, augmented Lagrangian": (Cooper, "augmented", both),
        "humancompatible-train, ALM": (HumanCompatible, "augmented", both),
        "humancompatible-train, PBM": (HumanCompatible, "barrier", grid(rate=rate, shrink=[0.9, 0.99], smooth=[0.9, 0.99])),
    }
