//! Problems at the edges of what can be stated, and beyond: all end without a panic, in the right place or with a clear error.

#[path = "support/referee.rs"]
mod referee;

use tangor_problem::{ClosureProblem, Meta, Problem};
use tangor_solver::{MetricKind, Point, Report, Settings, Stop, solve};

const INFINITE: f64 = f64::INFINITY;
const METRICS: [MetricKind; 5] =
    [MetricKind::Identity, MetricKind::Spectral, MetricKind::Diagonal, MetricKind::LimitedMemory, MetricKind::QuasiNewton];

/// Minimise `1/2 |x - target|^2` subject to rows `A x`, `A` dense.
fn nearest(meta: Meta, target: &'static [f64], a: &'static [&'static [f64]]) -> ClosureProblem {
    let has_objective = meta.has_objective;
    let mut builder = ClosureProblem::builder(meta);
    if has_objective {
        builder = builder
            .objective(move |x| 0.5 * x.iter().zip(target).map(|(x, t)| (x - t) * (x - t)).sum::<f64>())
            .gradient(move |x, g| g.iter_mut().zip(x.iter().zip(target)).for_each(|(g, (x, t))| *g = x - t));
    }
    if !a.is_empty() {
        builder = builder
            .constraints(move |x, c| {
                c.iter_mut().zip(a).for_each(|(c, row)| *c = row.iter().zip(x).map(|(a, x)| a * x).sum());
            })
            .jacobian(move |_, values| values.copy_from_slice(&a.concat()));
    }
    builder.build().unwrap()
}

/// Solves with each metric; all must find the same point, and say honestly what it is.
fn solved(build: impl Fn() -> ClosureProblem, x: &[f64]) {
    for kind in METRICS {
        let report = run(&build, kind);
        let name = &report.problem;
        assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsKkt), "{name}, {kind:?}: {}", report.message);
        for (found, wanted) in report.x.iter().zip(x) {
            assert!((found - wanted).abs() < 1e-5, "{name}, {kind:?}: {:?}, not {x:?}", report.x);
        }
    }
}

fn run(build: impl Fn() -> ClosureProblem, kind: MetricKind) -> Report {
    let mut settings = Settings::default();
    settings.metric.kind = kind;
    let report = solve(build(), settings).unwrap();
    referee::assert_honest(&mut build(), &report);
    report
}

#[test]
fn no_objective() {
    let meta = || Meta::new("no objective", vec![0.0, 0.0]).no_objective().equalities(&[2.0, 0.0]);
    solved(|| nearest(meta(), &[], &[&[1.0, 1.0], &[1.0, -1.0]]), &[1.0, 1.0]);
}

#[test]
fn neither_objective_nor_constraints() {
    let meta = || Meta::new("nothing", vec![5.0]).bounds(&[0.0], &[1.0]).no_objective();
    solved(|| nearest(meta(), &[], &[]), &[1.0]);
}

#[test]
fn no_constraints() {
    solved(|| nearest(Meta::new("free", vec![0.0, 0.0]), &[1.0, -2.0], &[]), &[1.0, -2.0]);
}

#[test]
fn only_bounds_and_a_start_outside_of_them() {
    let meta = || Meta::new("box", vec![100.0, -100.0]).bounds(&[-1.0, -1.0], &[0.5, INFINITE]);
    solved(|| nearest(meta(), &[1.0, -2.0], &[]), &[0.5, -1.0]);
}

#[test]
fn all_variables_fixed() {
    let meta = || Meta::new("fixed", vec![0.0, 0.0]).bounds(&[1.0, 2.0], &[1.0, 2.0]);
    solved(|| nearest(meta(), &[5.0, 5.0], &[]), &[1.0, 2.0]);
    solved(|| nearest(meta().equalities(&[3.0]), &[5.0, 5.0], &[&[1.0, 1.0]]), &[1.0, 2.0]);
    solved(|| nearest(meta().at_most(&[4.0]), &[5.0, 5.0], &[&[1.0, 1.0]]), &[1.0, 2.0]);
    for kind in [MetricKind::Identity, MetricKind::QuasiNewton] {
        let report = run(|| nearest(meta().equalities(&[4.0]), &[5.0, 5.0], &[&[1.0, 1.0]]), kind);
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
        assert_eq!(report.worst_rows[0].violation, 1.0);
    }
}

