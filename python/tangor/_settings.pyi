"""The classes of `tangor.Settings`, made by `stub()`; a test looks whether they are current, and says how to make them anew."""

from typing import Any, Literal

from ._schema import Section

class Tolerance(Section):
    """When a point is good enough. All residuals are unscaled."""

    stationarity: float
    """Largest `|g + J^T y - mu|` (2-norm) of an eps-KKT point; > 0. Default: 1e-6, as the field has it."""

    feasibility: float
    """Largest violation of the constraints (2-norm) of an eps-KKT point; > 0. Default: 1e-6."""

    complementarity: float
    """Largest sum of multiplier times distance to the bound; > 0. Default: 1e-6."""

    infeasible: float
    """Largest projected gradient of the violation, divided by `min(1, violation)`, of an infeasible stationary point; > 0.
    Default: 1e-6.
    """

    def __init__(
        self,
        stationarity: float = ...,
        feasibility: float = ...,
        complementarity: float = ...,
        infeasible: float = ...,
    ) -> None: ...

class Limits(Section):
    """When to give up."""

    escapes: int
    """Starts from random points before a stationary point of the violation is called infeasible: three around it, each farther
    away than the one before, then around the start of the run; an exact run has four more, farther away, where a violated
    row is flat as far as these lie; 0 (the paper) calls it so at once. Default: 8.
    """

    idle: int
    """So many iterations in a row that repair nothing of a violation, a share of 1e-8 being nothing, are the end of an exact
    run, or of its present start; 0 (the paper) for never. Default: 50.
    """

    iterations: int
    """Most iterations. Default: 3000, the order of what a first-order method needs."""

    seconds: float | None
    """Most seconds of wall time; > 0. None by default."""

    evaluations: int | None
    """Most evaluations of all functions together, that of a batch of samples being one; those by which the point is confirmed
    at the end of an exact run are not counted, but are within the limit. None by default.
    """

    samples: int | None
    """Most samples of all functions together; none by default."""

    gradient_samples: int | None
    """Most samples of the objective's gradient; none by default."""

    constraint_samples: int | None
    """Most samples of constraint values; none by default."""

    jacobian_samples: int | None
    """Most samples of the constraints' Jacobian; none by default."""

    memory: int | None
    """Most bytes of memory that a run may need at its start; by default three quarters of the machine's."""

    def __init__(
        self,
        escapes: int = ...,
        idle: int = ...,
        iterations: int = ...,
        seconds: float | None = ...,
        evaluations: int | None = ...,
        samples: int | None = ...,
        gradient_samples: int | None = ...,
        constraint_samples: int | None = ...,
        jacobian_samples: int | None = ...,
        memory: int | None = ...,
    ) -> None: ...

class Normal(Section):
    """The normal step, which repairs the constraints."""

    variant: Literal['majorised'] | Literal['bounded'] | Literal['bounded_one_norm'] | Literal['regularised'] | Literal['mapping']
    """Which subproblem. Default: majorised, which solved most problems when we measured.
    'majorised': `min 1/2 |h + J u|^2 + L_c |h| / 2 |u|^2`: the curvature that the linearisation misses is added.
    'bounded': The paper: `min 1/2 |h + J u|^2` with `|v| <= |h|`.
    'bounded_one_norm': The paper's alternative: `|v|_1 <= |h|_1`.
    'regularised': Curtis and others: `min 1/2 |h + J u|^2 + mu/2 |v|^2`.
    'mapping': The paper's closed form `u = -J^T A h`; equalities only, no bounds.
    """

    mapping: dict[str, dict[str, Any]] | Literal['regularised'] | Literal['own']
    """The mapping `A(x)` of the variant `mapping`. Default: SQP with alpha = 1.
    {'augmented_lagrangian': {'alpha': ...}}: `A = alpha I`: a linearised augmented Lagrangian method.
    {'sqp': {'alpha': ...}}: `A = alpha (J J^T)^-1`: a sequential quadratic programming method.
    {'hybrid': {'alpha1': ..., 'alpha2': ...}}: `A = alpha1 I + alpha2 (J J^T)^-1`.
    'regularised': `A = (J J^T + delta I)^-1` with `delta = L_c |h|`.
    'own': The mapping that the caller gave to the solver.
    """

    regularisation: float
    """The weight `mu` of the regularised variant, `mu/2 |v|^2`; > 0. Default: 1e-2."""

    alone: float
    """Where an exact run can remove less than this share of a violation, its step is the normal step alone: a step that also
    serves the objective repairs only up to its rounding. In [0, 1); 0 (the paper) for never. Default: 1e-8.
    """

    def __init__(
        self,
        variant: Literal['majorised'] | Literal['bounded'] | Literal['bounded_one_norm'] | Literal['regularised'] | Literal['mapping'] = ...,
        mapping: dict[str, dict[str, Any]] | Literal['regularised'] | Literal['own'] = ...,
        regularisation: float = ...,
        alone: float = ...,
    ) -> None: ...

