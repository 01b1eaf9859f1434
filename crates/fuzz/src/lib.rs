//! Damaged inputs for every reader of Tangor: whatever is in a file or comes from a process, reading it ends in a value or in an error,
//! soon and without a panic.
//!
//! A [`Target`] reads bytes, [`Seeds`] are good inputs of its kind and those that once did harm, and [`mutated`] damages them. The test
//! `fuzz` tries all targets for ten seconds, or for as many as `TANGOR_FUZZ_SECONDS` says:
//!
//! ```sh
//! TANGOR_FUZZ_SECONDS=3600 cargo test --release -p tangor-fuzz -- --nocapture
//! ```
//!
//! An input that does harm belongs into `corpus`, in the folder of its target, where every later run tries it again.

mod driver;
mod mutation;
mod seeds;
mod targets;

pub use driver::{Random, try_many, without_harm};
pub use mutation::mutated;
pub use seeds::Seeds;
pub use targets::{TARGETS, Target, overwrite};
