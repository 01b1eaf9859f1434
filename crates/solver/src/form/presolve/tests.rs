use super::*;

const INFINITY: f64 = f64::INFINITY;

/// A problem all of whose rows are linear, `A x`, with its Jacobian dense, presolved from its start.
fn presolved(meta: Meta, a: &[&[f64]]) -> Option<Presolve> {
    let meta = Meta { linear_rows: vec![true; a.len()], ..meta };
    assert_eq!(meta.validate(), Ok(()));
    let x: Vec<f64> = (0..meta.n()).map(|i| meta.x0[i].max(meta.x_lower[i]).min(meta.x_upper[i])).collect();
    let c: Vec<f64> = a.iter().map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
    Presolve::new(&meta, AtPoint { x: &x, c: &c, jacobian: &a.concat() })
}

fn given_back(presolve: &Presolve, y: &[f64], mu: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut mu) = (y.to_vec(), mu.to_vec());
    presolve.give_back(&mut y, &mut mu);
    (y, mu)
}

fn is_out(presolve: &Presolve, row: usize) -> bool {
    (presolve.meta.c_lower[row], presolve.meta.c_upper[row]) == (-INFINITY, INFINITY)
}

#[test]
fn a_row_with_one_variable_is_a_bound_and_gets_its_multiplier() {
    // 2 x0 <= 4 and -4 x1 <= 8: x0 <= 2, x1 >= -2. The upper bound on x1 is the variable's own.
    let meta = Meta::new("p", vec![1.0, 1.0]).bounds(&[0.0, -INFINITY], &[INFINITY, 5.0]).at_most(&[4.0, 8.0]);
    let presolve = presolved(meta, &[&[2.0, 0.0], &[0.0, -4.0]]).unwrap();
    assert_eq!((presolve.meta.x_lower.as_slice(), presolve.meta.x_upper.as_slice()), (&[0.0, -2.0][..], &[2.0, 5.0][..]));
    assert!(is_out(&presolve, 0) && is_out(&presolve, 1));
    assert_eq!((presolve.summary().rows, presolve.summary().bounds), (2, 2));
    // mu0 = -6 holds x0 from above: 2 y0 = 6. mu1 = 8 holds x1 from below: -4 y1 = -8.
    assert_eq!(given_back(&presolve, &[0.0, 0.0], &[-6.0, 8.0]), (vec![3.0, 2.0], vec![0.0, 0.0]));
    // The other bounds are the variables' own.
    assert_eq!(given_back(&presolve, &[0.0, 0.0], &[6.0, -8.0]), (vec![0.0, 0.0], vec![6.0, -8.0]));
}

#[test]
fn signs_turn_round_in_a_maximisation() {
    let meta = Meta::new("p", vec![1.0]).at_most(&[4.0]).maximise();
    let presolve = presolved(meta, &[&[2.0]]).unwrap();
    assert_eq!(given_back(&presolve, &[0.0], &[6.0]), (vec![-3.0], vec![0.0]), "here mu > 0 holds from above");
}

#[test]
fn a_looser_row_is_left_out_without_a_multiplier() {
    let meta = Meta::new("p", vec![1.0]).bounds(&[0.0], &[1.0]).rows(&[-3.0], &[4.0]);
    let presolve = presolved(meta, &[&[2.0]]).unwrap();
    assert_eq!((presolve.meta.x_lower[0], presolve.meta.x_upper[0], presolve.summary().bounds), (0.0, 1.0, 0));
    assert_eq!(given_back(&presolve, &[0.0], &[5.0]), (vec![0.0], vec![5.0]));
}

#[test]
fn what_is_fixed_leaves_other_rows_with_one_variable() {
    // x0 + x1 <= 3, 2 x0 = 2: x0 = 1, so x1 <= 2. Of min (x1 - 5)^2 + x0 the multipliers are mu1 = -6 and mu0 = 1; the first row gets
    // y0 = 6, x0 then has 1 + 6 = 7 to balance, and the second row gets y1 = -3.5.
    let meta = Meta::new("p", vec![0.0, 0.0]).at_most(&[3.0]).equalities(&[2.0]);
    let presolve = presolved(meta, &[&[1.0, 1.0], &[2.0, 0.0]]).unwrap();
    assert_eq!((presolve.meta.x_lower.as_slice(), presolve.meta.x_upper.as_slice()), (&[1.0, -INFINITY][..], &[1.0, 2.0][..]));
    assert_eq!(given_back(&presolve, &[0.0, 0.0], &[1.0, -6.0]), (vec![6.0, -3.5], vec![0.0, 0.0]));
}

#[test]
fn the_users_fixed_variables_take_their_share() {
    // x1 is fixed at 2: 3 x0 + 4 x1 >= 14 is x0 >= 2. mu0 = 9 becomes y = -3, and x1 takes 4 y.
    let meta = Meta::new("p", vec![0.0, 2.0]).bounds(&[0.0, 2.0], &[9.0, 2.0]).at_least(&[14.0]);
    let presolve = presolved(meta, &[&[3.0, 4.0]]).unwrap();
    assert_eq!((presolve.meta.x_lower[0], presolve.meta.x_upper[0]), (2.0, 9.0));
    assert_eq!(given_back(&presolve, &[0.0], &[9.0, 1.0]), (vec![-3.0], vec![0.0, -11.0]));
}

