//! The problem as the method sees it: equalities with slacks inside bounds, evaluated and counted.

pub(crate) mod iterate;
pub(crate) mod oracle;
pub(crate) mod presolve;
pub(crate) mod quantity;
pub mod scaling;
pub(crate) mod standard;
