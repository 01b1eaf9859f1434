//! A number with its first and second derivatives in the variables of an element, for the machine.
//!
//! The value of cell `c` is `memory[c]`. Its tower starts at `base + c * stride`: a mark that is 1 when the cell depends on the
//! variables (0: the rest means nothing and counts as zeros), the gradient, and the packed lower triangle of the Hessian.

use crate::operation::{Binary, Unary};
use crate::partials::{partials, slopes};

/// How the memory of a run is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The number of values, and where the towers start.
    pub cells: usize,
    /// The number of variables.
    pub count: usize,
    /// 0: values only; 1: gradients; 2: Hessians.
    pub order: usize,
}

impl Shape {
    /// The length of one tower.
    pub fn stride(self) -> usize {
        match self.order {
            0 => 0,
            1 => 1 + self.count,
            _ => 1 + self.count + self.count * (self.count + 1) / 2,
        }
    }

    /// The length of the memory.
    pub fn size(self) -> usize {
        self.cells.saturating_mul(self.stride().saturating_add(1))
    }

    fn tower(self, cell: usize) -> usize {
        self.cells + cell * self.stride()
    }

    fn depends(self, memory: &[f64], cell: usize) -> bool {
        self.order > 0 && memory[self.tower(cell)] != 0.0
    }

    /// Says that a cell does not depend on the variables.
    pub fn forget(self, memory: &mut [f64], cell: usize) {
        if self.order > 0 {
            memory[self.tower(cell)] = 0.0;
        }
    }

    /// Makes a cell the variable `index`.
    pub fn seed(self, memory: &mut [f64], cell: usize, index: usize) {
        if self.order > 0 {
            let at = self.tower(cell);
            memory[at..at + self.stride()].fill(0.0);
            memory[at] = 1.0;
            memory[at + 1 + index] = 1.0;
        }
    }

    /// The gradient of a cell, when it is not zero.
    pub fn gradient(self, memory: &[f64], cell: usize) -> Option<&[f64]> {
        let at = self.tower(cell) + 1;
        self.depends(memory, cell).then(|| &memory[at..at + self.count])
    }

    /// The Hessian of a cell, when it is not zero.
    pub fn hessian(self, memory: &[f64], cell: usize) -> Option<&[f64]> {
        let at = self.tower(cell) + 1 + self.count;
        (self.order > 1 && self.depends(memory, cell)).then(|| &memory[at..at + self.count * (self.count + 1) / 2])
    }

    /// Copies a cell with its tower.
    pub fn copy(self, memory: &mut [f64], to: usize, from: usize) {
        memory[to] = memory[from];
        if self.depends(memory, from) {
            let at = self.tower(from);
            memory.copy_within(at..at + self.stride(), self.tower(to));
        } else {
            self.forget(memory, to);
        }
    }

    /// An operation on one cell.
    pub fn unary(self, memory: &mut [f64], operation: Unary, to: usize, a: usize) {
        let x = memory[a];
        let f = operation.apply(x);
        if self.depends(memory, a) {
            let (f1, f2) = slopes(operation, x, f);
            self.chain(memory, to, &[(a, f1)], |i, j| f2 * i[0] * j[0]);
        } else {
            self.forget(memory, to);
        }
        memory[to] = f;
    }

    /// An operation on two cells.
    pub fn binary(self, memory: &mut [f64], operation: Binary, to: usize, a: usize, b: usize) {
        let (x, y) = (memory[a], memory[b]);
        let f = operation.apply(x, y);
        let depends = [self.depends(memory, a), self.depends(memory, b)];
        if depends != [false, false] {
            let [fx, fy, fxx, fxy, fyy] = partials(operation, x, y, f, depends);
            match depends {
                [true, false] => self.chain(memory, to, &[(a, fx)], |i, j| fxx * i[0] * j[0]),
                [false, true] => self.chain(memory, to, &[(b, fy)], |i, j| fyy * i[0] * j[0]),
                _ => self.chain(memory, to, &[(a, fx), (b, fy)], |i, j| {
                    fxx * i[0] * j[0] + fxy * (i[0] * j[1] + i[1] * j[0]) + fyy * i[1] * j[1]
                }),
            }
        } else {
            self.forget(memory, to);
        }
        memory[to] = f;
    }

    // h_ij = sum f_k a_k,ij + curvature(a_i, a_j); g_i = sum f_k a_k,i. In this order the target may be an operand. A slope of
    // zero direction is left out: it may be infinite.
    fn chain(self, memory: &mut [f64], to: usize, operands: &[(usize, f64)], curvature: impl Fn([f64; 2], [f64; 2]) -> f64) {
        let n = self.count;
        let target = self.tower(to);
        let sum = |memory: &[f64], offset: usize| {
            let term = |&(cell, slope): &(usize, f64)| match memory[self.tower(cell) + offset] {
                0.0 => 0.0,
                direction => slope * direction,
            };
            operands.iter().map(term).sum::<f64>()
        };
        let directions = |memory: &[f64], i: usize| {
            let direction = |k: usize| operands.get(k).map_or(0.0, |&(cell, _)| memory[self.tower(cell) + 1 + i]);
            [direction(0), direction(1)]
        };
        if self.order > 1 {
            let mut offset = 1 + n;
            for i in 0..n {
                let left = directions(memory, i);
                for j in 0..=i {
                    let right = directions(memory, j);
                    let curved = left != [0.0; 2] && right != [0.0; 2];
                    let bend = if curved { curvature(left, right) } else { 0.0 };
                    memory[target + offset] = sum(memory, offset) + bend;
                    offset += 1;
                }
            }
        }
        for offset in 1..=n {
            memory[target + offset] = sum(memory, offset);
        }
        memory[target] = 1.0;
    }
}