#[test]
fn all_rows_free() {
    let meta = || Meta::new("free rows", vec![0.0, 0.0]).rows(&[-INFINITE, -1e20], &[INFINITE, 1e30]);
    solved(|| nearest(meta(), &[1.0, 2.0], &[&[1.0, 1.0], &[1.0, -1.0]]), &[1.0, 2.0]);
    let report = run(|| nearest(meta(), &[1.0, 2.0], &[&[1.0, 1.0], &[1.0, -1.0]]), MetricKind::Spectral);
    assert_eq!(report.row_multipliers, [0.0, 0.0]);
    assert_eq!(report.constraints.len(), 2, "their values are given back all the same");
}

#[test]
fn rows_of_zeros() {
    let meta = || Meta::new("zeros", vec![0.0, 0.0]).equalities(&[0.0, 1.0]).bounds(&[-1.0; 2], &[0.25, 3.0]);
    solved(|| nearest(meta(), &[1.0, 2.0], &[&[0.0, 0.0], &[1.0, 1.0]]), &[0.0, 1.0]);
    let impossible = || Meta::new("zero is one", vec![0.0]).equalities(&[1.0]);
    let report = run(|| nearest(impossible(), &[1.0], &[&[0.0]]), MetricKind::QuasiNewton);
    assert_eq!(report.point, Point::EpsInfeasibleStationary, "{}", report.message);
}

#[test]
fn more_rows_than_variables() {
    // Consistent equalities, each said several times over.
    let a: &[&[f64]] = &[&[1.0, 1.0], &[1.0, -1.0], &[2.0, 0.0], &[0.0, 3.0], &[1.0, 2.0]];
    let meta = || Meta::new("many equalities", vec![0.0, 0.0]).equalities(&[3.0, -1.0, 2.0, 6.0, 5.0]);
    solved(|| nearest(meta(), &[7.0, 7.0], a), &[1.0, 2.0]);
    let meta = || Meta::new("many inequalities", vec![9.0, 9.0]).at_most(&[3.0, -1.0, 2.0, 6.0, 5.0]);
    solved(|| nearest(meta(), &[1.0, 9.0], a), &[1.0, 2.0]);
}

#[test]
fn one_variable() {
    let meta = || Meta::new("one", vec![0.0]).bounds(&[-10.0], &[10.0]);
    solved(|| nearest(meta().rows(&[2.0], &[4.0]), &[-3.0], &[&[2.0]]), &[1.0]);
    solved(|| nearest(meta().rows(&[2.0], &[4.0]), &[3.0], &[&[2.0]]), &[2.0]);
}

#[test]
fn entries_named_twice_are_added() {
    let build = || {
        let meta = Meta::new("twice", vec![0.0, 0.0]).equalities(&[4.0]).sparse([(0, 1), (0, 0), (0, 1)]);
        ClosureProblem::builder(meta)
            .objective(|x| 0.5 * (x[0] * x[0] + x[1] * x[1]))
            .gradient(|x, g| g.copy_from_slice(x))
            .constraints(|x, c| c[0] = x[0] + 3.0 * x[1])
            .jacobian(|_, values| values.copy_from_slice(&[1.0, 1.0, 2.0]))
            .build()
            .unwrap()
    };
    solved(build, &[0.4, 1.2]);
}

