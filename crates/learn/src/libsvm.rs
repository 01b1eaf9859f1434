//! LIBSVM files: a label and then `index:value`, indices counted from 1 and rising.

use std::io::{BufRead, BufReader, Read};

use serde::{Deserialize, Serialize};

use crate::cell::Decimal;
use crate::cut::Rule;
use crate::distribution::{Distribution, Facts, Place, Row, Shape, Sharing, distributed};
use crate::features::Entry;
use crate::ration::Ration;
use crate::sharing::in_turns;
use crate::{DataSet, Encoding, Error, Input, Labels, Reading};

impl Reading {
    /// Reads a LIBSVM file. Its columns have no names, so there is nothing to drop and nothing to group by.
    pub fn libsvm(&self, input: impl Into<Input>) -> Result<DataSet, Error> {
        let input = &input.into();
        let lists = [&self.drop, &self.log, &self.numeric, &self.categorical, &self.groups].into_iter().flatten();
        if let Some(name) = lists.chain(&self.label).chain(&self.weight).next() {
            let message = format!("a LIBSVM file has no column {name:?}: its features have numbers instead of names");
            return Err(input.unusable(&message));
        }
        distributed(
            self.shared.as_ref(),
            (input, &self.place(input)),
            || Ok(Rule::lines()),
            |input, sharing| {
                let read = self.labelled(input, sharing);
                // Which labels there are in all parts, in their order.
                let seen = in_turns(sharing.parts(), Seen::default(), |so_far| {
                    read.as_ref().map(|(_, here)| so_far.then(here)).map_err(|_| Error::Elsewhere)
                });
                let ((all, here), seen) = (read?, seen?);
                // A fit keeps some sixteen vectors of the length of its weights, whatever the number of features that occur.
                let (largest, file) = (seen.largest, input.path().display());
                let what = || format!("a model with a weight for each of {largest} features, the largest index in {file}");
                self.memory().check(16 * 8 * u128::from(largest), what)?;
                let labels = seen.labels(input, self.positive.as_deref())?;
                let turned = number(&labels.positive) == here.first;
                all.finish(facts(input, largest as usize, labels, turned))
            },
        )
    }

    /// All rows on their way to who has them, positive where the label is another one than the first here.
    fn labelled<'a>(&self, input: &'a Input, sharing: Sharing<'a>) -> Result<(Distribution<'a>, Seen), Error> {
        let rows = sharing.rows(|| Rows::open(input)?.count())?;
        let mut all = Distribution::new(SHAPE, rows, &self.place(input), sharing)?;
        let (mut rows, mut seen) = (Rows::open(input)?, Seen::default());
        while let Some(label) = rows.advance()? {
            seen.largest = seen.largest.max(rows.entries.last().map_or(0, |entry| entry.column + 1));
            // Which label is the positive one is known at the end.
            let positive = seen.add(label);
            all.push(Row { dense: &[], sparse: &rows.entries, positive, groups: &[], weight: None })?;
        }
        Ok((all, seen))
    }
}

/// Rows have neither dense features nor groups nor weights.
const SHAPE: Shape = Shape { dense: 0, groups: 0, weighted: false };

/// Reads a LIBSVM file with features that are known; others are left out, as they have no weight.
pub(crate) fn read_encoded(
    input: &Input,
    columns: usize,
    labels: &Labels,
    place: &Place,
    sharing: Sharing,
) -> Result<DataSet, Error> {
    let rows = sharing.rows(|| Rows::open(input)?.count())?;
    let mut all = Distribution::new(SHAPE, rows, place, sharing)?;
    let mut rows = Rows::open(input)?;
    let known = [&labels.negative, &labels.positive].map(|label| number(label));
    while let Some(label) = rows.advance()? {
        let Some(k) = known.iter().position(|known| *known == Some(label)) else {
            let message = format!("the label is {label}, but must be {} or {}", labels.negative, labels.positive);
            return Err(rows.wrong(1, &message));
        };
        let sparse: Vec<Entry> = rows.entries(columns).collect();
        all.push(Row { dense: &[], sparse: &sparse, positive: k == 1, groups: &[], weight: None })?;
    }
    if sharing.all_of(all.rows) == 0 {
        return Err(input.unusable("it has no rows"));
    }
    all.finish(facts(input, columns, labels.clone(), false))
}

fn facts(input: &Input, features: usize, labels: Labels, turned: bool) -> Facts {
    let (name, encoding) = (input.name(), Encoding::Indexed { features });
    Facts { name, encoding, labels, turned, groups: Vec::new(), remarks: Vec::new() }
}

/// The different labels so far, and the largest number of a feature.
#[derive(Default, Serialize, Deserialize)]
struct Seen {
    first: Option<f64>,
    second: Option<f64>,
    more: bool,
    largest: u32,
}

