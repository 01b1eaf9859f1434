//! Problems with inequalities and ranges, perhaps with bounds, without equalities.

use crate::definition::{HOCK_SCHITTKOWSKI, TANGOR};

problems! {
    HS10, "a line over an ellipse", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -10.0, x2 = 10.0 }
    minimise x1 - x2;
    rows { ellipse: x1.square() * 3.0 - x1 * x2 * 2.0 + x2.square() => ..=1.0; }
    known Solution f = -1.0, x = [0.0, 1.0];

    HS11, "the nearest point above a parabola", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 4.9, x2 = 0.1 }
    minimise (x1 - 5.0).square() + x2.square() - 25.0;
    rows { parabola: x2 - x1.square() => 0.0..; }
    known Solution f = -8.498464223154677, x = [1.234772825053297, 1.5246639294900999];

    HS12, "a quadratic in an ellipse", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.0, x2 = 0.0 }
    minimise x1.square() * 0.5 + x2.square() - x1 * x2 - x1 * 7.0 - x2 * 7.0;
    rows { ellipse: x1.square() * 4.0 + x2.square() => ..=25.0; }
    known Solution f = -30.0, x = [2.0, 3.0];

    HS15, "Rosenbrock's valley above a hyperbola", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -2.0 in ..=0.5, x2 = 1.0 }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    rows {
        hyperbola: x1 * x2 => 1.0..;
        parabola: x1 + x2.square() => 0.0..;
    }
    known Solution f = 306.5, x = [0.5, 2.0],
        "A second local solution lies near (-0.7921, -1.262), with objective 360.4.";

    HS16, "Rosenbrock's valley between parabolas", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -2.0 in -0.5..=0.5, x2 = 1.0 in ..=1.0 }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    rows {
        lying: x1 + x2.square() => 0.0..;
        upright: x1.square() + x2 => 0.0..;
    }
    known Solution f = 0.25, x = [0.5, 0.25],
        "A second local solution lies at (-0.5, sqrt(1/2)), with objective 23.14.";

    HS18, "a quadratic outside of a hyperbola and a circle", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 2.0 in 2.0..=50.0, x2 = 2.0 in 0.0..=50.0 }
    minimise x1.square() * 0.01 + x2.square();
    rows {
        hyperbola: x1 * x2 => 25.0..;
        circle: x1.square() + x2.square() => 25.0..;
    }
    known Solution f = 5.0, x = [250.0_f64.sqrt(), 2.5_f64.sqrt()];

    HS20, "Rosenbrock's valley outside of a circle", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -2.0 in -0.5..=0.5, x2 = 1.0 }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    rows {
        lying: x1 + x2.square() => 0.0..;
        upright: x1.square() + x2 => 0.0..;
        circle: x1.square() + x2.square() => 1.0..;
    }
    known Solution f = 38.19872981077807, x = [0.5, 0.75_f64.sqrt()],
        "The objective is 81.5 - 25 sqrt(3); a second local solution lies at (-0.5, sqrt(3)/2), with objective 40.20.";

    HS21, "a quadratic under a line", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -1.0 in 2.0..=50.0, x2 = -1.0 in -50.0..=50.0 }
    minimise x1.square() * 0.01 + x2.square() - 100.0;
    rows { line: x1 * 10.0 - x2 => 10.0..; }
    known Solution f = -99.96, x = [2.0, 0.0];

    HS22, "the nearest point between a line and a parabola", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 2.0, x2 = 2.0 }
    minimise (x1 - 2.0).square() + (x2 - 1.0).square();
    rows {
        line: x1 + x2 => ..=2.0;
        parabola: x2 - x1.square() => 0.0..;
    }
    known Solution f = 1.0, x = [1.0, 1.0];

    HS23, "the nearest point outside of five curves", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 3.0 in -50.0..=50.0, x2 = 1.0 in -50.0..=50.0 }
    minimise x1.square() + x2.square();
    rows {
        line: x1 + x2 => 1.0..;
        circle: x1.square() + x2.square() => 1.0..;
        ellipse: x1.square() * 9.0 + x2.square() => 9.0..;
        upright: x1.square() - x2 => 0.0..;
        lying: x2.square() - x1 => 0.0..;
    }
    known Solution f = 2.0, x = [1.0, 1.0];

    HS24, "a product in a triangle", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 1.0 in 0.0.., x2 = 0.5 in 0.0.. }
    minimise ((x1 - 3.0).square() - 9.0) * x2.powi(3) / (27.0 * 3.0_f64.sqrt());
    rows {
        lower: x1 / 3.0_f64.sqrt() - x2 => 0.0..;
        upper: x1 + x2 * 3.0_f64.sqrt() => 0.0..=6.0;
    }
    known Solution f = -1.0, x = [3.0, 3.0_f64.sqrt()];

    HS29, "a product in an ellipsoid", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 1.0, x2 = 1.0, x3 = 1.0 }
    minimise -(x1 * x2 * x3);
    rows { ellipsoid: x1.square() + x2.square() * 2.0 + x3.square() * 4.0 => ..=48.0; }
    known Solution f = -22.627416997969522, x = [4.0, 8.0_f64.sqrt(), 2.0],
        "The objective is -16 sqrt(2); two signs may be changed together.";

    HS30, "the nearest point outside of a cylinder", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 1.0 in 1.0..=10.0, x2 = 1.0 in -10.0..=10.0, x3 = 1.0 in -10.0..=10.0 }
    minimise x1.square() + x2.square() + x3.square();
    rows { cylinder: x1.square() + x2.square() => 1.0..; }
    known Solution f = 1.0, x = [1.0, 0.0, 0.0],
        "The bound and the row are both active with parallel gradients, so the multipliers are not unique.";

    HS31, "a quadratic above a hyperbola", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 1.0 in -10.0..=10.0, x2 = 1.0 in 1.0..=10.0, x3 = 1.0 in -10.0..=1.0 }
    minimise x1.square() * 9.0 + x2.square() + x3.square() * 9.0;
    rows { hyperbola: x1 * x2 => 1.0..; }
    known Solution f = 6.0, x = [1.0 / 3.0_f64.sqrt(), 3.0_f64.sqrt(), 0.0];

    HS34, "two exponentials one upon the other", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.0 in 0.0..=100.0, x2 = 1.05 in 0.0..=100.0, x3 = 2.9 in 0.0..=10.0 }
    minimise -x1;
    rows {
        first: x2 - x1.exp() => 0.0..;
        second: x3 - x2.exp() => 0.0..;
    }
    known Solution f = -0.8340324452479558, x = [10.0_f64.ln().ln(), 10.0_f64.ln(), 10.0],
        "The objective is -ln(ln(10)).";

    HS35, "Beale's quadratic under a plane", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.5 in 0.0.., x2 = 0.5 in 0.0.., x3 = 0.5 in 0.0.. }
    minimise x1.square() * 2.0 + x2.square() * 2.0 + x3.square() + x1 * x2 * 2.0 + x1 * x3 * 2.0
        - x1 * 8.0 - x2 * 6.0 - x3 * 4.0 + 9.0;
    rows { plane: x1 + x2 + x3 * 2.0 => ..=3.0; }
    known Solution f = 1.0 / 9.0, x = [4.0 / 3.0, 7.0 / 9.0, 4.0 / 9.0];

    HS36, "the largest parcel that a plane and a box allow", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 10.0 in 0.0..=20.0, x2 = 10.0 in 0.0..=11.0, x3 = 10.0 in 0.0..=42.0 }
    minimise -(x1 * x2 * x3);
    rows { girth: x1 + x2 * 2.0 + x3 * 2.0 => ..=72.0; }
    known Solution f = -3300.0, x = [20.0, 11.0, 15.0];

    HS37, "the largest parcel of the post office, as a range", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 10.0 in 0.0..=42.0, x2 = 10.0 in 0.0..=42.0, x3 = 10.0 in 0.0..=42.0 }
    minimise -(x1 * x2 * x3);
    rows { girth: x1 + x2 * 2.0 + x3 * 2.0 => 0.0..=72.0; }
    known Solution f = -3456.0, x = [24.0, 12.0, 12.0];

    HS43, "the problem of Rosen and Suzuki", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.0, x2 = 0.0, x3 = 0.0, x4 = 0.0 }
    minimise x1.square() + x2.square() + x3.square() * 2.0 + x4.square() - x1 * 5.0 - x2 * 5.0 - x3 * 21.0 + x4 * 7.0;
    rows {
        first: x1.square() + x2.square() + x3.square() + x4.square() + x1 - x2 + x3 - x4 => ..=8.0;
        second: x1.square() + x2.square() * 2.0 + x3.square() + x4.square() * 2.0 - x1 - x4 => ..=10.0;
        third: x1.square() * 2.0 + x2.square() + x3.square() + x1 * 2.0 - x2 - x4 => ..=5.0;
    }
    known Solution f = -44.0, x = [0.0, 1.0, 2.0, -1.0];

    HS44, "an indefinite quadratic in a polytope", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.0 in 0.0.., x2 = 0.0 in 0.0.., x3 = 0.0 in 0.0.., x4 = 0.0 in 0.0.. }
    minimise x1 - x2 - x3 - x1 * x3 + x1 * x4 + x2 * x3 - x2 * x4;
    rows {
        first: x1 + x2 * 2.0 => ..=8.0;
        second: x1 * 4.0 + x2 => ..=12.0;
        third: x1 * 3.0 + x2 * 4.0 => ..=12.0;
        fourth: x3 * 2.0 + x4 => ..=8.0;
        fifth: x3 + x4 * 2.0 => ..=8.0;
        sixth: x3 + x4 => ..=5.0;
    }
    known Solution f = -15.0, x = [0.0, 3.0, 0.0, 4.0],
        "A local solution with objective -13 lies at (3, 0, 4, 0).";

    HS65, "a quadratic in a ball and a box", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = -5.0 in -4.5..=4.5, x2 = 5.0 in -4.5..=4.5, x3 = 0.0 in -5.0..=5.0 }
    minimise (x1 - x2).square() + (x1 + x2 - 10.0).square() / 9.0 + (x3 - 5.0).square();
    rows { ball: x1.square() + x2.square() + x3.square() => ..=48.0; }
    known Solution f = 0.9535288568047828, x = [3.6504617252130362, 3.6504617252130362, 4.620417555320008];

    HS66, "two exponentials against a line", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.0 in 0.0..=100.0, x2 = 1.05 in 0.0..=100.0, x3 = 2.9 in 0.0..=10.0 }
    minimise x3 * 0.2 - x1 * 0.8;
    rows {
        first: x2 - x1.exp() => 0.0..;
        second: x3 - x2.exp() => 0.0..;
    }
    known Solution f = 0.518163274181541, x = [0.1841264879228477, 1.2021678731970429, 3.3273223225990955];

    HS76, "a convex quadratic under three planes", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 0.5 in 0.0.., x2 = 0.5 in 0.0.., x3 = 0.5 in 0.0.., x4 = 0.5 in 0.0.. }
    minimise x1.square() + x2.square() * 0.5 + x3.square() + x4.square() * 0.5 - x1 * x3 + x3 * x4
        - x1 - x2 * 3.0 + x3 - x4;
    rows {
        first: x1 + x2 * 2.0 + x3 + x4 => ..=5.0;
        second: x1 * 3.0 + x2 + x3 * 2.0 - x4 => ..=4.0;
        third: x2 + x3 * 4.0 => 1.5..;
    }
    known Solution f = -103.0 / 22.0, x = [3.0 / 11.0, 23.0 / 11.0, 0.0, 6.0 / 11.0];

    ROSENBALL, "Rosenbrock's valley in the unit disc", TANGOR, Inequalities;
    { x1 = 0.0, x2 = 0.0 }
    minimise (x2 - x1.square()).square() * 100.0 + (x1 - 1.0).square();
    rows { disc: x1.square() + x2.square() => ..=1.0; }
    known Solution f = 0.04567480871950023, x = [0.7864151541684278, 0.6176983125233935];
}
