use echidna::Reverse;
use echidna::tape::{CONSTANT, Tape, TapeGuard};

use crate::Formulas;
use crate::groups::Groups;

/// Reverse mode: the operations are recorded on a tape, which is then read backwards once for each output.
///
/// The tape belongs to the problem, is emptied before each recording and keeps its memory. While a formula runs, the tape is
/// the active one of its thread, so problems on several threads do not meet.
#[derive(Default)]
pub(crate) struct ReverseMode {
    tape: Tape<f64>,
    x: Vec<Reverse<f64>>,
    c: Vec<Reverse<f64>>,
    seeds: Vec<(u32, f64)>,
}

impl ReverseMode {
    pub(crate) fn gradient(&mut self, formulas: &impl Formulas, x: &[f64], g: &mut [f64]) {
        self.place(x);
        let recording = TapeGuard::new(&mut self.tape);
        let f = formulas.objective(&self.x);
        drop(recording);
        if f.index() == CONSTANT {
            return g.fill(0.0);
        }
        let slopes = self.tape.reverse(f.index());
        g.copy_from_slice(&slopes[..g.len()]);
    }

    /// The groups are those of the rows.
    pub(crate) fn jacobian(&mut self, formulas: &impl Formulas, groups: &Groups, m: usize, x: &[f64], values: &mut [f64]) {
        self.place(x);
        self.c.resize(m, Reverse::default());
        groups.clear_repeated(values);
        let recording = TapeGuard::new(&mut self.tape);
        formulas.constraints(&self.x, &mut self.c);
        drop(recording);
        for group in groups.iter() {
            self.seeds.clear();
            let outputs = group.members.iter().map(|&row| self.c[row].index());
            self.seeds.extend(outputs.filter(|&output| output != CONSTANT).map(|output| (output, 1.0)));
            let slopes = self.tape.reverse_seeded(&self.seeds);
            for entry in &group.entries {
                values[entry.index] = slopes[entry.column];
            }
        }
    }

    fn place(&mut self, x: &[f64]) {
        self.tape.clear();
        self.x.clear();
        for &value in x {
            let (index, value) = self.tape.new_variable(value);
            self.x.push(Reverse::from_tape(value, index));
        }
    }
}
