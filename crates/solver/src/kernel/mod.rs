//! The QP solver behind both steps, with its linear algebra.

pub(crate) mod aside;
pub(crate) mod augmented;
pub(crate) mod border;
pub(crate) mod cholesky;
pub(crate) mod cone;
pub(crate) mod dense_system;
pub(crate) mod eigen;
pub(crate) mod elimination;
pub(crate) mod gram;
pub(crate) mod interior;
pub(crate) mod interior_start;
pub(crate) mod matrix;
pub(crate) mod projection;
pub(crate) mod renew;
pub(crate) mod search;
pub(crate) mod settle;
pub(crate) mod sparse_factor;
pub(crate) mod sparse_gram;
pub(crate) mod subproblem;
pub(crate) mod symmetric;
pub(crate) mod system;
pub(crate) mod vector;
pub(crate) mod woodbury;
