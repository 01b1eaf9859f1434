//! Sums over rows: against plain loops, unbiased, and the same bits on any number of threads.

use rayon::ThreadPoolBuilder;
use tangor_problem::{
    Access, Counted, Draw, Evaluation, Exact, FiniteSum, Function, Meta, Outputs, Problem, SampledProblem, SampledSum, Wanted,
};

const ROWS: usize = 5_003;

fn entry(i: usize, j: usize) -> f64 {
    ((i * 3 + j) as f64).sin()
}

/// F_i = (a_i'x)^2 / 2 and C_i = ((a_i'x)^3, |x|^2).
fn sum(rows: usize) -> FiniteSum {
    let product = |i: usize, x: &[f64]| x.iter().enumerate().map(|(j, x)| x * entry(i, j)).sum::<f64>();
    FiniteSum::new(Meta::new("cubes", vec![0.0; 3]).at_most(&[1.0, 2.0]), rows)
        .term_objective(move |i, x| 0.5 * product(i, x).powi(2))
        .term_gradient(move |i, x, g| {
            let p = product(i, x);
            g.iter_mut().enumerate().for_each(|(j, g)| *g += p * entry(i, j));
        })
        .term_constraints(move |i, x, c| {
            c[0] += product(i, x).powi(3);
            c[1] += x.iter().map(|x| x * x).sum::<f64>();
        })
        .term_jacobian(move |i, x, values| {
            let slope = 3.0 * product(i, x).powi(2);
            for j in 0..3 {
                values[j] += slope * entry(i, j);
                values[3 + j] += 2.0 * x[j];
            }
        })
}

const X: [f64; 3] = [0.3, -1.2, 0.7];

/// All four functions on these draws, one after the other.
fn evaluate(sum: &mut SampledSum, draws: &[Draw]) -> Vec<f64> {
    let mut values = vec![0.0; 3 + 2 + 6 + 1];
    sum.gradient(&X, draws, &mut values[..3]).unwrap();
    sum.constraints(&X, draws, &mut values[3..5]).unwrap();
    sum.jacobian(&X, draws, &mut values[5..11]).unwrap();
    values[11] = sum.objective(&X, draws).unwrap().unwrap();
    values
}

/// The same in one pass.
fn evaluate_together(sum: &mut impl SampledProblem, draws: &[Draw]) -> Vec<f64> {
    let mut values = vec![7.0; 12];
    let (g, rest) = values.split_at_mut(3);
    let (c, rest) = rest.split_at_mut(2);
    let mut out = Outputs::new(g, c, &mut rest[..6]);
    sum.evaluate(&X, draws, Wanted::ALL, &mut out).unwrap();
    values[11] = out.objective.unwrap();
    values
}

fn bits(values: Vec<f64>) -> Vec<u64> {
    values.into_iter().map(f64::to_bits).collect()
}

