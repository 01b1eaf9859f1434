use crate::goal::Part;
use crate::{DataSet, Error, Grouping, Rate, Requirement};

/// Most classes that groups and labels may be combined to.
const CLASSES: usize = 4096;

/// Rows with the same label in the same groups form a class. Every rate is a mean over a union of classes, so one sum per class is all
/// that constraints need, however many there are.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The class of each row that is here.
    pub of_row: Vec<u16>,
    /// How many rows each class has, on all processes together.
    pub sizes: Vec<u64>,
    /// How much they count together.
    pub weights: Vec<f64>,
}

/// The means that a requirement compares: over some classes, less that over others.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// For each class whether it counts in the first mean.
    pub plus: Vec<bool>,
    /// For each class whether it counts in the second, if there is a second.
    pub minus: Option<Vec<bool>>,
}

impl Classes {
    /// By the label and by the columns of groups. Where several processes share the rows, all of them count together.
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
        let of_row: Vec<u16> = (0..data.positive.len()).map(class).collect();
        let mut sums = vec![0.0; 2 * count];
        data.sum(&mut sums, |i, sums| {
            sums[usize::from(of_row[i])] += 1.0;
            sums[count + usize::from(of_row[i])] += data.weight(i);
        });
        let weights = sums.split_off(count);
        Ok(Classes { of_row, sizes: sums.into_iter().map(|size| size as u64).collect(), weights })
    }

    /// The contrast that a requirement means; a norm means none.
    pub fn contrast(&self, data: &DataSet, requirement: &Requirement) -> Option<Contrast> {
        let Requirement::Rate { rate, of, less, .. } = requirement else { return None };
        let minus = less.as_ref().map(|less| self.part(data, *rate, less));
        Some(Contrast { plus: self.part(data, *rate, of), minus })
    }

    /// The classes that a rate of a part of the rows counts; none where the data have no such group.
    pub fn part(&self, data: &DataSet, rate: Rate, part: &Part) -> Vec<bool> {
        let place = |column: &str, value: &str| {
            let k = data.groupings.iter().position(|grouping| grouping.column == column)?;
            Some((k, data.groupings[k].values.iter().position(|known| known == value)?))
        };
        match part {
            Part::Whole => self.select(data, |label, _| rate.counts(label)),
            Part::Group { column, value } => match place(column, value) {
                None => vec![false; self.sizes.len()],
                Some((k, group)) => self.select(data, |label, groups| rate.counts(label) && groups[k] == group),
            },
        }
    }

    /// Whether all means of a contrast have rows that count.
    pub fn can_tell(&self, contrast: &Contrast) -> bool {
        self.weight(&contrast.plus) > 0.0 && contrast.minus.as_ref().is_none_or(|minus| self.weight(minus) > 0.0)
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

    /// How much the rows of these classes count.
    pub fn weight(&self, chosen: &[bool]) -> f64 {
        self.weights.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(weight, _)| weight).sum()
    }
}

impl Contrast {
    /// The factors that make the contrast from *sums* over classes divided by the number of all rows: one over the share of the rows in
    /// the first mean, less one over that in the second. An average over random rows is then unbiased, whoever is drawn.
    pub fn factors(&self, classes: &Classes) -> Vec<f64> {
        let rows = classes.sizes.iter().sum::<u64>() as f64;
        let factor = |chosen: &[bool]| {
            let weight = classes.weight(chosen);
            if weight > 0.0 { rows / weight } else { 0.0 }
        };
        let plus = factor(&self.plus);
        let mut factors: Vec<f64> = self.plus.iter().map(|&counts| if counts { plus } else { 0.0 }).collect();
        if let Some(minus) = &self.minus {
            let less = factor(minus);
            factors.iter_mut().zip(minus).filter(|(_, counts)| **counts).for_each(|(factor, _)| *factor -= less);
        }
        factors
    }
}

/// The group of a row; one more than the last for a missing value.
fn group(grouping: &Grouping, i: usize) -> usize {
    grouping.members[i].map_or(grouping.values.len(), usize::from)
}
