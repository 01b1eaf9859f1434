//! What a run allocates, computed before it does.

use tangor_problem::{MemoryLimit, Meta, Pattern, TooLarge, count_of};

use crate::form::standard::is_nearly_full;
use crate::metric::limited_memory::LimitedMemory;
use crate::metric::quasi_newton::QuasiNewton;
use crate::metric::steps_in_memory;
use crate::steps::null_space;
use crate::{Factorisation, Lipschitz, MetricKind, NormalVariant, Settings};

/// Bytes of a number.
pub const NUMBER: u128 = 8;

/// What a run holds besides its kernels and its metric, which count their own: so many numbers for each variable, slack, row and entry of the Jacobian.
struct Held {
    variable: u128,
    slack: u128,
    row: u128,
    entry: u128,
}

/// Two iterates, the steps between them and what these work in, multipliers, the maps between the user's form and the internal one, what is best and
/// how the iteration began, the report. Of an entry its value in both iterates and as the user has it, and where it goes.
const OF_A_RUN: Held = Held { variable: 46, slack: 29, row: 50, entry: 4 };

/// A noisy run holds besides: estimates with both halves of their batches at both ends of a step, the averages and the iterate of the judge, comparisons.
const OF_NOISE: Held = Held { variable: 24, slack: 6, row: 22, entry: 14 };

/// Where an entry of a sparse Jacobian is, by rows and by columns.
const OF_A_PLACE: u128 = 3;

/// Lists of draws as long as the largest batch: one for each function.
const LISTS: u128 = 3;

/// Matrices as long and as wide as the rows: `J J^T`, the mapping, eigenvectors and what finds them.
const OF_A_MAPPING: u128 = 4;

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

    /// Bytes that are held.
    pub fn held(self) -> u64 {
        u64::try_from(self.held).unwrap_or(u64::MAX)
    }

    /// When so much more is held.
    pub fn after(self, bytes: u128) -> Self {
        Budget { held: self.held.saturating_add(bytes), ..self }
    }

    /// The same, and refuses what does not fit; `what` names it.
    pub fn take(self, bytes: u128, what: impl FnOnce() -> String) -> Result<Self, TooLarge> {
        self.check(bytes, what)?;
        Ok(self.after(bytes))
    }

    /// Refuses what does not fit beside what is held.
    pub fn check(self, bytes: u128, what: impl FnOnce() -> String) -> Result<(), TooLarge> {
        self.limit.check(self.held.saturating_add(bytes), what)
    }
}

/// Refuses a run whose data do not fit into memory beside what the problem holds. Gives what is left for its linear systems, whose patterns are not known yet.
pub fn check(meta: &Meta, held: u64, settings: &Settings, noisy: bool) -> Result<Budget, TooLarge> {
    let budget = Budget::new(MemoryLimit::or_of_this_machine(settings.limits.memory)).after(held.into());
    let budget = take_vectors(meta, noisy, budget)?;
    let budget = take_matrices(meta, settings, budget)?;
    let judge = &settings.sampling.judge;
    budget.check(NUMBER * judge.samples as u128, || format!("sampling.judge.samples={}", judge.samples))?;
    for estimation in [&settings.sampling.gradient, &settings.sampling.constraints, &settings.sampling.jacobian] {
        let size = estimation.largest_batch();
        budget.check(LISTS * NUMBER * size as u128, || format!("a batch of {size} samples"))?;
    }
    take_metric(meta, settings, noisy, budget)
}

/// The problem itself: vectors and Jacobians.
fn take_vectors(meta: &Meta, noisy: bool, budget: Budget) -> Result<Budget, TooLarge> {
    let (n, m, entries) = (meta.n() as u128, meta.m() as u128, meta.jacobian_len() as u128);
    let slacks = meta.c_lower.iter().zip(&meta.c_upper).filter(|(lower, upper)| lower < upper).count() as u128;
    let numbers = |held: Held| held.variable * n + held.slack * slacks + held.row * m + held.entry * entries;
    let places = if matches!(meta.jacobian, Pattern::Dense) { 0 } else { OF_A_PLACE * entries };
    let bytes = NUMBER * (numbers(OF_A_RUN) + if noisy { numbers(OF_NOISE) } else { 0 } + places);
    budget.take(bytes, || {
        format!(
            "problem {} with {}, {} and {} of its Jacobian",
            meta.name,
            count_of(n, "variable"),
            count_of(m, "constraint"),
            count_of(entries, "entry")
        )
    })
}

/// Full matrices of the linear algebra, which are no part of the metric. The kernel's own, which it takes itself, must at least fit.
fn take_matrices(meta: &Meta, settings: &Settings, budget: Budget) -> Result<Budget, TooLarge> {
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
        return budget.take((OF_A_MAPPING * NUMBER).saturating_mul(rows * rows), what);
    }
    Ok(budget)
}

/// The metric, as far as it is more than a diagonal. Second derivatives, whose pattern nobody has asked for yet, are taken where they are.
fn take_metric(meta: &Meta, settings: &Settings, noisy: bool, budget: Budget) -> Result<Budget, TooLarge> {
    let (n, metric) = (meta.n(), &settings.metric);
    let dense = metric.kind == MetricKind::QuasiNewton && n <= metric.largest_dense;
    let learns = settings.stepsize.lipschitz == Lipschitz::Found;
    let limited = metric.kind == MetricKind::LimitedMemory || (metric.kind == MetricKind::QuasiNewton && !dense && learns);
    if dense {
        let what = || format!("a metric of {n} rows and columns (metric.largest_dense={})", metric.largest_dense);
        budget.take(QuasiNewton::bytes(n), what)
    } else if limited {
        budget.take(LimitedMemory::bytes(n, steps_in_memory(metric, noisy)), || format!("metric.memory={}", metric.memory))
    } else {
        Ok(budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;

    fn refused(meta: &Meta, settings: &Settings) -> String {
        check(meta, 0, settings, false).map(|_| ()).expect_err("too large").to_string()
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let meta = Meta::new("large", vec![0.0; 3000]).equalities(&vec![0.0; 2000]);
        let mut settings = Settings::default();
        assert_eq!(check(&meta, 0, &settings, false).map(|_| ()), Ok(()));
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
        assert_eq!(check(&meta, 0, &settings, false).map(|_| ()), Ok(()));
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
        // 8 ((4 * 3000 + 3 p) p + 3 * 3000) bytes, and with vectors and Jacobians 200 MB less 6.1.
        settings.sampling.constraints.batch = Batch::Constant { size: 1 };
        settings.metric.memory = 50;
        assert_eq!(check(&meta, 0, &settings, false).map(|_| ()), Ok(()));
        // Noise takes 867 MB of vectors and Jacobians, and twice as many steps.
        settings.limits.memory = Some(872_000_000);
        let noisy = check(&meta, 0, &settings, true).map(|_| ()).expect_err("twice as many steps").to_string();
        assert!(noisy.starts_with("metric.memory=50 would need "), "{noisy}");
        settings.limits.memory = Some(200_000_000);
        let beside_data =
            check(&meta, 10_000_000, &settings, false).map(|_| ()).expect_err("the problem holds some").to_string();
        assert!(beside_data.starts_with("problem large with "), "{beside_data}");
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
