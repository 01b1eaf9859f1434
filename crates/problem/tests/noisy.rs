//! Noise on the functions of a problem: its size, its mean, and that a draw is always the same noise.

use tangor_problem::{
    Access, ClosureProblem, Counted, Distribution, Draw, Evaluation, Meta, Noise, Noisy, Problem, SampledProblem,
};

const DISTRIBUTIONS: [Distribution; 3] = [Distribution::Gaussian, Distribution::Uniform, Distribution::HeavyTailed];
const SAMPLES: u64 = 40_000;

/// Five variables, two constraints, one entry of the Jacobian that is always zero.
fn problem() -> impl Problem {
    ClosureProblem::builder(Meta::new("polynomial", vec![1.0; 5]).equalities(&[0.0, 1.0]))
        .objective(|x| x.iter().map(|x| x.powi(3)).sum::<f64>())
        .gradient(|x, g| g.iter_mut().zip(x).for_each(|(g, x)| *g = 3.0 * x * x))
        .constraints(|x, c| c.copy_from_slice(&[x.iter().sum::<f64>(), x[0] * x[1]]))
        .jacobian(|x, values| {
            values[..5].fill(1.0);
            values[5..].copy_from_slice(&[x[1], x[0], 0.0, 0.0, 0.0]);
        })
        .build()
        .unwrap()
}

const X: [f64; 5] = [1.0, -2.0, 0.5, 3.0, 0.1];
const GRADIENT: [f64; 5] = [3.0, 12.0, 0.75, 27.0, 0.03];

type Oracle<P> = fn(&mut Noisy<P>, &[Draw], &mut [f64]) -> Evaluation;