class Metric(Section):
    """The metric `H`, positive definite."""

    kind: Literal['identity'] | Literal['spectral'] | Literal['diagonal'] | Literal['quasi_newton'] | Literal['limited_memory'] | Literal['exact']
    """Which metric. Default: quasi-Newton.
    'identity': `H = I`: the paper.
    'spectral': `H = sigma I`, a Barzilai-Borwein scalar from differences of the Lagrangian's gradient.
    'diagonal': A diagonal from second moments of these differences, variable by variable.
    'quasi_newton': A damped BFGS matrix of the Lagrangian; with a limited memory where there are many variables.
    'limited_memory': A damped BFGS matrix with a limited memory: a scalar, in a noisy run an adaptive diagonal, and a part
        of low rank from the last steps.
    'exact': The Hessian of the Lagrangian, sparse, with as much of the identity as makes it positive definite along the
        constraints. For problems that have second derivatives and exact functions.
    """

    largest_dense: int
    """Most variables for a dense quasi-Newton matrix. Above it the matrix has a limited memory; with given Lipschitz constants
    the metric is spectral. Default: 300.
    """

    memory: int
    """How many steps a limited memory holds, in a noisy run twice as many; >= 1. Default: 10."""

    smallest: float
    """Smallest entry; > 0. Default: 1e-8."""

    largest: float
    """Largest entry; >= `metric.smallest`. Default: 1e10."""

    slack_weight: float
    """Weight of a slack, relative to that of its row's variables; > 0. The metric `identity` has 1, as the paper; a small one
    keeps inactive inequalities from shortening the step. Default: 1e-4.
    """

    damped: bool
    """Whether a dense quasi-Newton matrix gets a multiple of the identity after steps along violated constraints that had to
    be much shortened, in exact runs; it falls after full ones. Default: true.
    """

    def __init__(
        self,
        kind: Literal['identity'] | Literal['spectral'] | Literal['diagonal'] | Literal['quasi_newton'] | Literal['limited_memory'] | Literal['exact'] = ...,
        largest_dense: int = ...,
        memory: int = ...,
        smallest: float = ...,
        largest: float = ...,
        slack_weight: float = ...,
        damped: bool = ...,
    ) -> None: ...

class Merit(Section):
    """The merit parameter `rho` of `phi = f + rho |h|`."""

    falls: bool
    """Whether `rho` falls when it is far larger than what recent steps needed; at most 16 times in a run. The paper's never
    falls. Default: true.
    """

    rho0: float
    """Where `rho` starts, and never falls below; > 0. Default: 1e-2."""

    margin: float
    """When `rho` must rise, it rises to this multiple of what is needed, so that repairing the constraints pays; >= 1. The
    paper has 1. Default: 2.
    """

    def __init__(
        self,
        falls: bool = ...,
        rho0: float = ...,
        margin: float = ...,
    ) -> None: ...

