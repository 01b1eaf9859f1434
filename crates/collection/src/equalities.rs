//! Problems with equalities only, and systems without an objective.

#![expect(clippy::approx_constant, reason = "starts are stated as literals, and one of them is sqrt(1/2)")]

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use crate::definition::HOCK_SCHITTKOWSKI;

const HIMMELBLAU_1972: &str = "D. M. Himmelblau, Applied Nonlinear Programming, McGraw-Hill, 1972";
const MARATOS_1978: &str =
    "N. Maratos, Exact penalty function algorithms for finite dimensional and control optimization problems, PhD thesis, 1978";

problems! {
    HS6, "a parabola", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = -1.2, x2 = 1.0 }
    minimise (x1 - 1.0).square();
    rows { parabola: (x2 - x1.square()) * 10.0 => 0.0; }
    known Solution f = 0.0, x = [1.0, 1.0];

    HS7, "a logarithm on a quartic curve", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.0, x2 = 2.0 }
    minimise (x1.square() + 1.0).ln() - x2;
    rows { curve: (x1.square() + 1.0).square() + x2.square() => 4.0; }
    known Solution f = -1.7320508075688772, x = [0.0, 3.0_f64.sqrt()], "The objective is -sqrt(3).";

    HS8, "where a circle meets a hyperbola", HOCK_SCHITTKOWSKI, System;
    { x1 = 2.0, x2 = 1.0 }
    rows {
        circle: x1.square() + x2.square() => 25.0;
        hyperbola: x1 * x2 => 9.0;
    }
    known Solution x = [((25.0 + 301.0_f64.sqrt()) / 2.0).sqrt(), ((25.0 - 301.0_f64.sqrt()) / 2.0).sqrt()],
        "There are four solutions: also with x1 and x2 exchanged, and with both signs changed.";

    HIMMELBLAU, "where two parabolas meet", HIMMELBLAU_1972, System;
    { x1 = 1.0, x2 = 1.0 }
    rows {
        upright: x1.square() + x2 => 11.0;
        lying: x1 + x2.square() => 7.0;
    }
    known Solution x = [3.0, 2.0], "There are four solutions.";

    HS9, "waves on a line", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 0.0, x2 = 0.0 }
    minimise (x1 * (PI / 12.0)).sin() * (x2 * (PI / 16.0)).cos();
    rows { line: x1 * 4.0 - x2 * 3.0 => 0.0; }
    known Solution f = -0.5, x = [-3.0, -4.0], "The solutions are (12 k - 3, 16 k - 4) for every integer k.";

    HS26, "a quartic with a singular Hessian", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = -2.6, x2 = 2.0, x3 = 2.0 }
    minimise (x1 - x2).square() + (x2 - x3).powi(4);
    rows { surface: (x2.square() + 1.0) * x1 + x3.powi(4) => 3.0; }
    known Solution f = 0.0, x = [1.0, 1.0, 1.0];

    HS27, "a curved valley and a parabola", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.0, x2 = 2.0, x3 = 2.0 }
    minimise (x1 - 1.0).square() * 0.01 + (x2 - x1.square()).square();
    rows { parabola: x1 + x3.square() => -1.0; }
    known Solution f = 0.04, x = [-1.0, 1.0, 0.0];

    HS28, "least squares on a plane", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = -4.0, x2 = 1.0, x3 = 1.0 }
    minimise (x1 + x2).square() + (x2 + x3).square();
    rows { plane: x1 + x2 * 2.0 + x3 * 3.0 => 1.0; }
    known Solution f = 0.0, x = [0.5, -0.5, 0.5];

    HS39, "a cubic and a quadratic with squared slacks", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.0, x2 = 2.0, x3 = 2.0, x4 = 2.0 }
    minimise -x1;
    rows {
        cubic: x2 - x1.powi(3) - x3.square() => 0.0;
        quadratic: x1.square() - x2 - x4.square() => 0.0;
    }
    known Solution f = -1.0, x = [1.0, 1.0, 0.0, 0.0];

    HS40, "a product on three surfaces", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 0.8, x2 = 0.8, x3 = 0.8, x4 = 0.8 }
    minimise -(x1 * x2 * x3 * x4);
    rows {
        first: x1.powi(3) + x2.square() => 1.0;
        second: x1.square() * x4 - x3 => 0.0;
        third: x4.square() - x2 => 0.0;
    }
    known Solution f = -0.25, x = [2.0_f64.powf(-1.0 / 3.0), FRAC_1_SQRT_2, 2.0_f64.powf(-11.0 / 12.0), 2.0_f64.powf(-0.25)];

    HS42, "the nearest point on a circle", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 1.0, x2 = 1.0, x3 = 1.0, x4 = 1.0 }
    minimise (x1 - 1.0).square() + (x2 - 2.0).square() + (x3 - 3.0).square() + (x4 - 4.0).square();
    rows {
        plane: x1 => 2.0;
        circle: x3.square() + x4.square() => 2.0;
    }
    known Solution f = 13.857864376269049, x = [2.0, 2.0, 0.6 * SQRT_2, 0.8 * SQRT_2], "The objective is 28 - 10 sqrt(2).";

    HS46, "powers up to the sixth under a sine", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 0.7071067811865476, x2 = 1.75, x3 = 0.5, x4 = 2.0, x5 = 2.0 }
    minimise (x1 - x2).square() + (x3 - 1.0).square() + (x4 - 1.0).powi(4) + (x5 - 1.0).powi(6);
    rows {
        sine: x1.square() * x4 + (x4 - x5).sin() => 1.0;
        power: x2 + x3.powi(4) * x4.square() => 2.0;
    }
    known Solution f = 0.0, x = [1.0; 5], "The Hessian is singular at the solution.";

    HS48, "least squares on two planes", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 3.0, x2 = 5.0, x3 = -3.0, x4 = 2.0, x5 = -2.0 }
    minimise (x1 - 1.0).square() + (x2 - x3).square() + (x4 - x5).square();
    rows {
        sum: x1 + x2 + x3 + x4 + x5 => 5.0;
        balance: x3 - (x4 + x5) * 2.0 => -3.0;
    }
    known Solution f = 0.0, x = [1.0; 5];

    HS49, "powers up to the sixth on two planes", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 10.0, x2 = 7.0, x3 = 2.0, x4 = -3.0, x5 = 0.8 }
    minimise (x1 - x2).square() + (x3 - 1.0).square() + (x4 - 1.0).powi(4) + (x5 - 1.0).powi(6);
    rows {
        first: x1 + x2 + x3 + x4 * 4.0 => 7.0;
        second: x3 + x5 * 5.0 => 6.0;
    }
    known Solution f = 0.0, x = [1.0; 5], "The Hessian is singular at the solution.";

    HS50, "a quartic chain on three planes", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 35.0, x2 = -31.0, x3 = 11.0, x4 = 5.0, x5 = -5.0 }
    minimise (x1 - x2).square() + (x2 - x3).square() + (x3 - x4).powi(4) + (x4 - x5).square();
    rows {
        first: x1 + x2 * 2.0 + x3 * 3.0 => 6.0;
        second: x2 + x3 * 2.0 + x4 * 3.0 => 6.0;
        third: x3 + x4 * 2.0 + x5 * 3.0 => 6.0;
    }
    known Solution f = 0.0, x = [1.0; 5];

    HS51, "least squares on three planes that the free minimum satisfies", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.5, x2 = 0.5, x3 = 2.0, x4 = -1.0, x5 = 0.5 }
    minimise (x1 - x2).square() + (x2 + x3 - 2.0).square() + (x4 - 1.0).square() + (x5 - 1.0).square();
    rows {
        first: x1 + x2 * 3.0 => 4.0;
        second: x3 + x4 - x5 * 2.0 => 0.0;
        third: x2 - x5 => 0.0;
    }
    known Solution f = 0.0, x = [1.0; 5];

    HS52, "least squares on three planes", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.0, x2 = 2.0, x3 = 2.0, x4 = 2.0, x5 = 2.0 }
    minimise (x1 * 4.0 - x2).square() + (x2 + x3 - 2.0).square() + (x4 - 1.0).square() + (x5 - 1.0).square();
    rows {
        first: x1 + x2 * 3.0 => 0.0;
        second: x3 + x4 - x5 * 2.0 => 0.0;
        third: x2 - x5 => 0.0;
    }
    known Solution f = 1859.0 / 349.0,
        x = [-33.0 / 349.0, 11.0 / 349.0, 180.0 / 349.0, -158.0 / 349.0, 11.0 / 349.0];

    HS61, "two parabolic cylinders", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 0.0, x2 = 0.0, x3 = 0.0 }
    minimise x1.square() * 4.0 + x2.square() * 2.0 + x3.square() * 2.0 - x1 * 33.0 + x2 * 16.0 - x3 * 24.0;
    rows {
        first: x1 * 3.0 - x2.square() * 2.0 => 7.0;
        second: x1 * 4.0 - x3.square() => 11.0;
    }
    known Solution f = -143.64614219778025, x = [5.326770135563928, -2.118998632218976, 3.2104642253505506],
        "The Jacobian is rank-deficient at the start.";

    HS77, "powers up to the sixth under a sine, away from their minimum", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.0, x2 = 2.0, x3 = 2.0, x4 = 2.0, x5 = 2.0 }
    minimise (x1 - 1.0).square() + (x1 - x2).square() + (x3 - 1.0).square() + (x4 - 1.0).powi(4) + (x5 - 1.0).powi(6);
    rows {
        sine: x1.square() * x4 + (x4 - x5).sin() => 2.0 * SQRT_2;
        power: x2 + x3.powi(4) * x4.square() => 8.0 + SQRT_2;
    }
    known Solution f = 0.2415051287901787,
        x = [1.1661721897092985, 1.1821113888027042, 1.3802570431454597, 1.5060362736230457, 0.6109201960430908];

    HS78, "a product on a sphere and two surfaces", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = -2.0, x2 = 1.5, x3 = 2.0, x4 = -1.0, x5 = -1.0 }
    minimise x1 * x2 * x3 * x4 * x5;
    rows {
        sphere: x1.square() + x2.square() + x3.square() + x4.square() + x5.square() => 10.0;
        products: x2 * x3 - x4 * x5 * 5.0 => 0.0;
        cubes: x1.powi(3) + x2.powi(3) => -1.0;
    }
    known Solution f = -2.9197004089636795,
        x = [-1.7171435703943823, 1.5957096901835544, 1.8272457529271946, -0.7636430781841304, -0.7636430781841304];

    HS79, "a quartic chain on three surfaces", HOCK_SCHITTKOWSKI, Equalities;
    { x1 = 2.0, x2 = 2.0, x3 = 2.0, x4 = 2.0, x5 = 2.0 }
    minimise (x1 - 1.0).square() + (x1 - x2).square() + (x2 - x3).square() + (x3 - x4).powi(4) + (x4 - x5).powi(4);
    rows {
        cubic: x1 + x2.square() + x3.powi(3) => 2.0 + 3.0 * SQRT_2;
        quadratic: x2 - x3.square() + x4 => 2.0 * SQRT_2 - 2.0;
        product: x1 * x5 => 2.0;
    }
    known Solution f = 0.0787768208710569,
        x = [1.1911274563110514, 1.362603164961742, 1.4728179315120877, 1.6350166191679927, 1.6790814361664075];

    MARATOS, "full steps near the solution raise both the objective and the violation", MARATOS_1978, Equalities;
    { x1 = 1.1, x2 = 0.1 }
    minimise -x1 + (x1.square() + x2.square() - 1.0) * 1e-6;
    rows { circle: x1.square() + x2.square() => 1.0; }
    known Solution f = -1.0, x = [1.0, 0.0];
}
