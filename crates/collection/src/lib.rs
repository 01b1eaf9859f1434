//! Embedded problems.
