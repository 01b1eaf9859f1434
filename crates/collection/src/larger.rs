//! Problems with inequalities and ranges that have more variables and more rows.

use crate::definition::HOCK_SCHITTKOWSKI;

problems! {
    HS83, "Colville's third problem: three nonlinear ranges", HOCK_SCHITTKOWSKI, Inequalities;
    {
        x1 = 78.0 in 78.0..=102.0, x2 = 33.0 in 33.0..=45.0, x3 = 27.0 in 27.0..=45.0, x4 = 27.0 in 27.0..=45.0,
        x5 = 27.0 in 27.0..=45.0,
    }
    minimise x3.square() * 5.3578547 + x1 * x5 * 0.8356891 + x1 * 37.293239 - 40792.141;
    rows {
        first: x2 * x5 * 0.0056858 + x1 * x4 * 0.0006262 - x3 * x5 * 0.0022053 + 85.334407 => 0.0..=92.0;
        second: x2 * x5 * 0.0071317 + x1 * x2 * 0.0029955 + x3.square() * 0.0021813 + 80.51249 => 90.0..=110.0;
        third: x3 * x5 * 0.0047026 + x1 * x3 * 0.0012547 + x3 * x4 * 0.0019085 + 9.300961 => 20.0..=25.0;
    }
    known Solution f = -30665.538671783316, x = [78.0, 33.0, 29.9952560256816, 45.0, 36.77581290578821],
        "The solution is a vertex.";

    HS100, "Wong's first problem: powers up to the sixth", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 1.0, x2 = 2.0, x3 = 0.0, x4 = 4.0, x5 = 0.0, x6 = 1.0, x7 = 1.0 }
    minimise (x1 - 10.0).square() + (x2 - 12.0).square() * 5.0 + x3.powi(4) + (x4 - 11.0).square() * 3.0
        + x5.powi(6) * 10.0 + x6.square() * 7.0 + x7.powi(4) - x6 * x7 * 4.0 - x6 * 10.0 - x7 * 8.0;
    rows {
        first: x1.square() * 2.0 + x2.powi(4) * 3.0 + x3 + x4.square() * 4.0 + x5 * 5.0 => ..=127.0;
        second: x1 * 7.0 + x2 * 3.0 + x3.square() * 10.0 + x4 - x5 => ..=282.0;
        third: x1 * 23.0 + x2.square() + x6.square() * 6.0 - x7 * 8.0 => ..=196.0;
        fourth: x1.square() * 4.0 + x2.square() - x1 * x2 * 3.0 + x3.square() * 2.0 + x6 * 5.0 - x7 * 11.0 => ..=0.0;
    }
    known Solution f = 680.6300573744021,
        x = [
            2.33049937287957, 1.951372372896889, -0.4775413923888716, 4.36572623365581, -0.6244869705268175,
            1.0381310186079584, 1.5942267116118685,
        ];

    HS113, "Wong's second problem: ten variables, eight rows", HOCK_SCHITTKOWSKI, Inequalities;
    { x1 = 2.0, x2 = 3.0, x3 = 5.0, x4 = 5.0, x5 = 1.0, x6 = 2.0, x7 = 7.0, x8 = 3.0, x9 = 6.0, x10 = 10.0 }
    minimise x1.square() + x2.square() + x1 * x2 - x1 * 14.0 - x2 * 16.0 + (x3 - 10.0).square() + (x4 - 5.0).square() * 4.0
        + (x5 - 3.0).square() + (x6 - 1.0).square() * 2.0 + x7.square() * 5.0 + (x8 - 11.0).square() * 7.0
        + (x9 - 10.0).square() * 2.0 + (x10 - 7.0).square() + 45.0;
    rows {
        first: x1 * 4.0 + x2 * 5.0 - x7 * 3.0 + x8 * 9.0 => ..=105.0;
        second: x1 * 10.0 - x2 * 8.0 - x7 * 17.0 + x8 * 2.0 => ..=0.0;
        third: -x1 * 8.0 + x2 * 2.0 + x9 * 5.0 - x10 * 2.0 => ..=12.0;
        fourth: (x1 - 2.0).square() * 3.0 + (x2 - 3.0).square() * 4.0 + x3.square() * 2.0 - x4 * 7.0 => ..=120.0;
        fifth: x1.square() * 5.0 + x2 * 8.0 + (x3 - 6.0).square() - x4 * 2.0 => ..=40.0;
        sixth: (x1 - 8.0).square() * 0.5 + (x2 - 4.0).square() * 2.0 + x5.square() * 3.0 - x6 => ..=30.0;
        seventh: x1.square() + (x2 - 2.0).square() * 2.0 - x1 * x2 * 2.0 + x5 * 14.0 - x6 * 6.0 => ..=0.0;
        eighth: -x1 * 3.0 + x2 * 6.0 + (x9 - 8.0).square() * 12.0 - x10 * 7.0 => ..=0.0;
    }
    known Solution f = 24.306209068179808,
        x = [
            2.1719963712554553, 2.36368297369728, 8.77392573847685, 5.095984487948453, 0.9906547649638592,
            1.4305739789363159, 1.3216442081617032, 9.828725807886322, 8.280091670098345, 8.375926663921323,
        ];

    HS118, "production in five periods: twelve ranges on its changes", HOCK_SCHITTKOWSKI, Inequalities;
    {
        x1 = 20.0 in 8.0..=21.0, x2 = 55.0 in 43.0..=57.0, x3 = 15.0 in 3.0..=16.0,
        x4 = 20.0 in 0.0..=90.0, x5 = 60.0 in 0.0..=120.0, x6 = 20.0 in 0.0..=60.0,
        x7 = 20.0 in 0.0..=90.0, x8 = 60.0 in 0.0..=120.0, x9 = 20.0 in 0.0..=60.0,
        x10 = 20.0 in 0.0..=90.0, x11 = 60.0 in 0.0..=120.0, x12 = 20.0 in 0.0..=60.0,
        x13 = 20.0 in 0.0..=90.0, x14 = 60.0 in 0.0..=120.0, x15 = 20.0 in 0.0..=60.0,
    }
    minimise {
        let periods = [[x1, x2, x3], [x4, x5, x6], [x7, x8, x9], [x10, x11, x12], [x13, x14, x15]];
        let cost = |[a, b, c]: [D; 3]| {
            a * 2.3 + a.square() * 0.0001 + b * 1.7 + b.square() * 0.0001 + c * 2.2 + c.square() * 0.00015
        };
        D::sum(periods.map(cost))
    };
    rows {
        change4: x4 - x1 => -7.0..=6.0;
        change5: x5 - x2 => -7.0..=7.0;
        change6: x6 - x3 => -7.0..=6.0;
        change7: x7 - x4 => -7.0..=6.0;
        change8: x8 - x5 => -7.0..=7.0;
        change9: x9 - x6 => -7.0..=6.0;
        change10: x10 - x7 => -7.0..=6.0;
        change11: x11 - x8 => -7.0..=7.0;
        change12: x12 - x9 => -7.0..=6.0;
        change13: x13 - x10 => -7.0..=6.0;
        change14: x14 - x11 => -7.0..=7.0;
        change15: x15 - x12 => -7.0..=6.0;
        demand1: x1 + x2 + x3 => 60.0..;
        demand2: x4 + x5 + x6 => 50.0..;
        demand3: x7 + x8 + x9 => 70.0..;
        demand4: x10 + x11 + x12 => 85.0..;
        demand5: x13 + x14 + x15 => 100.0..;
    }
    known Solution f = 664.82045,
        x = [8.0, 49.0, 3.0, 1.0, 56.0, 0.0, 1.0, 63.0, 6.0, 3.0, 70.0, 12.0, 5.0, 77.0, 18.0];
}