#[test]
fn a_sparse_pattern_without_entries() {
    let build = || {
        let meta = Meta::new("constant rows", vec![3.0]).equalities(&[0.0]).at_most(&[1.0]).sparse([]);
        ClosureProblem::builder(meta)
            .objective(|x| x[0] * x[0])
            .gradient(|x, g| g[0] = 2.0 * x[0])
            .constraints(|_, c| c.fill(0.0))
            .jacobian(|_, _| ())
            .build()
            .unwrap()
    };
    solved(build, &[0.0]);
}

#[test]
fn a_range_of_one_point_in_disguise() {
    // The two bounds differ by one unit in the last place.
    let above = f64::from_bits(1f64.to_bits() + 1);
    let meta = || {
        Meta::new("thin", vec![0.0, 0.0])
            .bounds(&[1.0, -INFINITE], &[above, INFINITE])
            .rows(&[3.0], &[f64::from_bits(3f64.to_bits() + 1)])
    };
    solved(|| nearest(meta(), &[5.0, 5.0], &[&[1.0, 1.0]]), &[1.0, 2.0]);
}

#[test]
fn badly_scaled_rows() {
    let a: &[&[f64]] = &[&[1e6, 1e6], &[1e-4, -1e-4]];
    let meta = || Meta::new("scales", vec![0.0, 0.0]).equalities(&[3e6, -1e-4]);
    for kind in METRICS {
        // A violation of 1e-6 of the small row is one of 1e-2 in the variables: only the residuals can be asked for.
        let report = run(|| nearest(meta(), &[7.0, 7.0], a), kind);
        assert_eq!(report.point, Point::EpsKkt, "{kind:?}: {}", report.message);
    }
}

#[test]
fn unbounded_below() {
    let build = || {
        let meta = Meta::new("unbounded", vec![0.0]);
        ClosureProblem::builder(meta).objective(|x| -x[0].exp()).gradient(|x, g| g[0] = -x[0].exp()).build().unwrap()
    };
    for kind in METRICS {
        let mut settings = Settings::default();
        settings.metric.kind = kind;
        let report = solve(build(), settings).unwrap();
        assert_ne!(report.point, Point::EpsKkt, "{kind:?}");
        assert!(report.objective < -1.0 && report.x[0].is_finite(), "{kind:?}: {report:?}");
    }
}

#[test]
fn nonsense_is_refused_in_a_sentence() {
    let good = || Meta::new("odd", vec![0.0, 0.0]).equalities(&[1.0]);
    let cases = [
        (Meta::new("odd", vec![]), "the problem has no variables"),
        (good().bounds(&[1.0, 0.0], &[0.0, 1.0]), "the bounds of variable x[0] are crossed: lower 1 is above upper 0"),
        (good().rows(&[2.0], &[1.0]), "the bounds of constraint c[1] are crossed: lower 2 is above upper 1"),
        (good().bounds(&[f64::NAN, 0.0], &[1.0, 1.0]), "a bound of variable x[0] is NaN"),
        (good().bounds(&[0.0], &[1.0]), "x_lower has length 1, expected 2"),
        (Meta::new("odd", vec![f64::NAN]), "the start of variable x[0] is NaN: a finite number is needed"),
    ];
    for (meta, expected) in cases {
        let error = solve(Silent(meta), Settings::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("problem odd: {expected}"));
    }
    let outside = solve(Silent(good().sparse([(0, 2)])), Settings::default()).unwrap_err().to_string();
    assert!(outside.starts_with("problem odd: ") && outside.contains('2'), "{outside}");
}

/// Never evaluated: its data are wrong.
struct Silent(Meta);

impl Problem for Silent {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn objective(&mut self, _: &[f64]) -> tangor_problem::Evaluation<f64> {
        panic!("evaluated")
    }
    fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> tangor_problem::Evaluation {
        panic!("evaluated")
    }
    fn constraints(&mut self, _: &[f64], _: &mut [f64]) -> tangor_problem::Evaluation {
        panic!("evaluated")
    }
    fn jacobian(&mut self, _: &[f64], _: &mut [f64]) -> tangor_problem::Evaluation {
        panic!("evaluated")
    }
}
