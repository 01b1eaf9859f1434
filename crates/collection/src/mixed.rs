//! Problems with equalities together with inequalities or bounds.

use std::f64::consts::SQRT_2;

use crate::definition::HOCK_SCHITTKOWSKI;

const WACHTER_BIEGLER: &str = "A. Wächter and L. T. Biegler, Failure of global convergence for a class of interior point methods, Math. Program. 88, 2000";

problems! {
    HS14, "the nearest point on a line inside an ellipse", HOCK_SCHITTKOWSKI, Mixed;
    { x1 = 2.0, x2 = 2.0 }
    minimise (x1 - 2.0).square() + (x2 - 1.0).square();
    rows {
        ellipse: x1.square() * 0.25 + x2.square() => ..=1.0;
        line: x1 - x2 * 2.0 => -1.0;
    }
    known Solution f = 1.393464980689302, x = [0.5 * (7.0_f64.sqrt() - 1.0), 0.25 * (7.0_f64.sqrt() + 1.0)],
        "The objective is 9 - 23 sqrt(7) / 8.";

    HS32, "a quadratic on a simplex under a cubic", HOCK_SCHITTKOWSKI, Mixed;
    { x1 = 0.1 in 0.0.., x2 = 0.7 in 0.0.., x3 = 0.2 in 0.0.. }
    minimise (x1 + x2 * 3.0 + x3).square() + (x1 - x2).square() * 4.0;
    rows {
        cubic: x2 * 6.0 + x3 * 4.0 - x1.powi(3) => 3.0..;
        simplex: x1 + x2 + x3 => 1.0;
    }
    known Solution f = 1.0, x = [0.0, 0.0, 1.0];

    HS41, "a product in a box on a plane", HOCK_SCHITTKOWSKI, Mixed;
    { x1 = 2.0 in 0.0..=1.0, x2 = 2.0 in 0.0..=1.0, x3 = 2.0 in 0.0..=1.0, x4 = 2.0 in 0.0..=2.0 }
    minimise -(x1 * x2 * x3) + 2.0;
    rows { plane: x1 + x2 * 2.0 + x3 * 2.0 - x4 => 0.0; }
    known Solution f = 52.0 / 27.0, x = [2.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 2.0],
        "The origin is a KKT point with objective 2.";

    HS53, "least squares in a box on three planes", HOCK_SCHITTKOWSKI, Mixed;
    {
        x1 = 2.0 in -10.0..=10.0, x2 = 2.0 in -10.0..=10.0, x3 = 2.0 in -10.0..=10.0, x4 = 2.0 in -10.0..=10.0,
        x5 = 2.0 in -10.0..=10.0,
    }
    minimise (x1 - x2).square() + (x2 + x3 - 2.0).square() + (x4 - 1.0).square() + (x5 - 1.0).square();
    rows {
        first: x1 + x2 * 3.0 => 0.0;
        second: x3 + x4 - x5 * 2.0 => 0.0;
        third: x2 - x5 => 0.0;
    }
    known Solution f = 176.0 / 43.0, x = [-33.0 / 43.0, 11.0 / 43.0, 27.0 / 43.0, -5.0 / 43.0, 11.0 / 43.0];

    HS60, "a quartic in a box on a surface", HOCK_SCHITTKOWSKI, Mixed;
    { x1 = 2.0 in -10.0..=10.0, x2 = 2.0 in -10.0..=10.0, x3 = 2.0 in -10.0..=10.0 }
    minimise (x1 - 1.0).square() + (x1 - x2).square() + (x2 - x3).powi(4);
    rows { surface: x1 * (x2.square() + 1.0) + x3.powi(4) => 4.0 + 3.0 * SQRT_2; }
    known Solution f = 0.03256820025506984, x = [1.1048590197333166, 1.1966741822882572, 1.535262260325326];

    HS63, "a concave quadratic where a plane meets a sphere", HOCK_SCHITTKOWSKI, Mixed;
    { x1 = 2.0 in 0.0.., x2 = 2.0 in 0.0.., x3 = 2.0 in 0.0.. }
    minimise -(x1.square() + x2.square() * 2.0 + x3.square() + x1 * x2 + x1 * x3) + 1000.0;
    rows {
        plane: x1 * 8.0 + x2 * 14.0 + x3 * 7.0 => 56.0;
        sphere: x1.square() + x2.square() + x3.square() => 25.0;
    }
    known Solution f = 961.7151721300522, x = [3.5121213418747197, 0.21698794151522302, 3.552171154827017];

    HS71, "the example of many manuals: a product above 25 on a sphere", HOCK_SCHITTKOWSKI, Mixed;
    { x1 = 1.0 in 1.0..=5.0, x2 = 5.0 in 1.0..=5.0, x3 = 5.0 in 1.0..=5.0, x4 = 1.0 in 1.0..=5.0 }
    minimise x1 * x4 * (x1 + x2 + x3) + x3;
    rows {
        product: x1 * x2 * x3 * x4 => 25.0..;
        sphere: x1.square() + x2.square() + x3.square() + x4.square() => 40.0;
    }
    known Solution f = 17.014017289156303, x = [1.0, 4.742999637264417, 3.8211499841848737, 1.3794082931726723];

    HS73, "the cheapest feed for cattle", HOCK_SCHITTKOWSKI, Mixed;
    { barley = 1.0 in 0.0.., oats = 1.0 in 0.0.., sesame = 1.0 in 0.0.., groundnut = 1.0 in 0.0.. }
    minimise barley * 24.55 + oats * 26.75 + sesame * 39.0 + groundnut * 40.5;
    rows {
        fat: barley * 2.3 + oats * 5.6 + sesame * 11.1 + groundnut * 1.3 => 5.0..;
        protein: {
            let variance = barley.square() * 0.28 + oats.square() * 0.19 + sesame.square() * 20.5 + groundnut.square() * 0.62;
            barley * 12.0 + oats * 11.9 + sesame * 41.8 + groundnut * 52.1 - variance.sqrt() * 1.645
        } => 21.0..;
        whole: barley + oats + sesame + groundnut => 1.0;
    }
    known Solution f = 29.894378159143354,
        x = [0.6355215686350697, 0.0, 0.3127018807515235, 0.051776550613406774];

    HS80, "the exponential of a product on a sphere and two surfaces", HOCK_SCHITTKOWSKI, Mixed;
    {
        x1 = -2.0 in -2.3..=2.3, x2 = 2.0 in -2.3..=2.3, x3 = 2.0 in -3.2..=3.2, x4 = -1.0 in -3.2..=3.2,
        x5 = -1.0 in -3.2..=3.2,
    }
    minimise (x1 * x2 * x3 * x4 * x5).exp();
    rows {
        sphere: x1.square() + x2.square() + x3.square() + x4.square() + x5.square() => 10.0;
        products: x2 * x3 - x4 * x5 * 5.0 => 0.0;
        cubes: x1.powi(3) + x2.powi(3) => -1.0;
    }
    known Solution f = 0.05394984777027201,
        x = [-1.7171435703943823, 1.5957096901835544, 1.8272457529271946, -0.7636430781841304, -0.7636430781841304];

    HS81, "HS80 with a concave term that vanishes on the constraints", HOCK_SCHITTKOWSKI, Mixed;
    {
        x1 = -2.0 in -2.3..=2.3, x2 = 2.0 in -2.3..=2.3, x3 = 2.0 in -3.2..=3.2, x4 = -1.0 in -3.2..=3.2,
        x5 = -1.0 in -3.2..=3.2,
    }
    minimise (x1 * x2 * x3 * x4 * x5).exp() - (x1.powi(3) + x2.powi(3) + 1.0).square() * 0.5;
    rows {
        sphere: x1.square() + x2.square() + x3.square() + x4.square() + x5.square() => 10.0;
        products: x2 * x3 - x4 * x5 * 5.0 => 0.0;
        cubes: x1.powi(3) + x2.powi(3) => -1.0;
    }
    known Solution f = 0.05394984777027201,
        x = [-1.7171435703943823, 1.5957096901835544, 1.8272457529271946, -0.7636430781841304, -0.7636430781841304];

    WACHBIEG, "line-search interior-point methods stop short of the feasible set", WACHTER_BIEGLER, Mixed;
    { x1 = -2.0, x2 = 1.0 in 0.0.., x3 = 1.0 in 0.0.. }
    minimise x1;
    rows {
        parabola: x1.square() - x2 => 1.0;
        line: x1 - x3 => 0.5;
    }
    known Solution f = 1.0, x = [1.0, 0.0, 0.5],
        "From this start every step that is cut at the bounds leaves x2 and x3 pressed against them.";
}
