//! The Python examples, and the oracle that the protocol page prints, against values worked out here. Without Python they are skipped.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use tangor_problem::{Access, AtDraws, Draw, FunctionValues, Problem, SampledProblem, Wanted, check_derivatives};
use tangor_process::{Error, ProcessProblem, ProcessSettings};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether Python has a module; says so when it has not.
fn python_has(module: &str) -> bool {
    let run = Command::new("python3").args(["-c", &format!("import {module}")]).stderr(Stdio::null()).status();
    let has = run.is_ok_and(|status| status.success());
    if !has {
        println!("skipped: python3 with the module {module} is not there");
    }
    has
}

fn start(arguments: &[&str]) -> Result<ProcessProblem, Error> {
    let folder = Some(repository().join("examples/python"));
    let settings = ProcessSettings { folder, pass_stderr: false, ..ProcessSettings::default() };
    let words = ["python3", "-B"].iter().chain(arguments).map(|word| shlex::try_quote(word).expect("no NUL"));
    ProcessProblem::start(&words.collect::<Vec<_>>().join(" "), &settings)
}

#[test]
fn hs71_has_the_right_functions() {
    if !python_has("json") {
        return;
    }
    let mut problem = start(&["hs71.py"]).and_then(ProcessProblem::into_exact).expect("an exact problem");
    let x = [1.0, 4.742_999_64, 3.821_149_98, 1.379_408_29];
    assert!((problem.objective(&x).expect("a value") - 17.014_017_3).abs() < 1e-6);
    let mut c = [0.0; 2];
    problem.constraints(&x, &mut c).expect("constraints");
    assert!((c[0] - 25.0).abs() < 1e-5 && (c[1] - 40.0).abs() < 1e-5, "{c:?}");
    let check = check_derivatives(&mut problem, &[1.1, 4.5, 3.5, 1.7]).expect("a check");
    assert_eq!(check.compared, 12);
    assert!(check.wrong.is_empty(), "{:?}", check.wrong);
}

/// Averages over draws are averages, the same draw gives the same value, and derivatives fit values.
fn check_sampled(mut problem: ProcessProblem, x: &[f64], draws: [u64; 2]) {
    let m = problem.meta().m();
    let (mut first, mut second, mut both) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
    let [a, b] = draws.map(Draw);
    problem.constraints(x, &[a], &mut first).expect("values");
    problem.constraints(x, &[b], &mut second).expect("values");
    assert_ne!(first[0], second[0], "two draws differ");
    problem.constraints(x, &[a, b], &mut both).expect("values");
    assert!(both.iter().zip(first.iter().zip(&second)).all(|(c, (a, b))| (c - 0.5 * (a + b)).abs() < 1e-12));
    problem.constraints(x, &[a], &mut second).expect("values");
    assert_eq!(first, second);
    let check = check_derivatives(&mut AtDraws::new(problem, vec![a, b]), x).expect("a check");
    assert!(check.compared > 0 && check.wrong.is_empty(), "{:?}", check.wrong);
}

#[test]
fn sampled_models_keep_to_their_draws() {
    if python_has("json") {
        let problem = start(&["newsvendor.py"]).expect("a problem");
        assert_eq!(problem.accesses().gradient, Access::Endless);
        assert_eq!(problem.meta().variable_names, ["apples", "pears", "plums"]);
        assert_eq!(problem.exact_rows(), [false, true]);
        check_sampled(problem, &[9.0, 8.0, 5.5], [3, u64::MAX]);
    }
    if python_has("numpy") {
        let problem = start(&["portfolio.py"]).expect("a problem");
        assert_eq!(problem.accesses().jacobian, Access::Finite(1000));
        check_sampled(problem, &[0.02; 50], [0, 999]);
    } else if python_has("json") {
        let error = start(&["portfolio.py"]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("This model needs NumPy") && error.contains("exit status: 1"), "{error}");
    }
}

const MODEL: &str = "
import math, oracle
def objective(x, draws):
    print('a print does no harm')
    if x[0] == 7.0:
        return math.nan
    if x[0] < 0.0:
        raise oracle.Undefined(f'the logarithm of {x[0]}')
    return math.log(x[0])
oracle.serve('log', [1.0], lambda x, draws: [1.0 / x[0]], objective, x_lower=[-math.inf], payload=PAYLOAD)
";

