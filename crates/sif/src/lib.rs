//! Reads SIF files, the format of the CUTEst problems, without a Fortran compiler.

mod error;
pub mod fortran;
mod source;

pub use error::SifError;
pub use source::Line;
