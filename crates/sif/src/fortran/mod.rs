//! The Fortran of the function parts.