#[test]
fn exceptions_in_python_become_answers() {
    if !python_has("json") {
        return;
    }
    for payload in ["'text'", "'binary'"] {
        let model = MODEL.replace("PAYLOAD", payload);
        let mut problem = start(&["-c", &model]).and_then(ProcessProblem::into_exact).expect("an exact problem");
        assert_eq!(problem.objective(&[2.0]).expect("a value"), 2.0_f64.ln());
        let undefined = problem.objective(&[-2.0]).expect_err("no value");
        assert!(!undefined.is_broken() && undefined.to_string() == "the logarithm of -2.0", "{undefined}");
        let broken = problem.objective(&[0.0]).expect_err("a mistake");
        assert!(
            broken.is_broken() && broken.to_string().contains("ValueError: math domain error (<string>, line 9)"),
            "{broken}"
        );
        let nan = problem.objective(&[7.0]).expect_err("no value");
        assert!(!nan.is_broken() && nan.to_string() == "value 0 of objective is nan", "{nan}");
        let mut g = [0.0];
        problem.gradient(&[4.0], &mut g).expect("a gradient");
        assert_eq!(g, [0.25]);
    }
}

const LARGE: &str = "
import math, sys, oracle
NUMPY
def gradient(x, draws):
    return [1.7e308, 1.7e308] if x[0] > 0 else [math.inf, -math.inf]
oracle.serve('large', [1.0, 1.0], gradient, lambda x, draws: 0.0)
";

/// With NumPy and without: what is finite is a value, even if the sum of values is not, and infinities that cancel are none.
#[test]
fn each_value_counts_and_not_their_sum() {
    if !python_has("json") {
        return;
    }
    for numpy in ["", "oracle.numpy = None"] {
        let model = LARGE.replace("NUMPY", numpy);
        let mut problem = start(&["-c", &model]).and_then(ProcessProblem::into_exact).expect("an exact problem");
        let mut g = [0.0; 2];
        problem.gradient(&[1.0, 1.0], &mut g).expect("a gradient");
        assert_eq!(g, [1.7e308; 2]);
        let infinite = problem.gradient(&[-1.0, 1.0], &mut g).expect_err("no value");
        assert!(!infinite.is_broken() && infinite.to_string() == "value 0 of gradient is inf", "{infinite}");
    }
}

const WITHOUT_GRADIENT: &str = "
print('a print before the module is imported', flush=True)
print({'does': 'no'}, 3, '{}', [], flush=True)
print('harm, ', end='', flush=True)
import oracle
print('a print before the greeting does no harm', flush=True)
oracle.serve('cubes', [1.0, 2.0], objective=lambda x, draws: x[0] ** 3 + x[1] ** 3, x_lower=[1.0, None])
";

#[test]
fn an_objective_without_a_gradient_gets_differences() {
    if !python_has("json") {
        return;
    }
    let mut problem = start(&["-c", WITHOUT_GRADIENT]).and_then(ProcessProblem::into_exact).expect("an exact problem");
    assert!(problem.meta().has_objective);
    let mut g = [0.0; 2];
    problem.gradient(&[2.0, -1.0], &mut g).expect("a gradient");
    assert!((g[0] - 12.0).abs() < 1e-8 && (g[1] - 3.0).abs() < 1e-8, "{g:?}");
}

const TOGETHER: &str = "
import oracle
calls = []
def together(x, draws):
    calls.append(len(draws))
    if x[0] < 0.0:
        raise oracle.Undefined(repr(calls))
    mean = sum(draws) / len(draws)
    return [mean * x[0]], [x[0] ** 2 + mean], [2.0 * x[0]]
oracle.serve('together', [1.0], together=together, c_lower=[None], c_upper=[1.0], most_draws=4, payload=PAYLOAD,
             gradient_access=oracle.ENDLESS, constraints_access=oracle.ENDLESS, jacobian_access=oracle.ENDLESS)
";

#[test]
fn one_function_gives_gradient_constraints_and_jacobian() {
    if !python_has("json") {
        return;
    }
    for payload in ["'text'", "'binary'"] {
        let mut problem = start(&["-c", &TOGETHER.replace("PAYLOAD", payload)]).expect("a problem");
        let mut values = FunctionValues::new(problem.meta());
        let draws: Vec<Draw> = (0..6).map(Draw).collect();
        problem.evaluate(&[2.0], &draws, Wanted::SAMPLED, &mut values.outputs()).expect("values");
        // The average of 0, ..., 5, asked for in two questions.
        assert_eq!((values.gradient[0], values.constraints[0], values.jacobian[0]), (5.0, 6.5, 4.0));
        problem.gradient(&[3.0], &draws[..2], &mut values.gradient).expect("a gradient");
        problem.constraints(&[3.0], &draws[..2], &mut values.constraints).expect("constraints");
        assert_eq!((values.gradient[0], values.constraints[0]), (1.5, 9.5));
        // It was called once for each point and its draws.
        let calls = problem.gradient(&[-1.0], &draws[..1], &mut values.gradient).expect_err("undefined").to_string();
        assert_eq!(calls, "[4, 2, 2, 1]");
    }
}

