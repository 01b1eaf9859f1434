//! The regression as a problem: formulas by hand, derivatives, unbiased samples, the same bits on any number of threads.

use std::ops::ControlFlow;

use rayon::ThreadPoolBuilder;
use tangor_learn::{
    Classes, Comparison, Constraint, DataSet, Evaluation, Goal, Outcome, Penalty, Rate, Regression, SampledRegression, generate,
};
use tangor_problem::{
    Access, Counted, Draw, Function, Outputs, Problem, SampledProblem, Wanted, check_derivatives, two_sided_student,
};
use tangor_solver::{Batch, Report, Row, Settings, Solver};

fn constraints() -> Vec<Constraint> {
    let column = || "group".to_string();
    vec![
        Constraint::Norm { radius: 2.0 },
        Constraint::Gap { rate: Rate::Selection, column: column(), most: 0.02 },
        Constraint::Gap { rate: Rate::TruePositive, column: column(), most: 0.03 },
        Constraint::Cap { rate: Rate::FalsePositive, column: None, most: 0.1 },
    ]
}

/// The intercept costs as much as other weights.
fn goal(constraints: &[Constraint], l2: f64) -> Goal {
    Goal { constraints: constraints.to_vec(), penalty: Penalty { l2, intercept: true }, smallest_group: 1, ..Goal::default() }
}

fn judge(data: &DataSet, goal: &Goal, confidence: f64) -> Evaluation {
    let (requirements, _) = goal.requirements(data, &Classes::new(data).unwrap()).unwrap();
    Evaluation::new(data, &X, &requirements, 0.5, confidence).unwrap()
}

fn data(rows: usize) -> DataSet {
    generate(rows, 5, 3).unwrap()
}

const X: [f64; 6] = [0.4, -0.3, 0.2, 1.0, -0.7, 0.1];

/// Gradient, constraints, Jacobian and loss, one after the other.
fn evaluate(problem: &mut SampledRegression, draws: &[Draw]) -> Vec<f64> {
    let mut values = vec![0.0; 6 + 4 + 24 + 1];
    problem.gradient(&X, draws, &mut values[..6]).unwrap();
    problem.constraints(&X, draws, &mut values[6..10]).unwrap();
    problem.jacobian(&X, draws, &mut values[10..34]).unwrap();
    values[34] = problem.objective(&X, draws).unwrap().unwrap();
    values
}

/// The same in one pass, and the loss.
fn evaluate_together(problem: &mut SampledRegression, draws: &[Draw]) -> Vec<f64> {
    let mut values = vec![7.0; 35];
    let (g, rest) = values.split_at_mut(6);
    let (c, rest) = rest.split_at_mut(4);
    let mut out = Outputs::new(g, c, &mut rest[..24]);
    problem.evaluate(&X, draws, Wanted::ALL, &mut out).unwrap();
    values[34] = out.objective.unwrap();
    values
}

fn bits(values: Vec<f64>) -> Vec<u64> {
    values.into_iter().map(f64::to_bits).collect()
}

fn evaluate_exactly(problem: &mut Regression) -> Vec<f64> {
    let mut values = vec![0.0; 35];
    problem.gradient(&X, &mut values[..6]).unwrap();
    problem.constraints(&X, &mut values[6..10]).unwrap();
    problem.jacobian(&X, &mut values[10..34]).unwrap();
    values[34] = problem.objective(&X).unwrap();
    values
}

