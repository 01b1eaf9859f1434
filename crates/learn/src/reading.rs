//! From a table to data. A file is read several times, first to learn how to encode it, then to encode it, so that its text is never kept.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::{MemoryLimit, count_of};

use crate::cache::Room;
use crate::cell::{Decimal, is_missing};
use crate::cut::Rule;
use crate::distribution::{Distribution, Facts, Place, Row, Shape, Sharing, distributed};
use crate::scan::{Categories, Nature, Scan, Wish, too_many};
use crate::sharing::{agreed, in_turns};
use crate::strangers::Strangers;
use crate::table::{Encoder, Table};
use crate::{Column, DataSet, Encoding, Error, Format, Input, Kind, Labels, Processes};

/// A column of groups and its values.
pub(crate) type Groups = (String, Vec<String>);

/// How a file is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The column of the label; the last one if none is given.
    pub label: Option<String>,
    /// Which of its two values is the positive one; the greater one, as numbers or as texts, if none is given.
    pub positive: Option<String>,
    /// Columns that are no features. They can still be groups.
    pub drop: Vec<String>,
    /// Columns of which `log(1 + value)` is taken.
    pub log: Vec<String>,
    /// Columns of numbers, whatever else is in them.
    pub numeric: Vec<String>,
    /// Columns whose values are categories, even if they are numbers.
    pub categorical: Vec<String>,
    /// Columns by which rows are grouped.
    pub groups: Vec<String>,
    /// A column that says how much each row counts; no feature.
    pub weight: Option<String>,
    /// Separator and header.
    pub format: Format,
    /// How numbers are written.
    pub decimal: Decimal,
    /// The processes that share the rows out: each reads and keeps its own, or the first one reads all and sends the others theirs where the
    /// file cannot be read in parts. All of them must ask for them.
    pub shared: Option<Arc<dyn Processes>>,
    /// Most memory that the data may take; three quarters of the machine's if nothing is said.
    pub memory: Option<MemoryLimit>,
    /// The folder of a file for features that take more than a third of it; that for temporary files if nothing is said.
    pub cache: Option<PathBuf>,
}

/// What the first readings of a table found.
struct Found {
    encoding: Encoding,
    labels: Labels,
    groups: Vec<Groups>,
    remarks: Vec<String>,
    rows: usize,
}

/// A table before its first reading.
struct Begun<'a> {
    table: Table<'a>,
    label: usize,
    groups: Vec<usize>,
    survey: Survey,
}

/// What the first reading has seen so far.
#[derive(Serialize, Deserialize)]
struct Survey {
    /// The columns that may be features.
    scans: Vec<(usize, Scan)>,
    /// For each column whether its name is among its values.
    familiar: Vec<bool>,
    rows: usize,
}

impl Survey {
    /// Goes over the rows of a table.
    fn over(mut self, table: &mut Table, label: usize) -> Result<Self, Error> {
        while table.advance()? {
            self.rows += 1;
            if is_missing(table.field(label)) {
                return Err(table.wrong(label, "the label is missing"));
            }
            for (k, scan) in &mut self.scans {
                scan.add(table.field(*k), table.place).map_err(|message| table.wrong(*k, &message))?;
            }
            for (k, familiar) in self.familiar.iter_mut().enumerate() {
                *familiar |= table.field(k) == table.header[k];
            }
        }
        Ok(self)
    }
}

/// What is to be read besides features, when their encoding is known.
pub(crate) struct Roles<'a> {
    pub labels: &'a Labels,
    pub groups: Vec<Groups>,
    pub weight: Option<&'a str>,
    pub decimal: Decimal,
    /// How many rows there are, where that is known.
    pub rows: Option<usize>,
    pub place: Place,
    /// What is to be told of the file already.
    pub remarks: Vec<String>,
}

impl Reading {
    /// Reads a CSV file, or a Parquet file where the feature `parquet` is there.
    pub fn csv(&self, input: impl Into<Input>) -> Result<DataSet, Error> {
        let input = input.into();
        let rule = || self.format.found(&input).map(|(delimiter, named)| Rule::csv(delimiter, named));
        distributed(self.shared.as_ref(), (&input, &self.place(&input)), rule, |input, sharing| {
            if input.is_parquet()? {
                // It knows its names, and its numbers are written here.
                let format = Format { delimiter: None, header: Some(true) };
                return Reading { format, decimal: Decimal::Point, ..self.clone() }.table(input, sharing);
            }
            self.table(input, sharing)
        })
    }

