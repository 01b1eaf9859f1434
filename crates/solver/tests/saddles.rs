//! Saddles of the violation, in rows and variables of any unit: what is feasible is not called infeasible because a row is flat where it begins.

#[path = "support/referee.rs"]
mod referee;

use tangor_problem::{ClosureProblem, Meta};
use tangor_solver::{Event, Point, Report, Settings, solve};

/// Rows `scale * (form of x - centre) = right`, from the centre, with an objective or none.
#[derive(Clone, Copy)]
enum Shape {
    /// `a y^2`
    Square,
    /// `a y1 y2`
    Product,
    /// `a y1 y2`, and `y1 = y2`
    Tied,
    /// `a (y1^2 + ... + y5^2)`
    Sphere,
    /// `a y1^2` and `y2^2 / a`
    Pair,
    /// `a y1 y2` and `y3 y4 / a`
    Products,
    /// `a y^4`
    Fourth,
    /// `a y1^2`, `y1 y2 = -2`: from zero both are flat.
    Chain,
}

impl Shape {
    const ALL: [Shape; 8] =
        [Shape::Square, Shape::Product, Shape::Tied, Shape::Sphere, Shape::Pair, Shape::Products, Shape::Fourth, Shape::Chain];

    fn name(self) -> &'static str {
        match self {
            Shape::Square => "square",
            Shape::Product => "product",
            Shape::Tied => "tied",
            Shape::Sphere => "sphere",
            Shape::Pair => "pair",
            Shape::Products => "products",
            Shape::Fourth => "fourth",
            Shape::Chain => "chain",
        }
    }

    fn n(self) -> usize {
        match self {
            Shape::Square | Shape::Fourth => 1,
            Shape::Product | Shape::Tied | Shape::Pair | Shape::Chain => 2,
            Shape::Sphere => 5,
            Shape::Products => 4,
        }
    }

    fn right(self, sign: f64) -> Vec<f64> {
        match self {
            Shape::Square | Shape::Product | Shape::Sphere | Shape::Fourth => vec![sign],
            Shape::Tied => vec![sign, 0.0],
            Shape::Pair => vec![sign, 1.0],
            Shape::Products => vec![sign, -2.0],
            Shape::Chain => vec![sign, -2.0],
        }
    }

    fn values(self, a: f64, y: &[f64], c: &mut [f64]) {
        match self {
            Shape::Square => c[0] = a * y[0] * y[0],
            Shape::Product => c[0] = a * y[0] * y[1],
            Shape::Tied => c.copy_from_slice(&[a * y[0] * y[1], y[0] - y[1]]),
            Shape::Sphere => c[0] = a * y.iter().map(|y| y * y).sum::<f64>(),
            Shape::Pair => c.copy_from_slice(&[a * y[0] * y[0], y[1] * y[1] / a]),
            Shape::Products => c.copy_from_slice(&[a * y[0] * y[1], y[2] * y[3] / a]),
            Shape::Fourth => c[0] = a * y[0].powi(4),
            Shape::Chain => c.copy_from_slice(&[a * y[0] * y[0], y[0] * y[1]]),
        }
    }

    fn slopes(self, a: f64, y: &[f64], j: &mut [f64]) {
        match self {
            Shape::Square => j[0] = 2.0 * a * y[0],
            Shape::Product => j.copy_from_slice(&[a * y[1], a * y[0]]),
            Shape::Tied => j.copy_from_slice(&[a * y[1], a * y[0], 1.0, -1.0]),
            Shape::Sphere => j.iter_mut().zip(y).for_each(|(j, y)| *j = 2.0 * a * y),
            Shape::Pair => j.copy_from_slice(&[2.0 * a * y[0], 0.0, 0.0, 2.0 * y[1] / a]),
            Shape::Products => {
                j.copy_from_slice(&[a * y[1], a * y[0], 0.0, 0.0, 0.0, 0.0, y[3] / a, y[2] / a]);
            }
            Shape::Fourth => j[0] = 4.0 * a * y[0].powi(3),
            Shape::Chain => j.copy_from_slice(&[2.0 * a * y[0], 0.0, y[1], y[0]]),
        }
    }
}

#[derive(Clone, Copy)]
struct Case {
    shape: Shape,
    a: f64,
    centre: f64,
    has_objective: bool,
    at_least: bool,
    sign: f64,
}

fn build(case: Case) -> ClosureProblem {
    let Case { shape, a, centre, has_objective, at_least, sign } = case;
    let right = shape.right(sign);
    let meta = Meta::new(shape.name(), vec![centre; shape.n()]);
    let meta = if at_least { meta.at_least(&right) } else { meta.equalities(&right) };
    let meta = if has_objective { meta } else { meta.no_objective() };
    let from = move |x: &[f64]| x.iter().map(|x| x - centre).collect::<Vec<f64>>();
    let builder = ClosureProblem::builder(meta)
        .constraints(move |x, c| shape.values(a, &from(x), c))
        .jacobian(move |x, j| shape.slopes(a, &from(x), j));
    let builder = match has_objective {
        true => builder
            .objective(|x| x.iter().map(|x| x * x).sum::<f64>())
            .gradient(|x, g| g.iter_mut().zip(x).for_each(|(g, x)| *g = 2.0 * x)),
        false => builder,
    };
    builder.build().unwrap()
}