#[test]
fn values_agree_with_the_formulas() {
    let data = data(1000);
    let p = |i: usize| 1.0 / (1.0 + (-data.features.dot(i, &X)).exp());
    let mean = |condition: &dyn Fn(usize) -> bool| {
        let rows: Vec<usize> = (0..1000).filter(|&i| condition(i)).collect();
        rows.iter().map(|&i| p(i)).sum::<f64>() / rows.len() as f64
    };
    let in_b = |i: usize| data.groupings[0].members[i] == Some(1);
    let loss: f64 = (0..1000).map(|i| -(if data.positive[i] { p(i) } else { 1.0 - p(i) }).ln()).sum::<f64>() / 1000.0;
    let norm: f64 = X.iter().map(|x| x * x).sum();
    let expected = [
        norm,
        mean(&in_b) - mean(&|i| !in_b(i)),
        mean(&|i| in_b(i) && data.positive[i]) - mean(&|i| !in_b(i) && data.positive[i]),
        mean(&|i| !data.positive[i]),
        loss + 0.05 * norm,
    ];
    let mut problem = Regression::new(data.clone(), &goal(&constraints(), 0.1)).unwrap();
    let found = evaluate_exactly(&mut problem);
    for (found, expected) in found[6..10].iter().chain(&found[34..]).zip(expected) {
        assert!((found - expected).abs() < 1e-13, "{found}, not {expected}");
    }
    let judged = judge(&data, &goal(&constraints(), 0.1), 0.95);
    assert!((judged.loss - loss).abs() < 1e-13);
    let values: Vec<f64> = judged.constraints.iter().map(|attained| attained.probabilities.unwrap().value).collect();
    for (value, expected) in values.iter().zip([norm.sqrt(), expected[1], expected[2], expected[3]]) {
        assert!((value - expected).abs() < 1e-13, "{value}, not {expected}");
    }
    assert_eq!(judged.constraints[0].probabilities.unwrap().margin, 0.0);
    // The margin of the false positive rate by hand: so many standard errors of a mean as Student's distribution says, about 1.96, with a
    // yes and a no among the rows.
    let alarms: Vec<f64> = (0..1000).filter(|&i| !data.positive[i]).map(p).collect();
    let errors = two_sided_student(0.95, alarms.len() as f64 - 1.0);
    let more: Vec<f64> = alarms.into_iter().chain([0.0, 1.0]).collect();
    let (mean, count) = (more.iter().sum::<f64>() / more.len() as f64, more.len() as f64);
    let variance = more.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / count;
    assert!(errors > 1.96 && errors < 1.97, "{errors}");
    assert!((judged.constraints[3].probabilities.unwrap().margin - errors * (variance / count).sqrt()).abs() < 1e-8);
    let margins =
        |judged: &Evaluation| judged.constraints.iter().map(|one| one.probabilities.unwrap().margin).collect::<Vec<_>>();
    assert!(margins(&judged)[1..].iter().all(|margin| *margin > 0.005 && *margin < 0.1));
    let surer = judge(&data, &goal(&constraints(), 0.1), 0.99);
    for (sure, surer) in margins(&judged).into_iter().zip(margins(&surer)) {
        // A little more than the quotient of normal quantiles: groups have some hundred rows.
        let ratio = 2.575829 / 1.959964;
        assert!(surer >= ratio * sure && surer <= 1.01 * ratio * sure, "{surer}, {sure}");
    }
}

#[test]
fn derivatives_are_right() {
    let mut problem = Regression::new(data(300), &goal(&constraints(), 0.1)).unwrap();
    let check = check_derivatives(&mut problem, &X).unwrap();
    assert!(check.is_right(), "{check:?}");
}

#[test]
fn the_average_over_all_single_rows_is_the_exact_function() {
    let mut problem = Regression::new(data(500), &goal(&constraints(), 0.1)).unwrap().sampled();
    let mut mean = vec![0.0; 35];
    for i in 0..500 {
        mean.iter_mut().zip(evaluate(&mut problem, &[Draw(i)])).for_each(|(mean, value)| *mean += value / 500.0);
    }
    let exact = evaluate_exactly(&mut problem.into_inner());
    for (mean, exact) in mean.iter().zip(exact) {
        assert!((mean - exact).abs() < 1e-12, "{mean}, not {exact}");
    }
}