class Stepsize(Section):
    """The stepsize `eta = min(tau / (L_f + rho L_c), 1)`; where the constants are found, one for the merit function stands in place of the sum."""

    tau: float
    """How much of the proven stepsize to take; in (0, 1). Default: 0.9."""

    lipschitz: Literal['found'] | dict[str, dict[str, Any]]
    """Where the Lipschitz constants come from.
    'found': Estimated at each trial point and corrected until the merit function descends.
    {'given': {'objective': ..., 'constraints': ...}}: Given by the user (theory mode): no merit test is made.
    """

    correction: bool
    """Try a second-order correction when the curvature of the constraints spoils a step (against the Maratos effect), and bend
    steps that it holds back. Default: true.
    """

    slack_reset: bool
    """After each step move the slacks to where they violate least; it never raises the merit function. Default: true."""

    gradient_test: bool
    """Whether gradients at both ends of a step tell whether it descends, where the change of the objective is lost in the
    rounding of its values; the paper has values alone. Default: true.
    """

    smallest: float
    """Below this `eta |s|`, relative to `1 + |z|`, the run ends; >= 0. Default: 1e-14."""

    def __init__(
        self,
        tau: float = ...,
        lipschitz: Literal['found'] | dict[str, dict[str, Any]] = ...,
        correction: bool = ...,
        slack_reset: bool = ...,
        gradient_test: bool = ...,
        smallest: float = ...,
    ) -> None: ...

class Kernel(Section):
    """The subproblem kernel, an active-set method."""

    tolerance: float
    """Relative accuracy of `J s = r`; > 0. Default: 1e-11."""

    floor: float
    """Absolute accuracy that is always enough; > 0. Default: 1e-13."""

    iterations: int
    """Most factorisations before the fallback; >= 1. Default: 100."""

    factorisation: Literal['automatic'] | Literal['dense'] | Literal['sparse'] | Literal['primal']
    """How the system is factorised where `H` is diagonal, or diagonal and of low rank. Default: chosen by size and density.
    'automatic': By size and density.
    'dense': Dense Cholesky of the `m x m` matrix `J H^-1 J^T`.
    'sparse': Sparse Cholesky of the same.
    'primal': Dense Cholesky of an `n x n` matrix: for many more rows than variables.
    """

    fallback: bool
    """Whether Clarabel takes over when the kernel does not converge; the record says so. Default: true."""

    def __init__(
        self,
        tolerance: float = ...,
        floor: float = ...,
        iterations: int = ...,
        factorisation: Literal['automatic'] | Literal['dense'] | Literal['sparse'] | Literal['primal'] = ...,
        fallback: bool = ...,
    ) -> None: ...

class Estimation(Section):
    """How one function is estimated, when it is not exact."""

    estimator: Literal['minibatch'] | Literal['momentum']
    """Mini-batch or recursive momentum. Default: momentum.
    'minibatch': The average over new samples.
    'momentum': `avg[new(x_k)] + (1 - a) (estimate - avg[new(x_{k-1})])`: the same samples at two points.
    """

    batch: dict[str, dict[str, Any]]
    """Samples per iteration. Default: constant.
    {'constant': {'size': ...}}: Always as many.
    {'geometric': {'size': ..., 'growth': ..., 'largest': ...}}: `size * growth^k`, at most `largest`.
    {'paper': {'largest': ...}}: The paper's sizes: (batch-mb), or (rm_b0) and (batch-rm).
    """

    first_batch: int | None
    """Samples at the start; >= 1. None: with momentum, which goes on from it for long, 16 times the usual batch; the paper's
    batches have a first one of their own.
    """

    momentum: Literal['adaptive'] | dict[str, dict[str, Any]] | Literal['paper']
    """The momentum `a`. Default: adaptive.
    'adaptive': What makes the most of all draws so far: `a = B / (N + B)`, when the estimate is worth `N` draws and the
        batch has `B`. Two halves of a batch, compared once in a while, tell how much an estimate loses when the point
        moves.
    {'constant': {'a': ...}}: Always the same.
    'paper': The paper's: `a = epsilon` of the schedule.
    """

    def __init__(
        self,
        estimator: Literal['minibatch'] | Literal['momentum'] = ...,
        batch: dict[str, dict[str, Any]] = ...,
        first_batch: int | None = ...,
        momentum: Literal['adaptive'] | dict[str, dict[str, Any]] | Literal['paper'] = ...,
    ) -> None: ...