/// The three functions with the lengths of their values and the exact ones.
fn oracles<P: Problem>() -> [(Oracle<P>, Vec<f64>); 3] {
    [
        (|p, draws, out| p.gradient(&X, draws, out), GRADIENT.to_vec()),
        (|p, draws, out| p.constraints(&X, draws, out), vec![2.6, -2.0]),
        (|p, draws, out| p.jacobian(&X, draws, out), vec![1.0, 1.0, 1.0, 1.0, 1.0, -2.0, 1.0, 0.0, 0.0, 0.0]),
    ]
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[test]
fn the_expected_norm_of_additive_noise_is_the_level() {
    let levels = Noise { gradient: 0.1, constraints: 0.5, jacobian: 2.0, ..Noise::default() };
    for distribution in DISTRIBUTIONS {
        let mut noisy = Noisy::new(problem(), levels.distribution(distribution)).unwrap();
        for ((oracle, exact), level) in oracles().into_iter().zip([0.1, 0.5, 2.0]) {
            let mut values = vec![0.0; exact.len()];
            let (mut sum, mut squares) = (0.0, 0.0);
            for draw in 0..SAMPLES {
                oracle(&mut noisy, &[Draw(draw)], &mut values).unwrap();
                let size = norm(values.iter().zip(&exact).map(|(v, e)| v - e));
                sum += size;
                squares += size * size;
            }
            let mean = sum / SAMPLES as f64;
            let error = ((squares / SAMPLES as f64 - mean * mean) / SAMPLES as f64).sqrt();
            assert!((mean - level).abs() < 4.0 * error, "{distribution:?}: {mean} +- {error}, not {level}");
            assert!(error < 0.02 * level);
        }
    }
}

#[test]
fn the_expected_size_of_multiplicative_noise_is_relative_to_each_entry() {
    for distribution in DISTRIBUTIONS {
        let mut noisy = Noisy::new(problem(), Noise::level(0.2).distribution(distribution).multiplicative()).unwrap();
        for (oracle, exact) in oracles() {
            let mut values = vec![0.0; exact.len()];
            let mut sums = vec![0.0; exact.len()];
            for draw in 0..SAMPLES {
                oracle(&mut noisy, &[Draw(draw)], &mut values).unwrap();
                sums.iter_mut().zip(values.iter().zip(&exact)).for_each(|(sum, (v, e))| *sum += (v - e).abs());
            }
            for (sum, exact) in sums.iter().zip(&exact) {
                let (mean, expected) = (sum / SAMPLES as f64, 0.2 * exact.abs());
                assert!((mean - expected).abs() <= 0.03 * expected, "{distribution:?}: {mean}, not {expected}");
            }
        }
    }
}

#[test]
fn noise_has_mean_zero_and_the_error_of_an_average_falls_with_the_square_root() {
    for noise in [Noise::level(1.0), Noise::level(1.0).multiplicative()] {
        for distribution in DISTRIBUTIONS {
            let mut noisy = Noisy::new(problem(), noise.distribution(distribution)).unwrap();
            let mut error_of = |batch: u64, seed: u64| {
                let draws: Vec<Draw> = (seed..seed + batch).map(Draw).collect();
                let mut g = [0.0; 5];
                noisy.gradient(&X, &draws, &mut g).unwrap();
                norm(g.iter().zip(GRADIENT).map(|(g, e)| g - e))
            };
            let one = (0..1000).map(|k| error_of(1, k)).sum::<f64>() / 1000.0;
            let hundred = (0..300).map(|k| error_of(100, 1000 + 100 * k)).sum::<f64>() / 300.0;
            let ratio = one / hundred;
            // The heavy tail shortens the mean of single errors against their standard deviation.
            let expected = if distribution == Distribution::HeavyTailed { 6.0..11.5 } else { 9.0..11.0 };
            assert!(expected.contains(&ratio), "{distribution:?} {:?}: {ratio}", noise.form);
            assert!(error_of(SAMPLES, 0) < 0.06 * one.max(1.0));
        }
    }
}

#[test]
fn the_same_draw_is_the_same_noise_at_every_point() {
    let mut noisy = Noisy::new(problem(), Noise::level(0.3)).unwrap();
    let (mut here, mut there) = ([0.0; 2], [0.0; 2]);
    noisy.constraints(&X, &[Draw(5), Draw(u64::MAX)], &mut here).unwrap();
    noisy.gradient(&X, &[Draw(9)], &mut [0.0; 5]).unwrap();
    noisy.constraints(&[0.0; 5], &[Draw(5), Draw(u64::MAX)], &mut there).unwrap();
    assert!((here[0] - 2.6 - there[0]).abs() < 1e-15 && there[0] != 0.0);

    let again = here;
    noisy.constraints(&X, &[Draw(5), Draw(u64::MAX)], &mut here).unwrap();
    assert_eq!(here, again);
    noisy.constraints(&X, &[Draw(6), Draw(u64::MAX)], &mut here).unwrap();
    assert_ne!(here, again);
}

#[test]
fn exact_functions_are_not_evaluated_again_at_the_last_two_points() {
    let mut counted = Counted::new(problem());
    let mut noisy = Noisy::new(&mut counted, Noise::level(0.3)).unwrap();
    let (mut first, mut again) = ([0.0; 2], [0.0; 2]);
    noisy.constraints(&X, &[Draw(5)], &mut first).unwrap();
    for draw in 0..10 {
        noisy.constraints(&[1.0; 5], &[Draw(draw)], &mut [0.0; 2]).unwrap();
        noisy.constraints(&X, &[Draw(5)], &mut again).unwrap();
        assert_eq!(first, again, "the same bits, whatever was remembered");
    }
    noisy.constraints(&[2.0; 5], &[Draw(5)], &mut [0.0; 2]).unwrap();
    noisy.constraints(&X, &[Draw(5)], &mut again).unwrap();
    assert_eq!(first, again);
    assert_eq!(counted.counts().constraints, 3);
}

#[test]
fn the_noise_of_different_functions_and_draws_is_uncorrelated() {
    let mut noisy = Noisy::new(problem(), Noise::level(1.0)).unwrap();
    let mut products = [0.0; 3];
    for draw in 0..SAMPLES {
        let (mut c, mut next, mut g, mut values) = ([0.0; 2], [0.0; 2], [0.0; 5], [0.0; 10]);
        noisy.constraints(&X, &[Draw(draw)], &mut c).unwrap();
        noisy.constraints(&X, &[Draw(draw + 1)], &mut next).unwrap();
        noisy.gradient(&X, &[Draw(draw)], &mut g).unwrap();
        noisy.jacobian(&X, &[Draw(draw)], &mut values).unwrap();
        let first = c[0] - 2.6;
        for (product, other) in products.iter_mut().zip([g[0] - GRADIENT[0], values[0] - 1.0, next[0] - 2.6]) {
            *product += first * other / SAMPLES as f64;
        }
    }
    // One over the square root of the samples is 0.005; the entries have standard deviations below 1.
    assert!(products.iter().all(|product| product.abs() < 0.015), "{products:?}");
}

#[test]
fn a_function_without_noise_is_exact_and_needs_no_draws() {
    let mut noisy = Noisy::new(problem(), Noise { gradient: 0.1, ..Noise::default() }).unwrap();
    let accesses = noisy.accesses();
    assert_eq!([accesses.gradient, accesses.constraints, accesses.jacobian], [Access::Endless, Access::Exact, Access::Exact]);
    let mut c = [0.0; 2];
    noisy.constraints(&X, &[], &mut c).unwrap();
    assert_eq!(c, [1.0 - 2.0 + 0.5 + 3.0 + 0.1, -2.0]);
    let failure = noisy.gradient(&X, &[], &mut [0.0; 5]).unwrap_err();
    assert_eq!(failure.to_string(), "an average over no draws was asked for");
    assert_eq!(noisy.exact().unwrap().objective(&[1.0; 5]).unwrap(), 5.0);
}

#[test]
fn a_senseless_level_is_refused() {
    for level in [-1.0, f64::NAN, f64::INFINITY] {
        let error = Noisy::new(problem(), Noise { jacobian: level, ..Noise::default() }).map(|_| ()).unwrap_err();
        let expected = format!("the noise level of the Jacobian is {level}, but must be a finite number that is not negative");
        assert_eq!(error.to_string(), expected);
    }
}
