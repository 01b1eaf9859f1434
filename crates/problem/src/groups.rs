use crate::Meta;
use crate::Pattern;

/// The columns of a Jacobian in groups whose columns have no row in common.
///
/// One direction that moves all columns of a group gives all their entries, for each row sees at most one of them (Curtis,
/// Powell and Reid 1974). A dense Jacobian has one column in each group, a band of width `w` has about `w` groups.
#[derive(Clone, Debug)]
pub(crate) struct ColumnGroups {
    groups: Vec<Group>,
    /// Values that stay zero: an entry named twice is the sum of its values, so the first carries all.
    repeated: Vec<usize>,
}

/// Columns that are moved together, and the values that this gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) columns: Vec<usize>,
    pub(crate) entries: Vec<Entry>,
}

/// Value `index` of the Jacobian is in `row` and `column`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) index: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl ColumnGroups {
    /// Entries outside of the matrix are left out: [`Meta::validate`] reports them.
    pub(crate) fn new(meta: &Meta) -> Self {
        let (n, m) = (meta.n(), meta.m());
        let (entries, repeated) = distinct_entries(meta);
        let mut by_row = vec![Vec::new(); m];
        let mut by_column = vec![Vec::new(); n];
        for entry in &entries {
            by_row[entry.row].push(entry.column);
            by_column[entry.column].push(entry.row);
        }
        let group_of = match meta.jacobian {
            Pattern::Dense => (0..n).collect(),
            Pattern::Sparse { .. } => greedy(&by_row, &by_column),
        };
        let count = group_of.iter().filter(|&&group| group != NONE).max().map_or(0, |&last| last + 1);
        let mut groups = vec![Group::default(); count];
        for (column, &group) in group_of.iter().enumerate().filter(|&(_, &group)| group != NONE) {
            groups[group].columns.push(column);
        }
        for entry in entries {
            groups[group_of[entry.column]].entries.push(entry);
        }
        ColumnGroups { groups, repeated }
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Zeroes the values that no group writes.
    pub(crate) fn clear_repeated(&self, values: &mut [f64]) {
        for &index in &self.repeated {
            values[index] = 0.0;
        }
    }
}

fn distinct_entries(meta: &Meta) -> (Vec<Entry>, Vec<usize>) {
    let (n, m) = (meta.n(), meta.m());
    let place = |index| {
        let (row, column) = meta.jacobian.place(index, n);
        Entry { index, row, column }
    };
    let inside = |entry: &Entry| entry.row < m && entry.column < n;
    let mut entries: Vec<Entry> = (0..meta.jacobian_len()).map(place).filter(inside).collect();
    entries.sort_by_key(|entry| (entry.row, entry.column, entry.index));
    let mut repeated = Vec::new();
    entries.dedup_by(|entry, first| {
        let same = (entry.row, entry.column) == (first.row, first.column);
        if same {
            repeated.push(entry.index);
        }
        same
    });
    (entries, repeated)
}

/// The group of a column without entries.
const NONE: usize = usize::MAX;

/// The columns with most entries choose first; each takes the first group that none of its rows has seen.
fn greedy(by_row: &[Vec<usize>], by_column: &[Vec<usize>]) -> Vec<usize> {
    let n = by_column.len();
    let mut order: Vec<usize> = (0..n).filter(|&column| !by_column[column].is_empty()).collect();
    order.sort_by_key(|&column| std::cmp::Reverse(by_column[column].len()));
    let mut group_of = vec![NONE; n];
    // seen_by[g] is the last column that found a neighbour in group g.
    let mut seen_by = vec![NONE; n];
    for column in order {
        for &neighbour in by_column[column].iter().flat_map(|&row| &by_row[row]) {
            if group_of[neighbour] != NONE {
                seen_by[group_of[neighbour]] = column;
            }
        }
        group_of[column] = (0..n).find(|&group| seen_by[group] != column).unwrap_or(NONE);
    }
    group_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tridiagonal_jacobian_needs_three_groups() {
        let n = 10;
        let entries = (0..n).flat_map(|i: usize| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j)));
        let meta = Meta::new("p", vec![0.0; n]).equalities(&vec![0.0; n]).sparse(entries);
        let groups = ColumnGroups::new(&meta);
        assert_eq!(groups.groups().len(), 3);
        for group in groups.groups() {
            let mut rows: Vec<usize> = group.entries.iter().map(|entry| entry.row).collect();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), group.entries.len(), "two columns of a group share a row");
        }
        let written: usize = groups.groups().iter().map(|group| group.entries.len()).sum();
        assert_eq!(written, meta.jacobian_len());
    }

    #[test]
    fn a_repeated_entry_is_written_once_and_nonsense_is_left_out() {
        let meta = Meta::new("p", vec![0.0; 3]).equalities(&[0.0]).sparse([(0, 1), (0, 1), (5, 0), (0, 9)]);
        let groups = ColumnGroups::new(&meta);
        assert_eq!(groups.groups().len(), 1);
        assert_eq!(groups.groups()[0].columns, [1]);
        let mut values = [7.0; 4];
        groups.clear_repeated(&mut values);
        assert_eq!(values, [7.0, 0.0, 7.0, 7.0]);
    }
}
