//! Problems from closures: what they may return, what may be missing, what is estimated.

use std::io;

use tangor_problem::{ClosureError, ClosureProblem, Failure, Formulas, Function, Meta, Number, Problem};

fn circle() -> Meta {
    Meta::new("circle", vec![1.0, 0.5]).equalities(&[1.0])
}

#[test]
fn closures_return_values_or_any_error() {
    let mut problem = ClosureProblem::builder(circle())
        .objective(|x| if x[0] < 0.0 { Err(Failure::undefined("the root of a negative number")) } else { Ok(x[0].sqrt()) })
        .gradient(|_, _| Err::<(), _>(io::Error::other("the disk is full")))
        .constraints(|x, c| {
            c[0] = x[0] * x[0] + x[1] * x[1];
        })
        .jacobian(|_, _| Err::<(), _>("the model is gone"))
        .build()
        .unwrap();
    assert_eq!(problem.objective(&[4.0, 0.0]).unwrap(), 2.0);
    let undefined = problem.objective(&[-1.0, 0.0]).unwrap_err();
    assert!(!undefined.is_broken());
    assert_eq!(undefined.to_string(), "the root of a negative number");
    let broken = problem.gradient(&[1.0, 0.0], &mut [0.0; 2]).unwrap_err();
    assert!(broken.is_broken());
    assert_eq!(broken.to_string(), "the disk is full");
    assert_eq!(problem.jacobian(&[1.0, 0.0], &mut [0.0; 2]).unwrap_err().to_string(), "the model is gone");
    let mut c = [0.0];
    problem.constraints(&[1.0, 2.0], &mut c).unwrap();
    assert_eq!(c, [5.0]);
}

#[test]
fn what_is_missing_is_named() {
    let message = |built: Result<ClosureProblem, ClosureError>| built.unwrap_err().to_string();
    let builder = || ClosureProblem::builder(circle());
    assert_eq!(
        message(builder().build()),
        "the problem \"circle\" has no objective: give it with objective(..) or as formulas(..), or declare the data no_objective()"
    );
    assert_eq!(
        message(builder().objective(|x| x[0]).build()),
        "the problem \"circle\" has no gradient of the objective: give it with gradient(..), or ask for finite_differences()"
    );
    assert_eq!(
        message(builder().objective(|x| x[0]).finite_differences().build()),
        "the problem \"circle\" has no constraints: give them with constraints(..) or as formulas(..)"
    );
    let no_jacobian = builder().objective(|x| x[0]).gradient(|_, g| g.fill(1.0)).constraints(|_, c| c.fill(0.0)).build();
    assert_eq!(
        message(no_jacobian),
        "the problem \"circle\" has no Jacobian of the constraints: give it with jacobian(..), or ask for finite_differences()"
    );
    let crossed = Meta::new("line", vec![0.0]).bounds(&[1.0], &[0.0]);
    assert_eq!(
        message(ClosureProblem::builder(crossed).objective(|x| x[0]).finite_differences().build()),
        "the data of problem \"line\" are wrong: the bounds of variable x[0] are crossed: lower 1 is above upper 0"
    );
}

#[test]
fn what_is_not_needed_may_be_missing() {
    let free = ClosureProblem::builder(Meta::new("free", vec![0.0])).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0);
    assert!(free.build().is_ok());
    let system = circle().no_objective();
    let system = ClosureProblem::builder(system).constraints(|x, c| c[0] = x[0]).jacobian(|_, v| v.fill(1.0));
    assert!(system.build().is_ok());
}

#[test]
fn differences_are_good_and_stay_inside_the_bounds() {
    let (lower, upper) = ([0.0, -1.0, 2.0, 0.5], [4.0, 1.0, 2.0, f64::INFINITY]);
    let inside = move |x: &[f64]| (0..4).all(|i| lower[i] <= x[i] && x[i] <= upper[i]);
    let meta = Meta::new("box", vec![1.0; 4]).bounds(&lower, &upper).equalities(&[0.0, 0.0]);
    let mut problem = ClosureProblem::builder(meta)
        .objective(move |x| if inside(x) { x[0].powi(3) + (x[1] * x[3]).exp() + x[2] } else { f64::NAN })
        .constraints(move |x, c| {
            c[0] = if inside(x) { x[0] * x[1] * x[3] } else { f64::NAN };
            c[1] = x[3].ln();
        })
        .finite_differences()
        .build()
        .unwrap();
    assert!(problem.is_estimated(Function::Gradient) && problem.is_estimated(Function::Jacobian));
    for x in [[1.0, 0.25, 2.0, 3.0], [0.0, 1.0, 2.0, 0.5], [4.0, -1.0, 2.0, 1e3]] {
        let e = (x[1] * x[3]).exp();
        let gradient = [3.0 * x[0] * x[0], e * x[3], 0.0, e * x[1]];
        let jacobian = [x[1] * x[3], x[0] * x[3], 0.0, x[0] * x[1], 0.0, 0.0, 0.0, 1.0 / x[3]];
        let (mut g, mut values) = ([0.0; 4], [0.0; 8]);
        problem.gradient(&x, &mut g).unwrap();
        problem.jacobian(&x, &mut values).unwrap();
        for (found, expected) in g.iter().chain(&values).zip(gradient.iter().chain(&jacobian)) {
            assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found}, not {expected}, at {x:?}");
        }
    }
}

#[test]
fn an_error_inside_of_differences_comes_back() {
    let meta = Meta::new("line", vec![0.0]).bounds(&[-1.0], &[1.0]);
    let mut problem = ClosureProblem::builder(meta)
        .objective(|x| if x[0] > 0.5 { Err("the simulator stopped") } else { Ok(x[0]) })
        .finite_differences()
        .build()
        .unwrap();
    let failure = problem.gradient(&[0.5], &mut [0.0]).unwrap_err();
    assert_eq!(failure.to_string(), "the simulator stopped");
}

struct Sphere;

impl Formulas for Sphere {
    fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
        c[0] = D::sum(x.iter().map(|x| x.square()));
    }
}

#[test]
fn formulas_fill_what_closures_leave_open() {
    let mut problem = ClosureProblem::builder(circle())
        .objective(|x| x[0] * x[1])
        .gradient(|x, g| g.copy_from_slice(&[x[1], x[0]]))
        .formulas(Sphere)
        .build()
        .unwrap();
    assert!(!problem.is_estimated(Function::Jacobian));
    let mut values = [0.0; 2];
    problem.jacobian(&[3.0, 4.0], &mut values).unwrap();
    assert_eq!(values, [6.0, 8.0]);
    // The gradient of a closure does not come from formulas, which may state another objective.
    let mixed = ClosureProblem::builder(circle()).objective(|x| x[0]).formulas(Sphere).build().unwrap_err();
    assert_eq!(mixed, ClosureError::Missing { problem: "circle".into(), function: Function::Gradient });
}
