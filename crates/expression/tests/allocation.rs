//! Evaluations allocate nothing; alone in its program, so that no other test is counted.

mod model;

use std::alloc::System;

use model::large;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn evaluations_allocate_nothing() {
    let functions = large(60);
    let hessian = functions.hessian().unwrap();
    let (mut work, mut scratch) = (functions.workspace(), hessian.workspace());
    let (mut value, mut rows) = ([0.0], vec![0.0; functions.outputs(1)]);
    let mut gradient = vec![0.0; functions.gradient_len(0)];
    let mut jacobian = vec![0.0; functions.gradient_len(1)];
    let mut entries = vec![0.0; hessian.entries().len()];
    let weights = vec![1.0; 1 + rows.len()];
    let x = vec![0.4; 60];
    let region = Region::new(COUNTING);
    functions.values(0, &x, &mut work, &mut value);
    functions.values(1, &x, &mut work, &mut rows);
    functions.gradients(0, &x, &mut work, &mut gradient);
    functions.gradients(1, &x, &mut work, &mut jacobian);
    hessian.evaluate(&functions, &x, &weights, &mut work, &mut scratch, &mut entries);
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0));
}
