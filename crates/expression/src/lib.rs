//! Formulas as graphs: built once, differentiated, and compiled into tapes that compute values and derivatives.
//!
//! A reader of some file format makes a [`Graph`]: inputs, constants, [`Unary`] and [`Binary`] operations and selections. Equal
//! expressions become one node and constants are folded while it grows, so a reader may simply ask for what it needs:
//!
//! ```
//! use tangor_expression::{Binary, Graph, Unary};
//!
//! let mut graph = Graph::default();
//! let (x, y) = (graph.input(0), graph.input(1));
//! let sum = graph.binary(Binary::Add, x, y);
//! let again = graph.binary(Binary::Add, y, x);
//! assert_eq!(sum, again);
//! // if x + y < 1 then sin(x + y) else 0
//! let one = graph.constant(1.0);
//! let zero = graph.constant(0.0);
//! let below = graph.binary(Binary::Less, sum, one);
//! let sine = graph.unary(Unary::Sine, sum);
//! graph.select(below, sine, zero);
//! ```
//!
//! What to do with a graph:
//!
//! - [`Functions`]: the many functions of a whole model, with sparse Jacobians and the sparse Hessian of a weighted sum, by reverse
//!   sweeps over numbers. Its cost grows linearly with the size of the formulas and the number of derivatives.
//! - [`Tape`]: one small function that is evaluated very often with different numbers, such as an element function of a SIF file.
//!   Its derivatives are formulas themselves ([`mod@derive`]), and several points can be computed at once ([`Tape::evaluate_block`]).
//! - [`tower`]: numbers that carry their derivatives along, for programs with loops and jumps, which have no graph.
//!
//! Conventions: everything is a double. Truth is any number but 0, and comparisons give 1 or 0. Nothing fails: where a function is not
//! defined its value is NaN or infinite. At a kink (`abs`, `min`, `max`, a selection) the derivative is that of the branch that
//! gives the value, and a branch that is not taken contributes nothing, even where its derivative is infinite: a product with a zero is
//! zero in all sweeps. The roundings
//! (`floor` and the like) and comparisons have derivative 0.

pub mod derive;
mod functions;
mod graph;
mod hash;
mod instruction;
mod operation;
mod partials;
pub mod special;
mod tape;
pub mod tower;

pub use functions::{AtPoint, Functions, Hessian, HessianWorkspace, Workspace};
pub use graph::{Graph, Node, NodeId};
pub use operation::{Binary, Unary};
pub use tape::{BLOCK, BlockResults, Level, Register, Results, Tape};
