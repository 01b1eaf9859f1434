//! Values of other files that the rows of the fit did not have: a model can say nothing of them, and people should know.

use serde::{Deserialize, Serialize};

use crate::cell::is_missing;
use crate::table::Table;

/// What a column of another file had that was never seen.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Strangers {
    rows: u64,
    /// The first one, and where.
    first: Option<(u64, String)>,
}

impl Strangers {
    /// One more.
    pub fn add(&mut self, table: &Table, k: usize) {
        self.rows += 1;
        if self.first.is_none() {
            self.first = Some((table.place, table.field(k).to_string()));
        }
    }

    /// Those of further rows.
    pub fn extend(&mut self, more: &Strangers) {
        self.rows += more.rows;
        self.first = self.first.take().or_else(|| more.first.clone());
    }

    /// A sentence on them, if there were any: where the first one is, how many there are, and what becomes of them.
    pub fn remark(&self, table: &Table, k: usize, fate: &str) -> Option<String> {
        let (place, value) = self.first.as_ref()?;
        let message = match self.rows {
            _ if is_missing(value) => "the value is missing".to_string(),
            1 => format!("no row of the fit had the value {value:?}"),
            _ => format!("no row of the fit had values as {value:?}"),
        };
        let all = if self.rows == 1 { "it".to_string() } else { format!("{} such rows", self.rows) };
        let verb = if self.rows == 1 { "counts" } else { "count" };
        Some(table.wrong_at(*place, k, &format!("{message}; {all} {verb} {fate}")).to_string())
    }
}