fn evaluate_exactly(sum: &mut SampledSum) -> Vec<f64> {
    let exact = sum.exact().unwrap();
    let mut values = vec![0.0; 12];
    exact.gradient(&X, &mut values[..3]).unwrap();
    exact.constraints(&X, &mut values[3..5]).unwrap();
    exact.jacobian(&X, &mut values[5..11]).unwrap();
    values[11] = exact.objective(&X).unwrap();
    values
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn averages_agree_with_a_plain_loop() {
    let mut plain = vec![0.0; 12];
    for i in 0..ROWS {
        let p: f64 = (0..3).map(|j| X[j] * entry(i, j)).sum();
        for j in 0..3 {
            plain[j] += p * entry(i, j) / ROWS as f64;
            plain[5 + j] += 3.0 * p * p * entry(i, j) / ROWS as f64;
            plain[8 + j] = 2.0 * X[j];
        }
        plain[3] += p.powi(3) / ROWS as f64;
        plain[11] += 0.5 * p * p / ROWS as f64;
    }
    plain[4] = X.iter().map(|x| x * x).sum();
    assert!(largest_difference(&evaluate_exactly(&mut sum(ROWS).sampled()), &plain) < 1e-13);
}

#[test]
fn the_average_over_all_single_draws_is_the_exact_function() {
    let mut sum = sum(400).sampled();
    let mut mean = [0.0; 12];
    for i in 0..400 {
        mean.iter_mut().zip(evaluate(&mut sum, &[Draw(i)])).for_each(|(mean, value)| *mean += value / 400.0);
    }
    assert!(largest_difference(&mean, &evaluate_exactly(&mut sum)) < 1e-14);
}

#[test]
fn the_same_bits_on_1_2_and_8_threads() {
    let draws: Vec<Draw> = (0..3000).map(|k| Draw(k * k % ROWS as u64)).collect();
    let results = [1, 2, 8].map(|threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut sum = sum(ROWS).sampled();
            let single = bits(evaluate(&mut sum, &draws));
            assert_eq!(bits(evaluate_together(&mut sum, &draws)), single, "{threads} threads");
            (single, bits(evaluate_exactly(&mut sum)))
        })
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn constraints_without_data_are_exact() {
    let mut circle = FiniteSum::new(Meta::new("circle", vec![0.0]).equalities(&[1.0]), 7)
        .term_gradient(|i, _, g| g[0] += i as f64)
        .exact_constraints(|x, c| c[0] = x[0] * x[0])
        .exact_jacobian(|x, values| values[0] = 2.0 * x[0])
        .sampled();
    let accesses = circle.accesses();
    assert_eq!([accesses.gradient, accesses.constraints, accesses.jacobian], [Access::Finite(7), Access::Exact, Access::Exact]);
    let mut c = [0.0];
    circle.constraints(&[3.0], &[], &mut c).unwrap();
    assert_eq!(c, [9.0]);
    assert!(circle.objective(&[3.0], &[Draw(0)]).is_none() && circle.exact().is_none());
}

#[test]
fn what_cannot_be_evaluated_is_said() {
    let mut sum = sum(5).sampled();
    let mut g = [0.0; 3];
    let message = |failure: tangor_problem::Failure| failure.to_string();
    assert_eq!(message(sum.gradient(&X, &[Draw(1), Draw(5)], &mut g).unwrap_err()), "row 5 was drawn, but there are 5");
    assert_eq!(message(sum.gradient(&X, &[], &mut g).unwrap_err()), "an average over no rows was asked for");
    let mut empty = FiniteSum::new(Meta::new("nothing", vec![0.0]), 5);
    let missing = "the gradient of the objective of the sum nothing was not given";
    assert_eq!(message(empty.gradient(&[0.0], &mut g[..1]).unwrap_err()), missing);
}

#[test]
fn one_pass_counts_as_one_evaluation_of_each_function() {
    let draws = [Draw(1), Draw(2), Draw(1)];
    let mut sum = Counted::new(Box::new(sum(5).sampled()));
    evaluate_together(&mut sum, &draws);
    let (counts, samples) = (sum.counts(), sum.samples());
    assert_eq!([counts.gradient, counts.constraints, counts.jacobian], [1, 1, 1]);
    assert_eq!([samples.gradient, samples.constraints, samples.jacobian], [3, 3, 3]);
    // Exact functions have no samples, and functions that are not there are neither evaluated nor counted.
    let mut exact = Counted::new(Exact(self::sum(5)));
    assert_eq!(bits(evaluate_together(&mut exact, &[])), bits(evaluate_exactly(&mut self::sum(5).sampled())));
    assert_eq!((exact.counts().total(), exact.samples().total()), (4, 0));
    let mut free =
        Counted::new(FiniteSum::new(Meta::new("free", vec![0.0]), 7).term_gradient(|i, _, g| g[0] += i as f64).sampled());
    let mut g = [0.0];
    free.evaluate(&[0.0], &[Draw(3), Draw(4)], Wanted::SAMPLED, &mut Outputs::new(&mut g, &mut [], &mut [])).unwrap();
    assert_eq!((g, free.counts().total(), free.samples().total()), ([3.5], 1, 2));
}

#[test]
fn exact_parts_of_one_pass_need_no_draws() {
    let mut circle = FiniteSum::new(Meta::new("circle", vec![0.0]).equalities(&[1.0]), 7)
        .term_gradient(|i, _, g| g[0] += i as f64)
        .exact_constraints(|x, c| c[0] = x[0] * x[0])
        .term_jacobian(|i, x, values| values[0] += x[0] * i as f64)
        .sampled();
    let (mut g, mut c, mut values) = ([0.0], [0.0], [0.0]);
    let mut out = Outputs::new(&mut g, &mut c, &mut values);
    circle.evaluate(&[3.0], &[Draw(2), Draw(4)], Wanted::SAMPLED, &mut out).unwrap();
    assert_eq!([g, c, values], [[3.0], [9.0], [9.0]]);
}

/// `f = x`, `c = x`, where one of the functions may fail or panic; evaluated one after the other.
struct Fragile {
    meta: Meta,
    panics: Option<Function>,
}

impl Fragile {
    fn act(&self, function: Function, out: &mut [f64]) -> Evaluation {
        assert!(self.panics != Some(function), "not today");
        out[0] = 1.0;
        Ok(())
    }
}

impl Problem for Fragile {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        Ok(x[0])
    }
    fn gradient(&mut self, _x: &[f64], g: &mut [f64]) -> Evaluation {
        self.act(Function::Gradient, g)
    }
    fn constraints(&mut self, _x: &[f64], c: &mut [f64]) -> Evaluation {
        self.act(Function::Constraints, c)
    }
    fn jacobian(&mut self, _x: &[f64], values: &mut [f64]) -> Evaluation {
        self.act(Function::Jacobian, values)
    }
}