    fn table(&self, input: &Input, sharing: Sharing) -> Result<DataSet, Error> {
        let Found { encoding, labels, groups, remarks, rows } = self.learn(input, sharing)?;
        let roles = Roles {
            labels: &labels,
            groups,
            weight: self.weight.as_deref(),
            decimal: self.decimal,
            rows: Some(rows),
            place: self.place(input),
            remarks,
        };
        read_encoded(input, self.format, &encoding, roles, sharing)
    }

    pub(crate) fn memory(&self) -> MemoryLimit {
        self.memory.unwrap_or_else(MemoryLimit::of_this_machine)
    }

    /// Where the rows of a file may be kept.
    pub(crate) fn place(&self, input: &Input) -> Place {
        let room = Room::new(self.memory(), self.cache.as_deref());
        Place { file: input.path().to_path_buf(), memory: self.memory(), room }
    }

    /// The first readings: kinds of columns, means and deviations, then categories, labels and groups. Processes that read parts of the
    /// file take turns at the first, in which sums depend on the order of the rows; at the others they read at the same time.
    fn learn(&self, input: &Input, sharing: Sharing) -> Result<Found, Error> {
        let mut begun = self.begin(input);
        if let Some(processes) = sharing.parts() {
            begun = agreed(processes, begun);
        }
        let Begun { mut table, label, groups, survey } = begun?;
        let Survey { scans, familiar, rows } = in_turns(sharing.parts(), survey, |survey| survey.over(&mut table, label))?;
        if rows == 0 {
            return Err(table.unusable("it has a header but no rows"));
        }
        if self.format.header.is_none() {
            notice_missing_header(&table, &familiar)?;
        }
        let mut natures = Vec::with_capacity(scans.len());
        let mut remarks = Vec::new();
        for (k, scan) in &scans {
            let place = scan.first_text.as_ref().map_or(0, |(place, _)| *place);
            natures.push((*k, scan.nature().map_err(|message| table.wrong_at(place, *k, &message))?));
            let doubt = scan.doubt(&table.header[*k]).filter(|_| sharing.tells());
            remarks.extend(doubt.map(|(place, text)| table.wrong_at(place, *k, &text).to_string()));
        }
        let texts = natures.iter().filter(|(_, nature)| *nature == Nature::Categories).map(|(k, _)| *k);
        let mut categories = self.categories(input, texts.chain(groups.iter().copied()).chain([label]), sharing)?;
        let labels = self.labels(&table, label, &categories[&label])?;
        let groups = groups.iter().map(|&k| grouping(&table, k, &categories[&k])).collect::<Result<_, _>>()?;
        let mut columns = Vec::with_capacity(natures.len());
        for ((k, nature), (_, scan)) in natures.into_iter().zip(&scans) {
            let kind = match nature {
                Nature::Names => continue,
                Nature::Numbers(scale) => Kind::Number(scale),
                Nature::Categories => {
                    let all = categories.remove(&k).unwrap_or_default().all();
                    let (place, example) = scan.first_text.as_ref().map_or((0, ""), |(place, text)| (*place, text.as_str()));
                    let categories = all.ok_or_else(|| table.wrong_at(place, k, &too_many(example)))?;
                    let crowd = scan.crowd(&table.header[k], categories.len()).filter(|_| sharing.tells());
                    remarks.extend(crowd.map(|(place, text)| table.wrong_at(place, k, &text).to_string()));
                    Kind::Text { categories }
                }
            };
            columns.push(Column { name: table.header[k].clone(), kind });
        }
        // Numbers first; the sort keeps the order of the file among themselves.
        columns.sort_by_key(|column: &Column| matches!(column.kind, Kind::Text { .. }));
        Ok(Found { encoding: Encoding::Columns(columns), labels, groups, remarks, rows })
    }

