use crate::{Constraint, DataSet, Error, Grouping};

/// Most classes that groups and labels may be combined to.
const CLASSES: usize = 4096;

/// Rows with the same label in the same groups form a class. Every rate is a mean over a union of classes, so one sum per class is all
/// that constraints need, however many there are.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The class of each row.
    pub of_row: Vec<u16>,
    /// How many rows each class has.
    pub sizes: Vec<u64>,
}

/// A constraint on rates: the mean over some classes, less the mean over others.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// What it is called.
    pub name: String,
    /// Its bounds.
    pub bounds: (f64, f64),
    /// For each class whether it counts in the first mean.
    pub plus: Vec<bool>,
    /// For each class whether it counts in the second; none: there is no second.
    pub minus: Vec<bool>,
}

impl Classes {
    /// By the label and by these columns.
    pub fn new(data: &DataSet) -> Result<Self, Error> {
        let count = data.groupings.iter().fold(2usize, |count, grouping| count.saturating_mul(grouping.values.len() + 1));
        if count > CLASSES {
            let message = format!("the groups combine to {count} classes, but at most {CLASSES} are possible");
            return Err(Error::Senseless(message));
        }
        let class = |i: usize| {
            let label = usize::from(data.positive[i]);
            let class =
                data.groupings.iter().fold(label, |class, grouping| class * (grouping.values.len() + 1) + group(grouping, i));
            class as u16
        };
        let of_row: Vec<u16> = (0..data.rows()).map(class).collect();
        let mut sizes = vec![0; count];
        of_row.iter().for_each(|class| sizes[usize::from(*class)] += 1);
        Ok(Classes { of_row, sizes })
    }

    /// The contrasts that a constraint means: one for each pair of groups. A norm means none.
    pub fn contrasts(&self, data: &DataSet, constraint: &Constraint) -> Result<Vec<Contrast>, Error> {
        let (positive, negative) = (self.select(data, |label, _| label), self.select(data, |label, _| !label));
        let contrasts = match constraint {
            Constraint::Norm { .. } => Vec::new(),
            Constraint::FalsePositive { most } => {
                let (name, minus) = (constraint.to_string(), vec![false; self.sizes.len()]);
                vec![Contrast { name, bounds: (f64::NEG_INFINITY, *most), plus: negative, minus }]
            }
            Constraint::RateGap { column, most } => self.pairs(data, constraint, column, *most, None)?,
            Constraint::TruePositiveGap { column, most } => self.pairs(data, constraint, column, *most, Some(&positive))?,
        };
        Ok(contrasts)
    }

    /// Whether both means of a contrast have rows.
    pub fn can_tell(&self, contrast: &Contrast) -> bool {
        let one_mean = !contrast.minus.contains(&true);
        self.count(&contrast.plus) > 0 && (one_mean || self.count(&contrast.minus) > 0)
    }

    fn pairs(
        &self,
        data: &DataSet,
        constraint: &Constraint,
        column: &str,
        most: f64,
        within: Option<&[bool]>,
    ) -> Result<Vec<Contrast>, Error> {
        let Some(k) = data.groupings.iter().position(|grouping| grouping.column == column) else {
            let message = format!("the data were not read with groups by {column:?}");
            return Err(Error::Constraint { name: constraint.to_string(), message });
        };
        let values = &data.groupings[k].values;
        let members = |g: usize| {
            let mut chosen = self.select(data, |_, groups| groups[k] == g);
            if let Some(within) = within {
                chosen.iter_mut().zip(within).for_each(|(chosen, within)| *chosen &= within);
            }
            chosen
        };
        let pair = |a: usize, b: usize| Contrast {
            name: format!("{constraint}, {} - {}", values[b], values[a]),
            bounds: (-most, most),
            plus: members(b),
            minus: members(a),
        };
        Ok((0..values.len()).flat_map(|b| (0..b).map(move |a| (a, b))).map(|(a, b)| pair(a, b)).collect())
    }

    /// The classes whose label and groups satisfy a condition.
    fn select(&self, data: &DataSet, condition: impl Fn(bool, &[usize]) -> bool) -> Vec<bool> {
        let mut groups = vec![0; data.groupings.len()];
        let mut chosen = |mut class: usize| {
            for (group, grouping) in groups.iter_mut().zip(&data.groupings).rev() {
                *group = class % (grouping.values.len() + 1);
                class /= grouping.values.len() + 1;
            }
            condition(class == 1, &groups)
        };
        (0..self.sizes.len()).map(&mut chosen).collect()
    }

    /// How many rows these classes have.
    pub fn count(&self, chosen: &[bool]) -> u64 {
        self.sizes.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(size, _)| size).sum()
    }
}

impl Contrast {
    /// The factors that make the contrast from *sums* over classes divided by the number of all rows: one over the share of the rows in
    /// the first mean, less one over that in the second. An average over random rows is then unbiased, whoever is drawn.
    pub fn factors(&self, classes: &Classes) -> Vec<f64> {
        let rows = classes.of_row.len() as f64;
        let factor = |chosen: &[bool]| match classes.count(chosen) {
            0 => 0.0,
            count => rows / count as f64,
        };
        let (plus, minus) = (factor(&self.plus), factor(&self.minus));
        let sides = self.plus.iter().zip(&self.minus);
        sides.map(|(&in_plus, &in_minus)| f64::from(u8::from(in_plus)) * plus - f64::from(u8::from(in_minus)) * minus).collect()
    }
}

/// The group of a row; one more than the last for a missing value.
fn group(grouping: &Grouping, i: usize) -> usize {
    grouping.members[i].map_or(grouping.values.len(), usize::from)
}
