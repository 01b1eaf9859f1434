//! What a run allocates, computed before it does.

use tangor_problem::{MemoryLimit, Meta, Pattern, TooLarge, count_of};

use crate::form::standard::is_nearly_full;
use crate::metric::steps_in_memory;
use crate::steps::null_space;
use crate::{Factorisation, Lipschitz, MetricKind, NormalVariant, Settings};

/// Bytes of a number.
pub const NUMBER: u128 = 8;

/// Vectors of the length of the variables and rows: iterates, steps, multipliers, the kernel's work, what is best.
const VECTORS: u128 = 40;

/// Lists of draws as long as the largest batch: one for each function.
const LISTS: u128 = 3;

/// Jacobians: current, trial, judged, the user's form and its estimates.
const JACOBIANS: u128 = 4;

/// Matrices as long as the variables and as wide as a limited memory: steps, changes of gradients, and the two vectors of each of them.
const OF_STEPS: u128 = 4;

/// Matrices as long and as wide as a limited memory: products of steps.
const OF_PRODUCTS: u128 = 3;

/// Matrices as long and as wide as the rows: `J J^T`, the mapping, eigenvectors and what finds them.
const OF_A_MAPPING: u128 = 4;

/// Matrices as long and as wide as the variables of a dense metric: the metric with and without damping, and its factor.
const OF_A_DENSE_METRIC: u128 = 3;

/// What a run may allocate, beside what it has already.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: MemoryLimit,
    held: u128,
}

impl Budget {
    /// For those who know how large their matrices are.
    pub const NO_LIMIT: Budget = Budget::new(MemoryLimit(u64::MAX));

    /// Nothing is held yet.
    pub const fn new(limit: MemoryLimit) -> Self {
        Budget { limit, held: 0 }
    }

    /// When so much more is held.
    pub fn after(self, bytes: u128) -> Self {
        Budget { held: self.held.saturating_add(bytes), ..self }
    }

    /// Refuses what does not fit beside what is held; `what` names it.
    pub fn check(self, bytes: u128, what: impl FnOnce() -> String) -> Result<(), TooLarge> {
        self.limit.check(self.held.saturating_add(bytes), what)
    }
}

/// Refuses a run whose data do not fit into memory. What the run needs at least is counted, so that nothing is refused that would fit. Gives
/// what is left for its linear systems.
pub fn check(meta: &Meta, settings: &Settings, noisy: bool) -> Result<Budget, TooLarge> {
    let budget = check_vectors(meta, settings)?;
    check_matrices(meta, settings, budget)?;
    let judge = &settings.sampling.judge;
    budget.check(NUMBER * judge.samples as u128, || format!("sampling.judge.samples={}", judge.samples))?;
    for estimation in [&settings.sampling.gradient, &settings.sampling.constraints, &settings.sampling.jacobian] {
        let size = estimation.largest_batch();
        budget.check(LISTS * NUMBER * size as u128, || format!("a batch of {size} samples"))?;
    }
    check_metric(meta, settings, noisy, budget)
}

/// The problem itself: vectors and Jacobians.
fn check_vectors(meta: &Meta, settings: &Settings) -> Result<Budget, TooLarge> {
    let budget = Budget::new(MemoryLimit::or_of_this_machine(settings.limits.memory)).after(meta.held.into());
    let (n, m, entries) = (meta.n() as u128, meta.m() as u128, meta.jacobian_len() as u128);
    let per_entry = if matches!(meta.jacobian, Pattern::Dense) { NUMBER } else { 3 * NUMBER };
    let bytes = JACOBIANS * per_entry * entries + VECTORS * NUMBER * (n + m);
    budget.check(bytes, || {
        format!(
            "problem {} with {}, {} and {} of its Jacobian",
            meta.name,
            count_of(n, "variable"),
            count_of(m, "constraint"),
            count_of(entries, "entry")
        )
    })?;
    Ok(budget.after(bytes))
}

/// Full matrices of the linear algebra, which are no part of the metric.
fn check_matrices(meta: &Meta, settings: &Settings, budget: Budget) -> Result<(), TooLarge> {
    let (n, m) = (meta.n() as u128, meta.m() as u128);
    let (side, what) = match settings.kernel.factorisation {
        Factorisation::Dense => (m, "kernel.factorisation=dense"),
        Factorisation::Primal => (n, "kernel.factorisation=primal"),
        Factorisation::Automatic if m > 100 && m > 3 * n => (n, "kernel.factorisation=automatic"),
        Factorisation::Automatic if is_nearly_full(meta.m(), meta.n(), meta.jacobian_len()) => {
            (m, "kernel.factorisation=automatic")
        }
        Factorisation::Automatic | Factorisation::Sparse => (0, "kernel.factorisation"),
    };
    budget.check(NUMBER.saturating_mul(side * side), || format!("a matrix of {side} rows and columns ({what})"))?;
    let of_rows = match settings.normal.variant {
        NormalVariant::Mapping => Some("a mapping"),
        // Slacks are columns, too: with few columns in all, inequalities are few.
        NormalVariant::Bounded | NormalVariant::Regularised if meta.n() <= null_space::MOST_COLUMNS => Some("a normal step"),
        _ => None,
    };
    if let Some(what) = of_rows {
        let rows = meta.c_lower.iter().zip(&meta.c_upper).filter(|(lower, upper)| lower == upper).count() as u128;
        let what = || format!("{what} of {rows} rows and columns (normal.variant)");
        budget.check((OF_A_MAPPING * NUMBER).saturating_mul(rows * rows), what)?;
    }
    Ok(())
}