    /// Before the first reading.
    fn begin<'a>(&self, input: &'a Input) -> Result<Begun<'a>, Error> {
        let table = Table::open(input, self.format)?;
        let label = self.label.as_ref().map_or(Ok(table.header.len() - 1), |name| table.find(name))?;
        let groups = self.groups.iter().map(|name| table.find(name)).collect::<Result<Vec<_>, _>>()?;
        let weight = self.weight.as_ref().map(|name| table.find(name)).transpose()?;
        let left_out = self.left_out(&table, label, weight)?;
        let scans = self.wishes(&table)?.into_iter().filter(|(k, _)| !left_out.contains(k)).collect();
        let survey = Survey { scans, familiar: vec![false; table.header.len()], rows: 0 };
        Ok(Begun { table, label, groups, survey })
    }

    /// The columns that are no features.
    fn left_out(&self, table: &Table, label: usize, weight: Option<usize>) -> Result<HashSet<usize>, Error> {
        let dropped = self.drop.iter().map(|name| table.find(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(dropped.into_iter().chain([label]).chain(weight).collect())
    }

    /// What each column is to be.
    fn wishes(&self, table: &Table) -> Result<Vec<(usize, Scan)>, Error> {
        let mut wishes = vec![Wish::None; table.header.len()];
        let said = [(&self.categorical, Wish::Categories), (&self.log, Wish::Logarithms), (&self.numeric, Wish::Numbers)];
        for (names, wish) in said {
            for name in names {
                let k = table.find(name)?;
                let before = std::mem::replace(&mut wishes[k], wish);
                if before == Wish::Categories {
                    return Err(table.wrong(k, "it cannot hold numbers and categories at once"));
                }
                if before == Wish::Logarithms {
                    // A logarithm is one of a number in any case.
                    wishes[k] = Wish::Logarithms;
                }
            }
        }
        Ok(wishes.into_iter().map(|wish| Scan::new(wish, self.decimal)).enumerate().collect())
    }

    /// The different values of some columns.
    fn categories(
        &self,
        input: &Input,
        columns: impl Iterator<Item = usize>,
        sharing: Sharing,
    ) -> Result<HashMap<usize, Categories>, Error> {
        let none: HashMap<usize, Categories> = columns.map(|k| (k, Categories::default())).collect();
        let mut here: HashMap<usize, Categories> = none.keys().map(|&k| (k, Categories::default())).collect();
        let read = Table::open(input, self.format).and_then(|mut table| {
            while table.advance()? {
                here.iter_mut().for_each(|(&k, categories)| categories.add(table.field(k)));
            }
            Ok(here)
        });
        in_turns(sharing.parts(), none, |mut all| {
            read?.into_iter().for_each(|(k, here)| all.entry(k).or_default().extend(here));
            Ok(all)
        })
    }

    fn labels(&self, table: &Table, k: usize, categories: &Categories) -> Result<Labels, Error> {
        let column = table.header[k].clone();
        let remedy = match (&self.label, table.header.len()) {
            (_, 1) => "; there is no other column, unless --delimiter says what separates them",
            (None, _) => "; it is the last column, and --label names another one",
            (Some(_), _) => "",
        };
        let refuse = |count: &str| {
            table.unusable(&format!("the label {column:?} has {count}, but logistic regression needs exactly two{remedy}"))
        };
        let values = categories.known().ok_or_else(|| refuse("very many different values"))?;
        let [a, b] = &values[..] else {
            return Err(refuse(&match &values[..] {
                [only] => format!("only one value, {only:?}"),
                all => {
                    let some: Vec<String> = all.iter().take(3).map(|value| format!("{value:?}")).collect();
                    let more = if all.len() > some.len() { " and others" } else { "" };
                    format!("{}, {}{more}", count_of(all.len(), "different value"), some.join(", "))
                }
            }));
        };
        let swapped = match &self.positive {
            None => self.decimal.number(a).zip(self.decimal.number(b)).is_some_and(|(a, b)| a > b),
            Some(positive) if positive == a => true,
            Some(positive) if positive == b => false,
            Some(positive) => {
                let message = format!("the label {column:?} is {a:?} or {b:?}, but never {positive:?}");
                return Err(table.unusable(&message));
            }
        };
        let (negative, positive) = if swapped { (b.clone(), a.clone()) } else { (a.clone(), b.clone()) };
        Ok(Labels { column, negative, positive })
    }
}

/// Refuses a table whose first row is data rather than names. A name hardly ever stands among the values of its own column; the columns
/// of a table without names may well be counted.
fn notice_missing_header(table: &Table, familiar: &[bool]) -> Result<(), Error> {
    let number = |name: &String| Decimal::Point.number(name);
    let numbers: Vec<f64> = table.header.iter().filter_map(number).collect();
    let counted = numbers.windows(2).all(|pair| pair[1] - pair[0] == 1.0);
    let known = familiar.iter().filter(|familiar| **familiar).count();
    let all_numbers = numbers.len() == table.header.len() && !counted;
    match all_numbers || (known > 0 && (!numbers.is_empty() || 2 * known >= table.header.len().max(3))) {
        true => {
            let k = familiar.iter().position(|familiar| *familiar).unwrap_or(0);
            let message = "the first line looks like data, not like names of columns: --header no calls the columns c1, c2, ..., and \
                           --header yes insists on names";
            Err(table.wrong_at(0, k, message))
        }
        false => Ok(()),
    }
}

fn grouping(table: &Table, k: usize, categories: &Categories) -> Result<Groups, Error> {
    let column = table.header[k].clone();
    match categories.known() {
        Some(values) if values.len() >= 2 => Ok((column, values)),
        Some(_) => Err(table.unusable(&format!("the column {column:?} has one value only, so there are no groups"))),
        None => Err(table.unusable(&format!("the column {column:?} has too many different values to be groups"))),
    }
}

/// The rows of a table, or of a part of it.
struct Encoded<'a> {
    table: Table<'a>,
    encoder: Encoder<'a>,
    /// Where columns of groups are, and for each of them the rows in no group.
    places: Vec<usize>,
    outsiders: Vec<Strangers>,
    all: Distribution<'a>,
}

