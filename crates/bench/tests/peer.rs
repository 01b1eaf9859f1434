//! Ipopt in the place of Tangor, where it was built in.

use tangor_bench::{Contender, Record, Task, members};

fn row(problem: &str) -> Record {
    let member = members(problem, &tangor_open::Finder::default()).unwrap().remove(0);
    let contender = Contender::peer("ipopt").unwrap();
    Task {
        member,
        contender,
        seed: 0,
        perturbation: 0.0,
        max_iterations: 1000,
        max_entries: None,
        time_limit: 60.0,
        trace: true,
    }
    .perform()
}

#[cfg(not(feature = "ipopt"))]
#[test]
fn without_ipopt_the_row_says_so() {
    eprintln!("skipped: Ipopt's runs need the feature `ipopt`");
    let row = row("HS71");
    assert_eq!(row.stop, tangor_bench::Ending::Refused);
    assert!(row.message.starts_with("this program was built without Ipopt"), "{}", row.message);
}

#[cfg(feature = "ipopt")]
mod with_ipopt {
    use tangor_bench::Ending;
    use tangor_solver::{Point, Stop};

    use super::*;

    #[test]
    fn a_known_problem_is_solved_and_judged_like_any_other() {
        let row = row("HS71");
        assert_eq!((row.stop, row.claimed), (Ending::Stopped(Stop::Tolerance), Point::EpsKkt));
        assert!(row.objective.is_some_and(|objective| (objective - 17.0140173).abs() < 1e-5));
        assert!(row.residuals().unwrap().worst() < 1e-5, "{row:?}");
        assert!(row.iterations > 0 && row.gradient_evaluations > 0 && row.hessian_evaluations == 0);
    }

    #[test]
    fn its_course_begins_at_the_start_and_ends_at_the_solution() {
        let row = row("HS71");
        let (first, last) = (row.trace[0], row.trace[row.trace.len() - 1]);
        assert_eq!((first.0, last.0), (0, row.iterations));
        assert!(row.trace.windows(2).all(|pair| pair[0].0 < pair[1].0));
        // At x0 the sphere is off by 12, of which the move away from the bounds leaves most; at the end nothing is.
        assert!(first.2.unwrap() > 1.0 && last.2.unwrap() < 1e-6 && last.1.unwrap() < 1e-6, "{:?}", row.trace);
        assert!(row.trace.iter().all(|point| point.3.is_none()), "Ipopt tells nothing of complementarity");
    }

    #[test]
    fn constraints_that_depend_on_nothing_are_refused() {
        use tangor_ipopt::{Derivatives, Options, solve};
        use tangor_problem::{Evaluation, Meta, Problem};
        struct Nothing(Meta);
        impl Problem for Nothing {
            fn meta(&self) -> &Meta {
                &self.0
            }
            fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
                Ok(x[0])
            }
            fn gradient(&mut self, _: &[f64], g: &mut [f64]) -> Evaluation {
                g.fill(1.0);
                Ok(())
            }
            fn constraints(&mut self, _: &[f64], c: &mut [f64]) -> Evaluation {
                c.fill(0.0);
                Ok(())
            }
            fn jacobian(&mut self, _: &[f64], _: &mut [f64]) -> Evaluation {
                Ok(())
            }
        }
        let mut problem = Nothing(Meta::new("nothing", vec![0.0]).equalities(&[0.0]).sparse([]));
        let options = Options { max_iterations: 10, seconds: 10.0, tolerance: 1e-8, unscaled: None };
        assert!(solve(Derivatives::First(&mut problem), &options).is_none());
    }
}