const LISTS: &str = "
import array, oracle
kinds = [lambda v: v, tuple, lambda v: array.array('f', v)]
oracle.serve('kinds', [0.0], lambda x, draws: kinds[int(x[0])]([0.5]) if x[0] < 3 else ['a'])
";

#[test]
fn numbers_of_any_kind_are_taken_and_others_refused() {
    if !python_has("json") {
        return;
    }
    let mut problem = start(&["-c", LISTS]).expect("a problem");
    let mut g = [0.0];
    for kind in [0.0, 1.0, 2.0] {
        problem.gradient(&[kind], &[], &mut g).expect("a gradient");
        assert_eq!(g, [0.5]);
    }
    let refused = problem.gradient(&[3.0], &[], &mut g).expect_err("a text").to_string();
    assert!(refused.contains("where numbers are needed"), "{refused}");
}

const OVERWRITING: &str = "
import oracle
def kept(function):
    def called(x, draws):
        value = function(x[0])
        x[0] = 99.0
        return value
    return called
oracle.serve('overwriting', [1.0], kept(lambda x: [2.0 * x]), kept(lambda x: x * x), kept(lambda x: [3.0 * x]), kept(lambda x: [3.0]),
             c_lower=[None], c_upper=[1.0])
";

#[test]
fn a_function_may_write_into_its_point() {
    if !python_has("json") {
        return;
    }
    let mut problem = start(&["-c", OVERWRITING]).expect("a problem");
    let mut values = FunctionValues::new(problem.meta());
    problem.evaluate(&[2.0], &[], Wanted::SAMPLED, &mut values.outputs()).expect("values");
    assert_eq!((values.gradient[0], values.constraints[0], values.jacobian[0]), (4.0, 6.0, 3.0));
}

/// What `serve` is given, and what it, or Tangor, says of it.
const REFUSED: [(&str, &str); 6] = [
    ("constraints=f, jacobian=f, c_upper=[1.0]", "the constraints have no limits"),
    ("c_lower=[0.0], c_upper=[1.0]", "c_lower has limits, but there are no constraints"),
    ("constraints=f, c_lower=[0.0], c_upper=[1.0]", "the constraints have no Jacobian"),
    ("most_draws=0", "most_draws must be at least 1, not 0"),
    ("x_lower=[float('nan')], x_upper=[float('inf')]", "x_lower\\\": [NaN]"),
    ("x_lower=[float('inf')]", "no finite value satisfies the bounds"),
];

#[test]
fn what_nobody_means_is_refused() {
    if !python_has("json") {
        return;
    }
    for (arguments, sentence) in REFUSED {
        let model = format!("import oracle\nf = lambda x, draws: [x[0]]\noracle.serve('p', [1.0], f, f, {arguments})");
        let refused = start(&["-c", &model]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(sentence), "{arguments}: {refused}");
    }
}

const OF_NUMPY: &str = "
import numpy, oracle
oracle.serve('of numpy', numpy.array([1, 2]), lambda x, draws: x, c_lower=numpy.array([0]), c_upper=numpy.array([numpy.inf], dtype=numpy.float32),
             constraints=lambda x, draws: x[:1], jacobian=lambda x, draws: numpy.ones(1, dtype=numpy.float16), pattern=numpy.array([[0, 1]]),
             linear_rows=numpy.array([True]), exact_rows=numpy.array([False]), row_names=numpy.array(['first']),
             gradient_access=oracle.finite(numpy.int64(7)), most_draws=numpy.int32(3))
";

#[test]
fn arrays_of_numpy_introduce_a_problem() {
    if !python_has("numpy") {
        return;
    }
    let problem = start(&["-c", OF_NUMPY]).expect("a problem");
    let meta = problem.meta();
    assert_eq!((&meta.x0[..], &meta.c_lower[..], &meta.linear_rows[..]), (&[1.0, 2.0][..], &[0.0][..], &[true][..]));
    assert!(meta.c_upper[0] >= 1e20 && meta.row_names == ["first"]);
    assert_eq!(problem.accesses().gradient, Access::Finite(7));
}

#[test]
fn the_smallest_oracle_of_the_protocol_page_works() {
    if !python_has("json") {
        return;
    }
    let page = std::fs::read_to_string(repository().join("docs/oracle.md")).expect("the page");
    let program = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let mut problem = start(&["-c", program]).and_then(ProcessProblem::into_exact).expect("an exact problem");
    assert_eq!((problem.meta().name.as_str(), problem.meta().x_lower[0]), ("small", 0.0));
    let mut g = [0.0];
    problem.gradient(&[5.0], &mut g).expect("a gradient");
    assert_eq!((problem.objective(&[5.0]).expect("a value"), g[0]), (4.0, 4.0));
}
