//! Whole models: derivatives by reverse sweeps against derivatives as formulas, sharing and growth.

mod model;

use model::large;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tangor_expression::derive::{Allowance, Derivatives};
use tangor_expression::{Binary, Functions, Graph, Node, NodeId, Unary};

const VARIABLES: usize = 4;

const UNARY: [Unary; 14] = [
    Unary::Negative,
    Unary::Absolute,
    Unary::Exponential,
    Unary::Sine,
    Unary::Cosine,
    Unary::HyperbolicTangent,
    Unary::ArcTangent,
    Unary::AreaSine,
    Unary::Error,
    Unary::Floor,
    Unary::Power(2),
    Unary::Power(3),
    Unary::Power(-1),
    Unary::SquareRoot,
];
const BINARY: [Binary; 11] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Maximum,
    Binary::Minimum,
    Binary::ArcTangent2,
    Binary::PositiveDifference,
    Binary::Power,
    Binary::Less,
    Binary::Remainder,
];

/// True when an operation with an infinite slope is met at its singular point: there `x - x` has the derivative 0 as a formula, but
/// is a difference of infinities in a sweep.
fn is_singular(steps: &[(usize, usize, usize, usize)], point: &[f64]) -> bool {
    let (graph, _) = grow(steps);
    let singular = |id: NodeId| match graph.node(id) {
        Node::Unary(Unary::SquareRoot | Unary::Power(-1), a) => vec![a],
        Node::Binary(Binary::Divide | Binary::Remainder, _, b) => vec![b],
        Node::Binary(Binary::Power | Binary::ArcTangent2, a, b) => vec![a, b],
        _ => Vec::new(),
    };
    let operands: Vec<_> = (0..graph.len() as NodeId).flat_map(singular).collect();
    let mut values = vec![0.0; operands.len()];
    let functions = Functions::new(graph, VARIABLES, &[operands]);
    functions.values(0, point, &mut functions.workspace(), &mut values);
    values.contains(&0.0)
}

/// Each step makes one more node of the earlier ones.
fn grow(steps: &[(usize, usize, usize, usize)]) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::default();
    let mut nodes: Vec<_> = (0..VARIABLES as u32).map(|i| graph.input(i)).collect();
    nodes.push(graph.constant(0.75));
    for &(kind, a, b, c) in steps {
        let at = |k: usize| nodes[nodes.len() - 1 - k % nodes.len()];
        let (a, b, c) = (at(a), at(b), at(c));
        let node = match kind {
            0..14 => graph.unary(UNARY[kind], a),
            14..25 => graph.binary(BINARY[kind - 14], a, b),
            _ => graph.select(c, a, b),
        };
        nodes.push(node);
    }
    (graph, nodes)
}

