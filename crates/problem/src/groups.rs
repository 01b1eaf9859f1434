use crate::{Meta, Pattern};

/// The columns of a Jacobian in groups that have no row in common, or its rows in groups that have no column in common.
///
/// One direction that moves all columns of a group gives all their entries, for each row sees at most one of them (Curtis,
/// Powell and Reid 1974); weights on the rows of a group do the same for reverse mode. A dense Jacobian has one column in each
/// group, a band of width `w` about `w` groups.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    groups: Vec<Group>,
    /// Values that stay zero: an entry named twice is the sum of its values, so the first carries all.
    repeated: Vec<usize>,
}

/// Columns (or rows) that are taken together, and the values that this gives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) members: Vec<usize>,
    pub(crate) entries: Vec<Entry>,
}

/// Value `index` of the Jacobian is in `row` and `column`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) index: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

// Entries outside of the matrix are left out: `Meta::validate` reports them.
impl Groups {
    pub(crate) fn of_columns(meta: &Meta) -> Self {
        Self::new(meta, meta.n(), meta.m(), |entry| (entry.column, entry.row))
    }

    #[cfg(feature = "autodiff")]
    pub(crate) fn of_rows(meta: &Meta) -> Self {
        Self::new(meta, meta.m(), meta.n(), |entry| (entry.row, entry.column))
    }

    /// `place` gives the member of an entry and where members meet.
    fn new(meta: &Meta, members: usize, places: usize, place: impl Fn(&Entry) -> (usize, usize)) -> Self {
        let (entries, repeated) = distinct_entries(meta);
        let group_of = match meta.jacobian {
            Pattern::Dense => (0..members).collect(),
            Pattern::Sparse { .. } => greedy(members, places, entries.iter().map(&place)),
        };
        let count = group_of.iter().filter(|&&group| group != NONE).max().map_or(0, |&last| last + 1);
        let mut groups = vec![Group::default(); count];
        for (member, &group) in group_of.iter().enumerate().filter(|&(_, &group)| group != NONE) {
            groups[group].members.push(member);
        }
        for entry in entries {
            groups[group_of[place(&entry).0]].entries.push(entry);
        }
        Groups { groups, repeated }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Group> {
        self.groups.iter()
    }

    /// Several groups at a time.
    #[cfg(feature = "autodiff")]
    pub(crate) fn chunks(&self, size: usize) -> std::slice::Chunks<'_, Group> {
        self.groups.chunks(size)
    }

    /// Zeroes the values that no group writes.
    pub(crate) fn clear_repeated(&self, values: &mut [f64]) {
        for &index in &self.repeated {
            values[index] = 0.0;
        }
    }
}

/// The number of entries in the longest row and in the longest column: there cannot be fewer groups of columns and of rows, and
/// there are seldom many more.
#[cfg(feature = "autodiff")]
pub(crate) fn longest_row_and_column(meta: &Meta) -> (usize, usize) {
    let (n, m) = (meta.n(), meta.m());
    let Pattern::Sparse { rows, columns } = &meta.jacobian else { return (n, m) };
    let longest = |places: &[usize], count: usize| {
        let mut lengths = vec![0; count];
        for &place in places.iter().filter(|&&place| place < count) {
            lengths[place] += 1;
        }
        lengths.into_iter().max().unwrap_or(0)
    };
    (longest(rows, m), longest(columns, n))
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

/// The group of a member without entries.
const NONE: usize = usize::MAX;

/// The members with most entries choose first; each takes the first group that none of its neighbours has.
fn greedy(members: usize, places: usize, entries: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut members_at = vec![Vec::new(); places];
    let mut places_of = vec![Vec::new(); members];
    for (member, place) in entries {
        members_at[place].push(member);
        places_of[member].push(place);
    }
    let mut order: Vec<usize> = (0..members).filter(|&member| !places_of[member].is_empty()).collect();
    order.sort_by_key(|&member| std::cmp::Reverse(places_of[member].len()));
    let mut group_of = vec![NONE; members];
    // taken_for[g] is the last member that found a neighbour in group g.
    let mut taken_for = vec![NONE; members];
    for member in order {
        for &neighbour in places_of[member].iter().flat_map(|&place| &members_at[place]) {
            if group_of[neighbour] != NONE {
                taken_for[group_of[neighbour]] = member;
            }
        }
        group_of[member] = (0..members).find(|&group| taken_for[group] != member).unwrap_or(NONE);
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
        for (groups, met) in [(Groups::of_columns(&meta), true), (Groups::of_rows(&meta), false)] {
            assert_eq!(groups.iter().len(), 3);
            for group in groups.iter() {
                let mut places: Vec<usize> = group.entries.iter().map(|e| if met { e.row } else { e.column }).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), group.entries.len(), "two members of a group meet");
            }
            let written: usize = groups.iter().map(|group| group.entries.len()).sum();
            assert_eq!(written, meta.jacobian_len());
        }
    }

    #[test]
    fn an_arrow_is_cheap_by_rows_or_by_columns() {
        let n = 20;
        let row_arrow = (0..n).map(|j| (0, j)).chain((1..n).map(|i| (i, i)));
        let meta = Meta::new("p", vec![0.0; n]).equalities(&vec![0.0; n]).sparse(row_arrow);
        assert_eq!((Groups::of_columns(&meta).iter().len(), Groups::of_rows(&meta).iter().len()), (n, 2));
        assert_eq!(longest_row_and_column(&meta), (n, 2));
    }

    #[test]
    fn a_repeated_entry_is_written_once_and_nonsense_is_left_out() {
        let meta = Meta::new("p", vec![0.0; 3]).equalities(&[0.0]).sparse([(0, 1), (0, 1), (5, 0), (0, 9)]);
        let groups = Groups::of_columns(&meta);
        assert_eq!(groups.iter().len(), 1);
        assert!(groups.iter().all(|group| group.members == [1]));
        let mut values = [7.0; 4];
        groups.clear_repeated(&mut values);
        assert_eq!(values, [7.0, 0.0, 7.0, 7.0]);
    }
}