class Schedule(Section):
    """The constants of the paper's batch sizes."""

    sigma_f: float
    """Bound on the error of a sampled gradient; > 0. Default: 1."""

    sigma_c: float
    """Bound on the error of a sampled constraint gradient; > 0. Default: 1."""

    sigma_v: float
    """Bound on the error of a sampled constraint value; > 0. Default: 1."""

    epsilon: float
    """The accuracy of the estimates; > 0. Default: 0.1."""

    gamma: float
    """The probability of a worse estimate; in (0, 1). Default: 0.01."""

    def __init__(
        self,
        sigma_f: float = ...,
        sigma_c: float = ...,
        sigma_v: float = ...,
        epsilon: float = ...,
        gamma: float = ...,
    ) -> None: ...

class Judge(Section):
    """How a point is judged: on fresh samples, with a confidence bound."""

    every: int
    """For the first time after so many iterations, then after as many again or a quarter of all, and at the end. 0: only at
    the end. Default: 100.
    """

    samples: int
    """Fresh samples of each function per judgement, or a tenth of those since the last one if that is more; where samples are
    limited, only that tenth. In [1, 1e12]. Default: 2000.
    """

    batches: int
    """They are split into so many batches, whose spread gives the standard errors; in [20, 1e6]: one half of them fits the
    multipliers, the other judges stationarity. Default: 20.
    """

    confidence: float
    """The confidence of each upper bound; in (0.5, 1). All judgements of a run share the risk, so that it holds for the one
    that ends it. Default: 0.95.
    """

    range: float | None
    """The length of an interval that holds the values of a constraint for every sample, if it is known: then bounds on the
    constraints hold however rare the events are that make them. Each sample is evaluated on its own for that. >= 0.
    Default: none.
    """

    rarest: float
    """The probability of the rarest event that matters; in (0, 1]. A point is certified on so many samples of each function
    that it cannot be missing, about 25,000; where limits do not allow them nothing is claimed, and the verdict says of
    which events the samples tell. Where samples are dear and no event rarer than that matters, 0.01 asks for about 370.
    Default: 1.5e-4.
    """

    patience: int
    """The run ends at its noise floor when so many judgements in a row were no better than the best by more than their
    standard errors; twice as many while the estimates still gain accuracy. 0: never. Default: 10.
    """

    def __init__(
        self,
        every: int = ...,
        samples: int = ...,
        batches: int = ...,
        confidence: float = ...,
        range: float | None = ...,
        rarest: float = ...,
        patience: int = ...,
    ) -> None: ...