/// The value, first and second derivatives of a node as formulas, by evaluating a program of many sections' outputs.
fn by_formulas(steps: &[(usize, usize, usize, usize)], output: usize, point: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut graph, nodes) = grow(steps);
    let node = nodes[output];
    let zero = graph.constant(0.0);
    let mut wanted = vec![node];
    let variables: Vec<_> = (0..VARIABLES as u32).map(|i| graph.input(i)).collect();
    let derivative = |graph: &mut Graph, node: NodeId, variable: NodeId| {
        Derivatives::new(variable).of(graph, node, &mut Allowance::default()).unwrap().unwrap_or(zero)
    };
    let slopes: Vec<_> = variables.iter().map(|&variable| derivative(&mut graph, node, variable)).collect();
    wanted.extend(&slopes);
    for (i, &slope) in slopes.iter().enumerate() {
        wanted.extend(variables[..=i].iter().map(|&variable| derivative(&mut graph, slope, variable)).collect::<Vec<_>>());
    }
    let functions = Functions::new(graph, VARIABLES, &[wanted]);
    let mut values = vec![0.0; functions.outputs(0)];
    functions.values(0, point, &mut functions.workspace(), &mut values);
    (values[0], values[1..=VARIABLES].to_vec(), values[1 + VARIABLES..].to_vec())
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    !b.is_finite() || !scale.is_finite() || (a - b).abs() <= 1e-9 * (1.0 + scale)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(11), ..ProptestConfig::default() })]

    /// Three outputs in two sections, all weights one: Jacobian and Hessian are those of the formulas.
    #[test]
    fn sweeps_agree_with_formulas(
        steps in prop::collection::vec((0..27usize, 0..9usize, 0..9usize, 0..9usize), 3..25),
        point in prop::collection::vec(0.2..1.7f64, VARIABLES),
        parts in prop::collection::vec(0..1000usize, 3),
    ) {
        prop_assume!(!is_singular(&steps, &point));
        let (graph, nodes) = grow(&steps);
        let outputs: Vec<usize> = parts.iter().map(|part| nodes.len() - 1 - part % nodes.len().min(12)).collect();
        let sections = [vec![nodes[outputs[0]]], vec![nodes[outputs[1]], nodes[outputs[2]]]];
        let functions = Functions::new(graph, VARIABLES, &sections);
        let mut work = functions.workspace();
        let mut expected_hessian = [0.0; VARIABLES * (VARIABLES + 1) / 2];
        let mut size = 0.0;
        for (number, &output) in outputs.iter().enumerate() {
            let (section, row) = if number == 0 { (0, 0) } else { (1, number - 1) };
            let (value, gradient, hessian) = by_formulas(&steps, output, &point);
            let mut values = vec![0.0; functions.outputs(section)];
            functions.values(section, &point, &mut work, &mut values);
            prop_assert!(values[row] == value || value.is_nan());
            let mut gradients = vec![0.0; functions.gradient_len(section)];
            functions.gradients(section, &point, &mut work, &mut gradients);
            let start: usize = (0..row).map(|earlier| functions.columns(section, earlier).len()).sum();
            let mut found = [0.0; VARIABLES];
            for (k, &column) in functions.columns(section, row).iter().enumerate() {
                found[column as usize] = gradients[start + k];
            }
            let scale = gradient.iter().fold(value.abs(), |scale, slope| scale.max(slope.abs()));
            for (found, expected) in found.iter().zip(&gradient) {
                prop_assert!(close(*found, *expected, scale), "{found} is not {expected}");
            }
            for (sum, entry) in expected_hessian.iter_mut().zip(&hessian) {
                *sum += entry;
                size += entry.abs() + scale;
            }
        }
        let hessian = functions.hessian().unwrap();
        let mut entries = vec![0.0; hessian.entries().len()];
        hessian.evaluate(&functions, &point, &[1.0; 3], &mut work, &mut hessian.workspace(), &mut entries);
        let mut found = [0.0; VARIABLES * (VARIABLES + 1) / 2];
        for (&(i, j), entry) in hessian.entries().iter().zip(&entries) {
            found[(i * (i + 1) / 2 + j) as usize] = *entry;
        }
        for (found, expected) in found.iter().zip(&expected_hessian) {
            prop_assert!(close(*found, *expected, size), "{found} is not {expected}");
        }
    }
}

#[test]
fn the_shared_part_is_swept_once() {
    // Four arcs to each row, three derivatives to each, and the shared part once.
    let n = 2000;
    let functions = large(n);
    assert!(functions.sweep_len() < 30 * n as usize, "{} arcs", functions.sweep_len());
    let hessian = functions.hessian().unwrap();
    assert!(hessian.sweep_len() < 40 * n as usize, "{} steps", hessian.sweep_len());
    assert_eq!(hessian.entries().len(), 2 * n as usize - 1);
}