#[test]
fn the_same_bits_on_1_2_and_8_threads() {
    let draws: Vec<Draw> = (0..4000).map(|k| Draw(k * k % 5000)).collect();
    let results = [1, 2, 8].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut problem = Regression::new(data(5000), &goal(&constraints(), 0.1)).unwrap().sampled();
            let sampled = bits(evaluate(&mut problem, &draws));
            assert_eq!(bits(evaluate_together(&mut problem, &draws)), sampled, "{threads} threads");
            (sampled, bits(evaluate_exactly(&mut problem.into_inner())))
        })
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn a_whole_run_has_the_same_bits_on_1_2_and_8_threads() {
    let mut settings = Settings::default();
    settings.limits.iterations = 120;
    settings.tolerance.stationarity = 1e-300;
    let sampling = &mut settings.sampling;
    for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        estimation.batch = Batch::Constant { size: 1000 };
    }
    let reports = [1, 2, 8].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (data, settings) = (data(5000), settings.clone());
        let report = pool.install(|| {
            let problem = Regression::new(data, &goal(&constraints()[1..], 0.01)).unwrap().sampled();
            Solver::sampled(problem, settings).unwrap().run(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(()))
        });
        assert_eq!(report.iterations, 120, "{}", report.message);
        format!("{:?}", Report { seconds: 0.0, ..report })
    });
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}

#[test]
fn one_pass_gives_the_bits_of_three() {
    // 3 rows are one part of the sum and 600 are several; the order of evaluation must not matter, nor what was evaluated before.
    let mut problem = Regression::new(data(700), &goal(&constraints(), 0.1)).unwrap().sampled();
    for count in [3, 600] {
        let draws: Vec<Draw> = (0..count).map(|k| Draw(k * k % 700)).collect();
        let together = bits(evaluate_together(&mut problem, &draws));
        assert_eq!(together, bits(evaluate(&mut problem, &draws)));
        assert_eq!(together, bits(evaluate_together(&mut problem, &draws)));
    }
    let (mut g, mut c, mut values) = ([0.0; 6], [0.0; 4], [0.0; 24]);
    let mut out = Outputs::new(&mut g, &mut c, &mut values);
    let failed = problem.evaluate(&X, &[Draw(700)], Wanted::SAMPLED, &mut out).unwrap_err();
    assert_eq!((failed.function, &*failed.failure.to_string()), (Function::Gradient, "row 700 was drawn, but there are 700"));
    // A point that is too short makes it panic, which no function can be blamed for.
    let mut counted = Counted::new(problem);
    let failed = counted.evaluate(&X[..2], &[Draw(1)], Wanted::SAMPLED, &mut out).unwrap_err();
    let message = failed.failure.to_string();
    assert!(
        message.starts_with("the function panicked: ")
            && message.ends_with("(while several functions were evaluated together)")
    );
    assert_eq!((counted.counts().total(), counted.samples().total()), (3, 3));
    // Constraints that no row has a part in, and none at all.
    for constraints in [&constraints()[..1], &[]] {
        let mut problem = Regression::new(data(700), &goal(constraints, 0.1)).unwrap().sampled();
        let m = constraints.len();
        let (mut single, mut together) = (vec![0.0; 6 + 7 * m], vec![0.0; 6 + 7 * m]);
        problem.gradient(&X, &[Draw(3)], &mut single[..6]).unwrap();
        problem.constraints(&X, &[], &mut single[6..6 + m]).unwrap();
        problem.jacobian(&X, &[], &mut single[6 + m..]).unwrap();
        let (g, rest) = together.split_at_mut(6);
        let (c, values) = rest.split_at_mut(m);
        problem.evaluate(&X, &[Draw(3)], Wanted::SAMPLED, &mut Outputs::new(g, c, values)).unwrap();
        assert_eq!(bits(together), bits(single));
    }
}

#[test]
fn a_norm_alone_is_exact() {
    let problem = Regression::new(data(10), &goal(&constraints()[..1], 0.0)).unwrap().sampled();
    let accesses = problem.accesses();
    assert_eq!(
        [accesses.gradient, accesses.constraints, accesses.jacobian],
        [Access::Finite(10), Access::Exact, Access::Exact]
    );
}