/// The metric, as far as it is more than a diagonal.
fn check_metric(meta: &Meta, settings: &Settings, noisy: bool, budget: Budget) -> Result<Budget, TooLarge> {
    let n = meta.n() as u128;
    let (metric, learns) = (&settings.metric, settings.stepsize.lipschitz == Lipschitz::Found);
    let dense = metric.kind == MetricKind::QuasiNewton && n <= metric.largest_dense as u128;
    let limited = metric.kind == MetricKind::LimitedMemory || (metric.kind == MetricKind::QuasiNewton && !dense && learns);
    if dense {
        let bytes = OF_A_DENSE_METRIC * NUMBER * n * n;
        let what = || format!("a metric of {n} rows and columns (metric.largest_dense={})", metric.largest_dense);
        budget.check(bytes, what)?;
        return Ok(budget.after(bytes));
    }
    if limited {
        let steps = steps_in_memory(metric, noisy) as u128;
        let bytes = NUMBER.saturating_mul((OF_STEPS * n + OF_PRODUCTS * steps).saturating_mul(steps));
        budget.check(bytes, || format!("metric.memory={}", metric.memory))?;
        return Ok(budget.after(bytes));
    }
    Ok(budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;

    fn refused(meta: &Meta, settings: &Settings) -> String {
        check(meta, settings, false).map(|_| ()).expect_err("too large").to_string()
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let meta = Meta::new("large", vec![0.0; 3000]).equalities(&vec![0.0; 2000]);
        let mut settings = Settings::default();
        assert_eq!(check(&meta, &settings, false).map(|_| ()), Ok(()));
        settings.limits.memory = Some(100_000_000);
        assert_eq!(
            refused(&meta, &settings),
            "problem large with 3000 variables, 2000 constraints and 6000000 entries of its Jacobian would need 194 MB, more than the \
             limit of 100 MB on memory (--memory-limit, limits.memory)"
        );
        settings.limits.memory = Some(200_000_000);
        assert!(refused(&meta, &settings).starts_with("a matrix of 2000 rows and columns (kernel.factorisation=automatic)"));
        settings.kernel.factorisation = Factorisation::Dense;
        assert!(refused(&meta, &settings).starts_with("a matrix of 2000 rows and columns (kernel.factorisation=dense)"));
        settings.kernel.factorisation = Factorisation::Sparse;
        assert_eq!(check(&meta, &settings, false).map(|_| ()), Ok(()));
        settings.sampling.judge.samples = 100_000_000;
        assert!(refused(&meta, &settings).starts_with("sampling.judge.samples=100000000 would need 994 MB"));
        settings.sampling.judge.samples = 1000;
        // The first batch is 16 times as large as the others: 3 lists of 8 bytes for each of 2^36.
        settings.sampling.gradient.batch = Batch::Constant { size: 1 << 32 };
        assert!(refused(&meta, &settings).starts_with("a batch of 68719476736 samples would need 1.6 TB"));
        settings.sampling.gradient.batch = Batch::Constant { size: 1 };
        settings.sampling.jacobian.first_batch = Some(1 << 40);
        assert!(refused(&meta, &settings).starts_with("a batch of 1099511627776 samples would need 26.4 TB"));
        settings.sampling.jacobian.first_batch = None;
        settings.sampling.constraints.batch = Batch::Geometric { size: 1, growth: 2.0, largest: 1 << 40 };
        assert!(refused(&meta, &settings).starts_with("a batch of 1099511627776 samples would need 26.4 TB"));
        // 8 (4 * 3000 + 3 p) p bytes, and with the Jacobian 200 MB less 6.4.
        settings.sampling.constraints.batch = Batch::Constant { size: 1 };
        settings.metric.memory = 50;
        assert_eq!(check(&meta, &settings, false).map(|_| ()), Ok(()));
        let noisy = check(&meta, &settings, true).map(|_| ()).expect_err("twice as many steps").to_string();
        assert!(noisy.starts_with("metric.memory=50 would need "), "{noisy}");
        for (memory, kind) in
            [(70, MetricKind::QuasiNewton), (1_000_000_000, MetricKind::LimitedMemory), (usize::MAX, MetricKind::LimitedMemory)]
        {
            (settings.metric.memory, settings.metric.kind) = (memory, kind);
            assert!(refused(&meta, &settings).starts_with(&format!("metric.memory={memory} would need ")), "{memory}");
        }
        settings.metric.memory = 10;
        settings.normal.variant = NormalVariant::Mapping;
        assert!(refused(&meta, &settings).starts_with("a mapping of 2000 rows and columns (normal.variant) would need 322 MB"));
        settings.normal.variant = NormalVariant::Majorised;
        (settings.metric.kind, settings.metric.largest_dense) = (MetricKind::QuasiNewton, 3000);
        assert!(
            refused(&meta, &settings)
                .starts_with("a metric of 3000 rows and columns (metric.largest_dense=3000) would need 410 MB")
        );
    }
}