#[test]
fn derivatives_of_a_large_model_agree_with_differences() {
    let n = 40;
    let functions = large(n);
    let mut work = functions.workspace();
    let x: Vec<f64> = (0..n).map(|i| 0.3 + f64::from(i % 7) / 9.0).collect();
    let mut gradients = vec![0.0; functions.gradient_len(1)];
    functions.gradients(1, &x, &mut work, &mut gradients);
    let count = functions.outputs(1);
    let (mut plus, mut minus) = (vec![0.0; count], vec![0.0; count]);
    for j in 0..n as usize {
        let h = 1e-5;
        let shifted = |by: f64| x.iter().enumerate().map(|(k, v)| if k == j { v + by } else { *v }).collect::<Vec<_>>();
        functions.values(1, &shifted(h), &mut work, &mut plus);
        functions.values(1, &shifted(-h), &mut work, &mut minus);
        let mut start = 0;
        for row in 0..count {
            let columns = functions.columns(1, row);
            let slope = columns.iter().position(|&c| c as usize == j).map_or(0.0, |k| gradients[start + k]);
            assert!((slope - (plus[row] - minus[row]) / (2.0 * h)).abs() < 1e-7 * (1.0 + slope.abs()), "row {row}, {j}");
            start += columns.len();
        }
    }
}

#[test]
fn the_cost_of_a_new_point_is_paid_once() {
    let functions = large(100);
    let mut work = functions.workspace();
    let x = vec![0.5; 100];
    let mut first = vec![0.0; functions.outputs(1)];
    functions.values(1, &x, &mut work, &mut first);
    let mut second = first.clone();
    let other = vec![0.25; 100];
    functions.values(1, &other, &mut work, &mut second);
    assert_ne!(first, second);
    functions.values(1, &x, &mut work, &mut second);
    assert_eq!(first, second);
}

#[test]
fn a_branch_that_is_not_taken_contributes_nothing() {
    // if x > 0 then sqrt(x) else 0, at 0: the slope of the root is infinite there.
    let mut graph = Graph::default();
    let x = graph.input(0);
    let zero = graph.constant(0.0);
    let root = graph.unary(Unary::SquareRoot, x);
    let positive = graph.binary(Binary::Less, zero, x);
    let f = graph.select(positive, root, zero);
    let functions = Functions::new(graph, 1, &[vec![f]]);
    let (mut work, mut slope, mut curvature) = (functions.workspace(), [1.0], [1.0]);
    functions.gradients(0, &[0.0], &mut work, &mut slope);
    let hessian = functions.hessian().unwrap();
    hessian.evaluate(&functions, &[0.0], &[1.0], &mut work, &mut hessian.workspace(), &mut curvature);
    assert_eq!((slope, curvature), ([0.0], [0.0]));
    functions.gradients(0, &[4.0], &mut work, &mut slope);
    hessian.evaluate(&functions, &[4.0], &[2.0], &mut work, &mut hessian.workspace(), &mut curvature);
    assert_eq!((slope, curvature), ([0.25], [-0.0625]));
}

#[test]
fn constants_parameters_and_bare_variables_are_outputs_too() {
    let mut graph = Graph::default();
    let (x, parameter) = (graph.input(1), graph.input(2));
    let product = graph.binary(Binary::Multiply, x, parameter);
    let five = graph.constant(5.0);
    let functions = Functions::new(graph, 2, &[vec![five, x, parameter, product, x], vec![]]);
    assert_eq!(functions.inputs(), 3);
    let columns: Vec<_> = (0..5).map(|row| functions.columns(0, row).to_vec()).collect();
    assert_eq!(columns, [vec![], vec![1], vec![], vec![1], vec![1]]);
    let (mut work, mut values, mut gradients) = (functions.workspace(), [0.0; 5], [0.0; 3]);
    functions.values(0, &[7.0, 2.0, 3.0], &mut work, &mut values);
    functions.gradients(0, &[7.0, 2.0, 3.0], &mut work, &mut gradients);
    assert_eq!((values, gradients), ([5.0, 2.0, 3.0, 6.0, 2.0], [1.0, 3.0, 1.0]));
    assert!(functions.hessian().unwrap().entries().is_empty());
}