/// The last reading, with an encoding that is known.
pub(crate) fn read_encoded(
    input: &Input,
    format: Format,
    encoding: &Encoding,
    roles: Roles,
    sharing: Sharing,
) -> Result<DataSet, Error> {
    let read = encoded(input, format, encoding, &roles, sharing);
    // What is strange in all parts, one after the other.
    let strangers = in_turns(sharing.parts(), Vec::new(), |mut so_far: Vec<Strangers>| {
        let Encoded { encoder, outsiders, .. } = read.as_ref().map_err(|_| Error::Elsewhere)?;
        let here = encoder.strangers.iter().chain(outsiders);
        so_far.resize_with(encoder.strangers.len() + outsiders.len(), Strangers::default);
        so_far.iter_mut().zip(here).for_each(|(so_far, here)| so_far.extend(here));
        Ok(so_far)
    });
    let Encoded { table, mut encoder, places, all, .. } = read?;
    let (mut remarks, mut strangers) = (roles.remarks, strangers?);
    let outsiders = strangers.split_off(encoder.strangers.len());
    encoder.strangers = strangers;
    if sharing.tells() {
        remarks.extend(encoder.remarks(&table));
        remarks.extend(places.iter().zip(&outsiders).filter_map(|(&k, some)| some.remark(&table, k, "for no group")));
    }
    let (name, encoding, labels) = (input.name(), encoding.clone(), roles.labels.clone());
    all.finish(Facts { name, encoding, labels, turned: false, groups: roles.groups, remarks })
}

/// All rows, on their way to who has them.
fn encoded<'a>(
    input: &'a Input,
    format: Format,
    encoding: &'a Encoding,
    roles: &Roles,
    sharing: Sharing<'a>,
) -> Result<Encoded<'a>, Error> {
    let Roles { labels, groups: groupings, weight, decimal, rows, place, .. } = roles;
    let mut table = Table::open(input, format)?;
    let mut encoder = Encoder::new(&table, encoding)?;
    let label = table.find(&labels.column)?;
    let places = groupings.iter().map(|(column, _)| table.find(column)).collect::<Result<Vec<_>, _>>()?;
    let weight = weight.map(|name| table.find(name)).transpose()?;
    let shape = Shape { dense: encoding.dense(), groups: groupings.len(), weighted: weight.is_some() };
    let mut all = Distribution::new(shape, *rows, place, sharing)?;
    let mut outsiders = vec![Strangers::default(); places.len()];
    let mut groups = vec![None; places.len()];
    while table.advance()? {
        let features = encoder.encode(&table)?;
        let positive = match table.field(label) {
            field if field == labels.positive => true,
            field if field == labels.negative => false,
            field => {
                let expected = format!("the label is {field:?}, but must be {:?} or {:?}", labels.negative, labels.positive);
                return Err(table.wrong(label, &expected));
            }
        };
        for (((group, (_, values)), outsiders), &k) in groups.iter_mut().zip(groupings).zip(&mut outsiders).zip(&places) {
            let field = table.field(k);
            let found = values.binary_search_by(|value| value.as_str().cmp(field));
            if found.is_err() {
                outsiders.add(&table, k);
            }
            *group = found.ok().map(|group| group as u16);
        }
        let weight = weight.map(|k| {
            let value = decimal.number(table.field(k)).filter(|value| *value >= 0.0);
            let message = || table.wrong(k, &format!("the weight is {:?}, but must be a number from 0 on", table.field(k)));
            value.ok_or_else(message)
        });
        let (dense, sparse, weight) = (&features.dense[..], &features.sparse[..], weight.transpose()?);
        all.push(Row { dense, sparse, positive, groups: &groups, weight })?;
    }
    if sharing.all_of(all.rows) == 0 {
        return Err(table.unusable("it has a header but no rows"));
    }
    Ok(Encoded { table, encoder, places, outsiders, all })
}