#[test]
fn the_confidence_margin_covers_the_truth() {
    // The truth is what a large data set shows; small ones of the same kind must cover it in about 95 of 100 cases.
    let truth = judge(&generate(400_000, 5, 1000).unwrap(), &goal(&constraints(), 0.1), 0.95);
    let mut covered = [0; 4];
    for seed in 0..400 {
        let judged = judge(&generate(400, 5, seed).unwrap(), &goal(&constraints(), 0.1), 0.95);
        for (covered, (here, there)) in covered.iter_mut().zip(judged.constraints.iter().zip(&truth.constraints)) {
            let (here, there) = (here.probabilities.unwrap(), there.probabilities.unwrap());
            *covered += u32::from((here.value - there.value).abs() <= here.margin + 1e-15);
        }
    }
    assert_eq!(covered[0], 400);
    assert!(covered[1..].iter().all(|covered| (364..=396).contains(covered)), "{covered:?}");
}

#[test]
fn senseless_constraints_are_refused() {
    let column = || "group".to_string();
    let cases = [
        (Constraint::Norm { radius: 0.0 }, "the constraint norm cannot be used: its bound is 0, but must be a positive number"),
        (
            Constraint::Gap { rate: Rate::Selection, column: column(), most: 1.5 },
            "the constraint rate gap of group cannot be used: its bound is 1.5, but must be between 0 and 1",
        ),
        (
            Constraint::Cap { rate: Rate::FalsePositive, column: None, most: f64::NAN },
            "the constraint false positive rate cannot be used: its bound is NaN, but must be above 0 and at most 1",
        ),
        (
            Constraint::Gap { rate: Rate::Selection, column: "sex".into(), most: 0.1 },
            "the constraint rate gap of sex cannot be used: the data were not read with groups by \"sex\"",
        ),
    ];
    for (constraint, expected) in cases {
        assert_eq!(Regression::new(data(50), &goal(&[constraint], 0.0)).unwrap_err().to_string(), expected);
    }
    let mut one_sided = data(50);
    one_sided.positive.fill(false);
    let constraint = Constraint::Gap { rate: Rate::TruePositive, column: column(), most: 0.1 };
    let expected = "the constraint true positive gap of group cannot be used: fewer than two of its groups have 1 rows that count; the \
                    others are a (0), b (0) (--min-group N)";
    assert_eq!(Regression::new(one_sided, &goal(&[constraint], 0.0)).unwrap_err().to_string(), expected);
}

#[test]
fn the_intercept_costs_nothing_unless_asked() {
    let free = Goal { penalty: Penalty { l2: 0.1, intercept: false }, ..goal(&[], 0.1) };
    let mut problems = [free, goal(&[], 0.1)].map(|goal| Regression::new(data(200), &goal).unwrap());
    let [free, costly] = problems.each_mut().map(|problem| problem.objective(&X).unwrap());
    assert!((costly - free - 0.05 * X[5] * X[5]).abs() < 1e-14);
    assert!(check_derivatives(&mut problems[0], &X).unwrap().is_right());
}

#[test]
fn rows_that_count_twice_are_two_rows() {
    let once = data(300);
    let twice = once.subset(&(0..300).chain(0..100).collect::<Vec<_>>());
    let weighted = once.weighted((0..300).map(|i| if i < 100 { 2.0 } else { 1.0 }).collect()).unwrap();
    let goal = goal(&constraints(), 0.1);
    let values = [&twice, &weighted].map(|data| evaluate_exactly(&mut Regression::new(data.clone(), &goal).unwrap()));
    for (k, (a, b)) in values[0].iter().zip(&values[1]).enumerate() {
        assert!((a - b).abs() < 1e-12, "{k}: {a}, not {b}");
    }
    let [a, b] = [twice, weighted].map(|data| judge(&data, &goal, 0.95));
    assert!((a.loss - b.loss).abs() < 1e-12 && (a.overall.auc.unwrap() - b.overall.auc.unwrap()).abs() < 1e-12);
    assert!((a.overall.accuracy - b.overall.accuracy).abs() < 1e-12);
}