#[test]
fn multiples_of_a_row_are_one_row() {
    // x0 + x1 >= 2 and -2 x0 - 2 x1 <= -6, which is x0 + x1 >= 3. A multiplier -4 of x0 + x1 at 3 is one of 2 of the second row.
    let meta = Meta::new("p", vec![0.0, 0.0]).at_least(&[2.0]).at_most(&[-6.0]);
    let presolve = presolved(meta, &[&[1.0, 1.0], &[-2.0, -2.0]]).unwrap();
    assert_eq!((presolve.meta.c_lower[0], presolve.meta.c_upper[0], is_out(&presolve, 1)), (3.0, INFINITY, true));
    assert_eq!(given_back(&presolve, &[-4.0, 0.0], &[0.0, 0.0]), (vec![0.0, 2.0], vec![0.0, 0.0]));
    // Where the first is the tighter one, it keeps its multiplier.
    let meta = Meta::new("p", vec![0.0, 0.0]).at_least(&[4.0]).at_most(&[-6.0]);
    let presolve = presolved(meta, &[&[1.0, 1.0], &[-2.0, -2.0]]).unwrap();
    assert_eq!(given_back(&presolve, &[-4.0, 0.0], &[0.0, 0.0]), (vec![-4.0, 0.0], vec![0.0, 0.0]));
}

#[test]
fn multiples_may_differ_in_what_is_fixed() {
    // x2 = 1: x0 + x1 + x2 <= 4 is x0 + x1 <= 3, and 2 x0 + 2 x1 + 6 x2 <= 10 is x0 + x1 <= 2, or <= 3 for the whole first row. y = 4 of
    // the first becomes 2 of the second; x2 then has 6 * 2 - 1 * 4 = 8 more to balance.
    let meta = Meta::new("p", vec![0.0, 0.0, 1.0]).bounds(&[-9.0, -9.0, 1.0], &[9.0, 9.0, 1.0]).at_most(&[4.0, 10.0]);
    let presolve = presolved(meta, &[&[1.0, 1.0, 1.0], &[2.0, 2.0, 6.0]]).unwrap();
    assert_eq!(presolve.meta.c_upper[0], 3.0);
    assert_eq!(given_back(&presolve, &[4.0, 0.0], &[0.0, 0.0, 5.0]), (vec![0.0, 2.0], vec![0.0, 0.0, 13.0]));
}

#[test]
fn equalities_that_follow_from_others_are_left_out() {
    // Two sources and two sinks: the last balance follows from the other three.
    let balances: [&[f64]; 4] = [&[1.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 1.0], &[1.0, 0.0, 1.0, 0.0], &[0.0, 1.0, 0.0, 1.0]];
    let meta = Meta::new("p", vec![0.3; 4]).equalities(&[1.0, 2.0, 1.5, 1.5]);
    let presolve = presolved(meta, &balances).unwrap();
    assert_eq!((presolve.summary().rows, presolve.contradictions.len(), is_out(&presolve, 3)), (1, 0, true));
    assert_eq!(given_back(&presolve, &[1.0, 2.0, 3.0, 0.0], &[0.0; 4]), (vec![1.0, 2.0, 3.0, 0.0], vec![0.0; 4]));
    // More arrives than was sent: the last row stays, and is named.
    let meta = Meta::new("p", vec![0.3; 4]).equalities(&[1.0, 2.0, 1.5, 1.6]);
    let presolve = presolved(meta, &balances).unwrap();
    assert_eq!((presolve.summary().rows, presolve.contradictions.as_slice()), (0, &[3][..]));
    // With a slack in it a row does not follow from others.
    let meta = Meta::new("p", vec![0.3; 4]).equalities(&[1.0, 2.0, 1.5]).at_least(&[1.0]);
    assert!(presolved(meta, &balances).is_none());
}

#[test]
fn contradictions_stay_and_are_named() {
    // x0 <= 1, but 2 x0 >= 4; 0 = 1; x0 + x1 <= 1, but -x0 - x1 <= -2.
    let meta = Meta::new("p", vec![0.0, 0.0])
        .bounds(&[-INFINITY; 2], &[1.0, INFINITY])
        .at_least(&[4.0])
        .equalities(&[1.0])
        .at_most(&[1.0, -2.0]);
    let presolve = presolved(meta.clone(), &[&[2.0, 0.0], &[0.0, 0.0], &[1.0, 1.0], &[-1.0, -1.0]]).unwrap();
    assert_eq!((presolve.contradictions.as_slice(), presolve.summary().rows), (&[0, 1, 3][..], 0));
    assert_eq!((presolve.meta.c_lower, presolve.meta.c_upper), (meta.c_lower, meta.c_upper));
}

#[test]
fn nothing_is_done_where_there_is_nothing_to_do() {
    let meta = Meta::new("p", vec![0.0, 0.0]).at_most(&[1.0]);
    assert!(presolved(meta.clone(), &[&[1.0, 1.0]]).is_none());
    // Nobody says that this row is linear.
    assert!(Presolve::new(&meta, AtPoint { x: &[0.0; 2], c: &[0.0], jacobian: &[1.0, 0.0] }).is_none());
}