fn run(case: Case) -> Report {
    let report = solve(build(case), Settings::default()).unwrap();
    referee::assert_honest(&mut build(case), &report);
    report
}

/// Units of the first row, for each power of ten, and all that may be beside it.
fn cases(shape: Shape, sign: f64, at_least: bool) -> impl Iterator<Item = Case> {
    let units = (-10..=10).map(|k| 10f64.powi(k));
    units.flat_map(move |a| {
        [(0.0, true), (0.0, false), (3.0, true), (3.0, false)].map(|(centre, has_objective)| Case {
            shape,
            a,
            centre,
            has_objective,
            at_least,
            sign,
        })
    })
}

/// Counts KKT points, infeasible points and all else.
fn count(cases: impl Iterator<Item = Case>) -> [usize; 3] {
    cases.fold([0; 3], |mut counts, case| {
        counts[match run(case).point {
            Point::EpsKkt => 0,
            Point::EpsInfeasibleStationary => 1,
            _ => 2,
        }] += 1;
        counts
    })
}

/// Of 168 each, so many are solved at least: of one row all but one; where rows of very unlike units hang together, not all within the limit of iterations.
fn least(shape: Shape) -> usize {
    match shape {
        Shape::Square | Shape::Fourth => 165,
        Shape::Product | Shape::Sphere => 162,
        Shape::Tied | Shape::Pair => 155,
        Shape::Products => 150,
        Shape::Chain => 140,
    }
}

#[test]
fn no_saddle_is_called_infeasible_because_of_a_unit() {
    println!("{:<10}{:>8}{:>12}{:>8}", "shape", "solved", "infeasible", "else");
    let mut wrong = Vec::new();
    for shape in Shape::ALL {
        let [solved, infeasible, rest] = count(cases(shape, 1.0, false).chain(cases(shape, 1.0, true)));
        println!("{:<10}{solved:>8}{infeasible:>12}{rest:>8}", shape.name());
        if infeasible > 0 || solved < least(shape) {
            wrong.push(shape.name());
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn what_no_point_satisfies_is_still_called_infeasible() {
    for shape in [Shape::Square, Shape::Sphere, Shape::Fourth] {
        let [solved, infeasible, rest] = count(cases(shape, -1.0, false));
        assert!(solved == 0 && rest <= 1, "{}: {infeasible} infeasible, {rest} neither", shape.name());
    }
}

/// Each square is `1 / a`, and the record says how the saddle was left.
#[test]
fn flat_saddles_are_left_on_record() {
    let flat = |shape, a| run(Case { shape, a, centre: 0.0, has_objective: true, at_least: false, sign: 1.0 });
    for (shape, a) in [(Shape::Square, 1e-8), (Shape::Square, 1e-10), (Shape::Product, 1e-9), (Shape::Product, 1e-10)] {
        let report = flat(shape, a);
        assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
        let starts = report.unusual.iter().find(|(event, _)| *event == Event::Elsewhere).map(|(_, count)| *count);
        assert!(starts.is_some_and(|starts| starts > 8), "{starts:?}");
        assert!((report.objective * a / shape.n() as f64 - 1.0).abs() < 1e-4, "{}", report.objective);
    }
    // Multipliers of 1e18 are not found within the tolerances of every shape, but nothing false is said of it.
    for (shape, a) in [(Shape::Square, 1e-18), (Shape::Product, 1e-18), (Shape::Sphere, 1e-30)] {
        let report = flat(shape, a);
        assert_ne!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
    }
}

/// `scale (k x)^2 exp(-k x) = 0.3 scale`, which holds at about -0.437 / k and, beyond a hill at 2 / k, nowhere that numbers tell from 0: starts nearby, as far away
/// as 1e-2 and more, are beyond numbers on one side and on the flat tail on the other. All are left, however small the scale is.
#[test]
fn a_saddle_whose_scale_is_far_below_one_is_left() {
    for (k, scale, n) in [(1e4, 1.0, 1), (3e4, 1e3, 2), (1e5, 1e-3, 1), (1e6, 1.0, 3), (1e6, 1e6, 1), (1e7, 1.0, 1)] {
        let build = || {
            ClosureProblem::builder(Meta::new("steep", vec![0.0; n]).equalities(&[0.3 * scale]))
                .objective(move |x| x.iter().map(|x| (k * x + 0.5).powi(2)).sum::<f64>())
                .gradient(move |x, g| g.iter_mut().zip(x).for_each(|(g, x)| *g = 2.0 * k * (k * x + 0.5)))
                .constraints(move |x, c| c[0] = scale * (k * x[0]).powi(2) * (-k * x[0]).exp())
                .jacobian(move |x, j| {
                    j.fill(0.0);
                    j[0] = scale * k * (2.0 * k * x[0] - (k * x[0]).powi(2)) * (-k * x[0]).exp();
                })
                .build()
                .unwrap()
        };
        let report = solve(build(), Settings::default()).unwrap();
        referee::assert_honest(&mut build(), &report);
        assert!(report.feasibility <= 1e-6, "k = {k:e}, {scale:e}: {}", report.message);
        assert!(!report.message.contains("contradict"), "{}", report.message);
    }
}