class Sampling(Section):
    """How sampled functions are estimated and judged."""

    seed: int
    """The seed of all draws. Default: 0."""

    gradient: Estimation
    """The gradient of the objective."""

    constraints: Estimation
    """The values of the constraints."""

    jacobian: Estimation
    """The Jacobian of the constraints."""

    shared_draws: bool
    """Whether functions that are averages over a finite population use the same members of it, so that a member is read once.
    Default: true.
    """

    replacement: bool
    """Whether members of a finite population are drawn with replacement, as in the paper. Otherwise every member is drawn once
    before any is drawn twice, which averages better; recursive momentum then has a bias, since later batches of a round are
    not independent of the point, which exact passes take away. Default: false.
    """

    exact_passes: float
    """The share of all samples that whole populations may take: where the noise of the estimates matters, all members are
    evaluated, the point is judged exactly, and recursive momentum starts again from there. In [0, 1); 0 for none. Default:
    0.1.
    """

    theta: Literal['measured'] | dict[str, dict[str, Any]]
    """How much of the residual a step of a noisy run shall remove; the variant `mapping` of the normal step has its own share.
    Default: measured.
    'measured': What the normal subproblem can.
    {'fixed': {'share': ...}}: This share, as in the paper, where the bounds allow it; elsewhere what the normal subproblem
        can.
    """

    tau: float
    """How much of the stepsize to take; in (0, 1/2). Default: 0.4."""

    curvature: Literal['lagrangian'] | Literal['constants']
    """Which curvature the stepsize of a noisy run is made of, where Lipschitz constants are not given. Default: lagrangian.
    'lagrangian': `eta = min(tau / max(L, 1), 1)` with the curvature `L` of the Lagrangian that the same samples show at
        both ends of steps, in the norm of the metric: curvature of objective and constraints may cancel.
    'constants': The paper: `eta = min(tau / (L_f + rho (L_c + 1)), 1)`, with the constants that the same samples show at
        both ends of steps.
    """

    merit_test: bool
    """Whether a step must descend on the merit function of its own samples, taken at both of its ends; the paper has no such
    test. Nothing is tested where Lipschitz constants are given. Default: true.
    """

    probe: int
    """Once in so many iterations a batch is evaluated in two halves, at two points, to learn noise and curvature; with the
    merit test, at two points also whenever a step is twice as long as the last one seen so. 0: never. Default: 10.
    """

    schedule: Schedule
    """Constants of the paper's schedules."""

    judge: Judge
    """How a point is judged."""

    true_residuals: bool
    """Whether every row tells true residuals, where exact functions exist. They cost about two more iterations' work, count
    neither as evaluations nor as samples, and change nothing else in the run. Default: false.
    """

    average: int
    """The average of so many last iterates (up to twice as many) is reported; 0 for none. Default: 0."""

    def __init__(
        self,
        seed: int = ...,
        gradient: Estimation | dict[str, Any] = ...,
        constraints: Estimation | dict[str, Any] = ...,
        jacobian: Estimation | dict[str, Any] = ...,
        shared_draws: bool = ...,
        replacement: bool = ...,
        exact_passes: float = ...,
        theta: Literal['measured'] | dict[str, dict[str, Any]] = ...,
        tau: float = ...,
        curvature: Literal['lagrangian'] | Literal['constants'] = ...,
        merit_test: bool = ...,
        probe: int = ...,
        schedule: Schedule | dict[str, Any] = ...,
        judge: Judge | dict[str, Any] = ...,
        true_residuals: bool = ...,
        average: int = ...,
    ) -> None: ...

class Settings(Section):
    """All settings of a run. The defaults need no tuning. All numbers are finite."""

    tolerance: Tolerance
    """When a point is good enough."""

    limits: Limits
    """When to give up."""

    normal: Normal
    """The normal step, which repairs the constraints."""

    metric: Metric
    """The metric in which the tangent step is short."""

    merit: Merit
    """The merit parameter `rho`."""

    stepsize: Stepsize
    """The stepsize `eta`."""

    kernel: Kernel
    """The subproblem kernel."""

    scaling: Literal['none'] | Literal['gradient'] | Literal['full']
    """How the problem is scaled inside. Residuals are always measured unscaled.
    'none': Not at all.
    'gradient': Objective and rows whose gradient at the start is larger than 100 are scaled down to 100.
    'full': The same, and variables whose units differ by a factor of more than 10,000, and than ten times the square of
        their number, as the derivatives at the start show them, get units of their own. A noisy run, and one with given
        Lipschitz constants, leaves them alone.
    """

    presolve: bool
    """Whether linear rows with one variable become bounds, and linear rows that follow from others are left out, before a run
    with exact functions; multipliers are given back to the user's rows. Default: false, since rows that can be violated
    lead out of where bounds hold.
    """

    sampling: Sampling
    """How sampled functions are estimated and judged."""

    def __init__(
        self,
        tolerance: Tolerance | dict[str, Any] = ...,
        limits: Limits | dict[str, Any] = ...,
        normal: Normal | dict[str, Any] = ...,
        metric: Metric | dict[str, Any] = ...,
        merit: Merit | dict[str, Any] = ...,
        stepsize: Stepsize | dict[str, Any] = ...,
        kernel: Kernel | dict[str, Any] = ...,
        scaling: Literal['none'] | Literal['gradient'] | Literal['full'] = ...,
        presolve: bool = ...,
        sampling: Sampling | dict[str, Any] = ...,
    ) -> None: ...
