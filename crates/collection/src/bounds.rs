//! Problems without constraints, and with bounds on the variables only.

use std::f64::consts::PI;

use crate::definition::{HOCK_SCHITTKOWSKI, MORE_GARBOW_HILLSTROM};

problems! {
    ROSENBROCK, "Rosenbrock's curved valley", MORE_GARBOW_HILLSTROM, Unconstrained;
    { x1 = -1.2, x2 = 1.0 }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    known Solution f = 0.0, x = [1.0, 1.0];

    BEALE, "Beale's function, nearly flat away from the solution", MORE_GARBOW_HILLSTROM, Unconstrained;
    { x1 = 1.0, x2 = 1.0 }
    minimise (x1 * (x2 - 1.0) + 1.5).square()
        + (x1 * (x2.powi(2) - 1.0) + 2.25).square()
        + (x1 * (x2.powi(3) - 1.0) + 2.625).square();
    known Solution f = 0.0, x = [3.0, 0.5];

    POWELLSG, "Powell's function, whose Hessian is singular at the solution", MORE_GARBOW_HILLSTROM, Unconstrained;
    { x1 = 3.0, x2 = -1.0, x3 = 0.0, x4 = 1.0 }
    minimise (x1 + x2 * 10.0).square() + (x3 - x4).square() * 5.0 + (x2 - x3 * 2.0).powi(4) + (x1 - x4).powi(4) * 10.0;
    known Solution f = 0.0, x = [0.0; 4];

    HS1, "Rosenbrock's valley with a bound that is not active", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = -2.0, x2 = 1.0 in -1.5.. }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    known Solution f = 0.0, x = [1.0, 1.0];

    HS2, "Rosenbrock's valley cut by a bound", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = -2.0, x2 = 1.0 in 1.5.. }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    known Solution f = 0.05042618789360709, x = [1.2243707487363524, 1.5],
        "A second local solution lies near (-1.22, 1.5), with objective 4.941.";

    HS3, "almost flat along one variable", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = 10.0, x2 = 1.0 in 0.0.. }
    minimise x2 + (x2 - x1).square() * 1e-5;
    known Solution f = 0.0, x = [0.0, 0.0];

    HS4, "a cubic whose solution is a corner", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = 1.125 in 1.0.., x2 = 0.125 in 0.0.. }
    minimise (x1 + 1.0).powi(3) / 3.0 + x2;
    known Solution f = 8.0 / 3.0, x = [1.0, 0.0];

    HS5, "McCormick's function in a box", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = 0.0 in -1.5..=4.0, x2 = 0.0 in -3.0..=3.0 }
    minimise (x1 + x2).sin() + (x1 - x2).square() - x1 * 1.5 + x2 * 2.5 + 1.0;
    known Solution f = -1.9132229549810364, x = [0.5 - PI / 3.0, -0.5 - PI / 3.0],
        "The objective is -sqrt(3)/2 - pi/3.";

    HS38, "Colville's function, with two valleys", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = -3.0 in -10.0..=10.0, x2 = -1.0 in -10.0..=10.0, x3 = -3.0 in -10.0..=10.0, x4 = -1.0 in -10.0..=10.0 }
    minimise (x2 - x1.square()).square() * 100.0
        + (x1 - 1.0).square()
        + (x4 - x3.square()).square() * 90.0
        + (x3 - 1.0).square()
        + ((x2 - 1.0).square() + (x4 - 1.0).square()) * 10.1
        + (x2 - 1.0) * (x4 - 1.0) * 19.8;
    known Solution f = 0.0, x = [1.0; 4];

    HS45, "a product whose solution is a corner", HOCK_SCHITTKOWSKI, Bounds;
    { x1 = 2.0 in 0.0..=1.0, x2 = 2.0 in 0.0..=2.0, x3 = 2.0 in 0.0..=3.0, x4 = 2.0 in 0.0..=4.0, x5 = 2.0 in 0.0..=5.0 }
    minimise -(x1 * x2 * x3 * x4 * x5) / 120.0 + 2.0;
    known Solution f = 1.0, x = [1.0, 2.0, 3.0, 4.0, 5.0];

    HS110, "logarithms and a product in ten variables", HOCK_SCHITTKOWSKI, Bounds;
    {
        x1 = 9.0 in 2.001..=9.999, x2 = 9.0 in 2.001..=9.999, x3 = 9.0 in 2.001..=9.999, x4 = 9.0 in 2.001..=9.999,
        x5 = 9.0 in 2.001..=9.999, x6 = 9.0 in 2.001..=9.999, x7 = 9.0 in 2.001..=9.999, x8 = 9.0 in 2.001..=9.999,
        x9 = 9.0 in 2.001..=9.999, x10 = 9.0 in 2.001..=9.999,
    }
    minimise {
        let x = [x1, x2, x3, x4, x5, x6, x7, x8, x9, x10];
        let logarithms = D::sum(x.map(|x| (x - 2.0).ln().square() + (-x + 10.0).ln().square()));
        logarithms - x.into_iter().fold(D::from(1.0), |product, x| product * x).powf(0.2)
    };
    known Solution f = -45.77846970744627, x = [9.350265833069384; 10];
}
