//! What `tangor fit` is made of: its arguments, the task, and how its outcome is told.

pub mod columns;
pub mod cross_validation;
pub mod data;
pub mod fitted;
pub mod goal;
mod quality;
mod report;
pub mod task;
pub mod trade_off;