#[test]
fn one_pass_names_the_function_that_fails() {
    let (mut g, mut c, mut values) = ([0.0; 3], [0.0; 2], [0.0; 6]);
    let mut failing = |problem: &mut dyn SampledProblem, draws: &[Draw]| {
        let (n, m) = (problem.meta().n(), problem.meta().m());
        let mut out = Outputs::new(&mut g[..n], &mut c[..m], &mut values[..n * m]);
        let done = problem.evaluate(&X[..n], draws, Wanted::SAMPLED, &mut out);
        done.map_err(|failed| (failed.function, failed.failure.to_string()))
    };
    let meta = || Meta::new("fragile", vec![0.0]).at_most(&[1.0]);
    for function in [Function::Gradient, Function::Constraints, Function::Jacobian] {
        let panic = Err((function, "the function panicked: not today".to_string()));
        assert_eq!(failing(&mut Exact(Fragile { meta: meta(), panics: Some(function) }), &[]), panic);
        let term = move |wanted: Function| {
            move |i: usize, _: &[f64], sum: &mut [f64]| {
                assert!(i != 2 || wanted != function, "not today");
                sum[0] += 1.0;
            }
        };
        let sum = || {
            FiniteSum::new(meta(), 5)
                .term_gradient(term(Function::Gradient))
                .term_constraints(term(Function::Constraints))
                .term_jacobian(term(Function::Jacobian))
        };
        assert_eq!(failing(&mut sum().sampled(), &[Draw(1), Draw(3)]), Ok(()));
        assert_eq!(failing(&mut sum().sampled(), &[Draw(1), Draw(2)]), panic);
        let exact = sum().exact_jacobian(move |_, _| assert!(function != Function::Jacobian, "not today"));
        let expected = if function == Function::Jacobian { panic } else { Ok(()) };
        assert_eq!(failing(&mut exact.sampled(), &[Draw(1)]), expected);
    }
    let drawn = Err((Function::Gradient, "row 5 was drawn, but there are 5".to_string()));
    assert_eq!(failing(&mut sum(5).sampled(), &[Draw(5)]), drawn);
    let mut without = FiniteSum::new(meta(), 5).term_gradient(|_, _, _| {}).exact_constraints(|_, _| {}).sampled();
    let missing = Err((Function::Jacobian, "the Jacobian of the constraints of the sum fragile was not given".to_string()));
    assert_eq!(failing(&mut without, &[Draw(1)]), missing);
}