impl Seen {
    /// Whether a label is another one than the first.
    fn add(&mut self, label: f64) -> bool {
        let first = *self.first.get_or_insert(label);
        if label != first {
            self.more |= *self.second.get_or_insert(label) != label;
        }
        label != first
    }

    /// With those of further rows.
    fn then(mut self, further: &Seen) -> Seen {
        for label in [further.first, further.second].into_iter().flatten() {
            self.add(label);
        }
        Seen { more: self.more | further.more, largest: self.largest.max(further.largest), ..self }
    }

    fn labels(&self, input: &Input, wanted: Option<&str>) -> Result<Labels, Error> {
        let refuse = |message: &str| Err(input.unusable(message));
        let Some(first) = self.first else { return refuse("it has no rows") };
        let Some(second) = self.second else {
            return refuse("all of its labels are the same, but logistic regression needs two");
        };
        if self.more {
            return refuse("it has more than two different labels, but logistic regression needs exactly two");
        }
        let (lesser, greater) = (first.min(second), first.max(second));
        let (negative, positive) = match wanted {
            None => (lesser, greater),
            Some(wanted) if number(wanted) == Some(greater) => (lesser, greater),
            Some(wanted) if number(wanted) == Some(lesser) => (greater, lesser),
            Some(wanted) => return refuse(&format!("its labels are {lesser} and {greater}, but never {wanted:?}")),
        };
        Ok(Labels { column: String::new(), negative: negative.to_string(), positive: positive.to_string() })
    }
}

fn number(field: &str) -> Option<f64> {
    Decimal::Point.number(field)
}

/// The rows of a file.
pub(crate) struct Rows<'a> {
    input: &'a Input,
    reader: BufReader<Box<dyn Read>>,
    text: Vec<u8>,
    ration: Ration,
    line: u64,
    entries: Vec<Entry>,
}

impl<'a> Rows<'a> {
    pub fn open(input: &'a Input) -> Result<Self, Error> {
        let ration = Ration::default();
        let reader = BufReader::new(ration.of(input.reader()?));
        Ok(Rows { input, reader, text: Vec::new(), ration, line: 0, entries: Vec::new() })
    }

    /// How many rows there are from here on.
    fn count(mut self) -> Result<usize, Error> {
        let mut rows = 0;
        while self.advance()?.is_some() {
            rows += 1;
        }
        Ok(rows)
    }

    /// The label of the next row, its features in `entries`; `None` at the end. Empty lines and comments (`#`) are skipped.
    pub fn advance(&mut self) -> Result<Option<f64>, Error> {
        loop {
            self.text.clear();
            self.line += 1;
            self.ration.renew();
            let read = self.reader.read_until(b'\n', &mut self.text);
            if read.map_err(|cause| self.input.unreadable(cause))? == 0 {
                return Ok(None);
            }
            let row = std::str::from_utf8(&self.text);
            let row = row.map_err(|error| self.wrong(error.valid_up_to() + 1, "this is not UTF-8 text"))?;
            let row = row.split('#').next().unwrap_or_default();
            if !row.trim_ascii().is_empty() {
                let parsed = parse(row, &mut self.entries);
                return parsed.map(Some).map_err(|(column, message)| self.wrong(column, &message));
            }
        }
    }

    /// The features of the row, up to this number of columns.
    pub fn entries(&self, columns: usize) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().copied().filter(move |entry| (entry.column as usize) < columns)
    }

    fn wrong(&self, column: usize, message: &str) -> Error {
        Error::Line {
            file: self.input.path().to_path_buf(),
            line: self.input.lines_before() + self.line,
            message: format!("at character {column}: {message}"),
        }
    }
}

/// The label of a row; or where it is wrong, counted from 1, and why.
fn parse(row: &str, entries: &mut Vec<Entry>) -> Result<f64, (usize, String)> {
    entries.clear();
    // Words are slices of the row, so their addresses tell where they stand.
    let place = |word: &str| row[..word.as_ptr() as usize - row.as_ptr() as usize].chars().count() + 1;
    let mut words = row.split_ascii_whitespace();
    let label = words.next().unwrap_or_default();
    let label = number(label).ok_or_else(|| (place(label), format!("the label {label:?} is not a number")))?;
    for word in words {
        let pair = word.split_once(':').and_then(|(index, value)| Some((index.parse::<u128>().ok()?, number(value)? as f32)));
        let Some((index, value)) = pair.filter(|(index, value)| *index >= 1 && value.is_finite()) else {
            return Err((place(word), format!("{word:?} is not of the form index:value with an index from 1 on")));
        };
        let Ok(index) = u32::try_from(index) else {
            return Err((place(word), format!("index {index} is larger than 4294967295, the largest that there may be")));
        };
        if entries.last().is_some_and(|last| last.column >= index - 1) {
            return Err((place(word), format!("index {index} comes after a larger or equal one")));
        }
        entries.push(Entry { column: index - 1, value });
    }
    Ok(label)
}