#[test]
fn decisions_can_be_bounded_as_well_as_probabilities() {
    let outcome = Outcome::Decisions { threshold: 0.4, sharpness: 8.0 };
    let goal = Goal { outcome, ..goal(&constraints(), 0.1) };
    let data = data(4000);
    let mut problem = Regression::new(data.clone(), &goal).unwrap();
    assert!(check_derivatives(&mut problem, &X).unwrap().is_right());
    // The steep curve comes near the step.
    let (mut c, judged) = ([0.0; 4], judge(&data, &goal, 0.95));
    problem.constraints(&X, &mut c).unwrap();
    let (requirements, _) = goal.requirements(&data, &Classes::new(&data).unwrap()).unwrap();
    let at_threshold = Evaluation::new(&data, &X, &requirements, 0.4, 0.95).unwrap();
    for k in 1..4 {
        let decisions = at_threshold.constraints[k].decisions.unwrap().value;
        let probabilities = judged.constraints[k].probabilities.unwrap().value;
        assert!((c[k] - decisions).abs() < 0.02, "{} {decisions}", c[k]);
        assert!((c[k] - probabilities).abs() > 0.02, "{} {probabilities}", c[k]);
    }
}

#[test]
fn many_groups_are_compared_with_the_whole_and_small_ones_are_named() {
    let mut data = data(1000);
    let grouping = &mut data.groupings[0];
    grouping.values = ["a", "b", "c", "d"].map(Into::into).to_vec();
    let group = |i: usize| Some(if i < 5 { 3 } else { (i % 3) as u16 });
    grouping.members = (0..1000).map(group).collect();
    let gap = || vec![Constraint::Gap { rate: Rate::Selection, column: "group".into(), most: 0.01 }];
    let goal = Goal { constraints: gap(), ..Goal::default() };
    let classes = Classes::new(&data).unwrap();
    let (requirements, remarks) = goal.requirements(&data, &classes).unwrap();
    let judged = judge(&data, &goal, 0.95);
    let names: Vec<&str> = judged.constraints.iter().map(|attained| attained.name.as_str()).collect();
    assert_eq!(names, ["rate gap of group, a - all", "rate gap of group, b - all", "rate gap of group, c - all"]);
    let expected =
        "rate gap of group: 1 group with fewer than 30 rows that count has no constraint of its own: d (5) (--min-group N)";
    assert_eq!(remarks, [expected]);
    // The gap by hand.
    let p = |i: usize| 1.0 / (1.0 + (-data.features.dot(i, &X)).exp());
    let mean = |rows: Vec<usize>| rows.iter().map(|&i| p(i)).sum::<f64>() / rows.len() as f64;
    let expected = mean((5..1000).filter(|i| i % 3 == 1).collect()) - mean((0..1000).collect());
    assert!((judged.constraints[1].probabilities.unwrap().value - expected).abs() < 1e-13);
    assert_eq!(requirements.len(), 3);
    let pairs = Goal { comparison: Comparison::Pairs, smallest_group: 1, ..goal };
    assert_eq!(pairs.requirements(&data, &classes).unwrap().0.len(), 6);
}

#[test]
fn equalised_odds_are_two_gaps_and_groups_can_be_capped() {
    let mut constraints = Constraint::equalised_odds("group", 0.05).to_vec();
    constraints.push(Constraint::Cap { rate: Rate::FalsePositive, column: Some("group".into()), most: 0.2 });
    constraints.push(Constraint::Floor { rate: Rate::TruePositive, column: None, least: 0.4 });
    let judged = judge(&data(1000), &goal(&constraints, 0.0), 0.95);
    let told: Vec<_> = judged.constraints.iter().map(|one| (one.name.as_str(), one.lower, one.upper)).collect();
    assert_eq!(
        told,
        [
            ("true positive gap of group, b - a", Some(-0.05), Some(0.05)),
            ("false positive gap of group, b - a", Some(-0.05), Some(0.05)),
            ("false positive rate, group = a", None, Some(0.2)),
            ("false positive rate, group = b", None, Some(0.2)),
            ("true positive rate", Some(0.4), None),
        ]
    );
}
