//! Problems that try a solver's manners: infeasible, rank-deficient, degenerate, with fixed variables and free rows.

use crate::definition::{HOCK_SCHITTKOWSKI, TANGOR};

const BYRD_CURTIS_NOCEDAL: &str =
    "R. H. Byrd, F. E. Curtis and J. Nocedal, Infeasibility detection and SQP methods, SIAM J. Optim. 20, 2010";
const SCHEEL_SCHOLTES: &str =
    "H. Scheel and S. Scholtes, Mathematical programs with complementarity constraints, Math. Oper. Res. 25, 2000";

problems! {
    HS13, "a cusp: no constraint qualification holds at the solution", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -2.0 in 0.0.., x2 = -2.0 in 0.0.. }
    minimise (x1 - 2.0).square() + x2.square();
    rows { cusp: -(x1 - 1.0).powi(3) - x2 => 0.0..; }
    known SolutionWithoutMultipliers f = 1.0, x = [1.0, 0.0],
        "The gradient (-2, 0) of the objective is no combination of the active gradients (0, -1) and (0, 1).";

    COMPLEMENT, "one of two variables must vanish: the multipliers are unbounded", SCHEEL_SCHOLTES, Inequalities;
    { x1 = 2.0 in 0.0.., x2 = 1.0 in 0.0.. }
    minimise (x1 - 1.0).square() + (x2 - 1.0).square();
    rows { product: x1 * x2 => ..=0.0; }
    known Solution f = 1.0, x = [1.0, 0.0],
        "(0, 1) is a solution too. No feasible point satisfies the constraint qualification of Mangasarian and Fromovitz.";

    ISOLATED, "four parabolas that do not meet", BYRD_CURTIS_NOCEDAL, Inequalities;
    { x1 = 3.0, x2 = 2.0 }
    minimise x1 + x2;
    rows {
        above: x1.square() - x2 => ..=-1.0;
        below: x1.square() + x2 => ..=-1.0;
        right: x2.square() - x1 => ..=-1.0;
        left: x2.square() + x1 => ..=-1.0;
    }
    known Infeasible x = [0.0, 0.0], "All four rows are violated by 1 at the point of least violation.";

    CIRCLELINE, "a circle and a line that does not meet it", TANGOR, Equalities;
    { x1 = 2.0, x2 = 0.5 }
    minimise x1.square() + x2;
    rows {
        circle: x1.square() + x2.square() => 1.0;
        line: x1 + x2 => 3.0;
    }
    known Infeasible x = [0.75_f64.cbrt(); 2],
        "With x1 = x2 = t the sum of squared violations (2 t^2 - 1)^2 + (2 t - 3)^2 is least where 16 t^3 = 12.";

    REDUNDANT, "three planes, one of them the sum of the others", TANGOR, Equalities;
    { x1 = 0.0, x2 = 0.0, x3 = 0.0, x4 = 0.0 }
    minimise (x1 - 1.0).square() + (x2 - 2.0).square() + (x3 - 3.0).square() + (x4 - 4.0).square();
    rows {
        sum: x1 + x2 + x3 + x4 => 2.0;
        difference: x1 - x2 => 0.0;
        both: x1 * 2.0 + x3 + x4 => 2.0;
    }
    known Solution f = 16.5, x = [-0.5, -0.5, 1.0, 2.0], "The Jacobian has rank 2 everywhere; the multipliers are not unique.";

    TWICE, "the same circle twice", TANGOR, Equalities;
    { x1 = 2.0, x2 = -0.5 }
    minimise x1 + x2;
    rows {
        once: x1.square() + x2.square() => 2.0;
        again: (x1.square() + x2.square()) * 3.0 => 6.0;
    }
    known Solution f = -2.0, x = [-1.0, -1.0], "The Jacobian has rank 1 everywhere; the multipliers are not unique.";

    FIXEDFREE, "a fixed variable and a row without bounds", TANGOR, Mixed;
    { x1 = 5.0, x2 = -5.0, x3 = 0.0, fixed = 1.0 in 1.0 }
    minimise (x1 - 1.0).square() + (x2 - 2.0).square() + (x3 - 3.0).square() + (fixed - 4.0).square();
    rows {
        sum: x1 + x2 + x3 + fixed => 5.0;
        watched: x1 * x2 * x3 => ..;
    }
    known Solution f = 31.0 / 3.0, x = [1.0 / 3.0, 4.0 / 3.0, 7.0 / 3.0, 1.0];

    RING, "the nearest point of a ring: a nonconvex range", TANGOR, Inequalities;
    { x1 = 1.5, x2 = -1.0 }
    minimise (x1 - 0.3).square() + (x2 - 0.4).square();
    rows { ring: x1.square() + x2.square() => 1.0..=4.0; }
    known Solution f = 0.25, x = [0.6, 0.8], "(-0.6, -0.8) is a KKT point too, the farthest of the inner circle.";
}
