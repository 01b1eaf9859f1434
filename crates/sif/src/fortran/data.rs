//! DATA statements: what variables hold before an evaluation.

use super::assemble::{Address, Assembler, Storage, Variable};
use super::expression::{Expression, expression, primary, reference};
use super::text::{Fault, Name, Parsed, Place, Text};
use super::typing::{Kind, place_of};

/// More values than this are refused in one DATA statement.
const MOST_VALUES: usize = 100_000;

/// What is given values: a variable, an array, an element, or an implied DO over such things.
enum Item {
    One(Expression),
    Many(Vec<Item>, Name, [Expression; 3]),
}

impl Assembler<'_> {
    /// Follows `DATA names / values /, names / values / ...` (without the word DATA).
    pub fn data(&mut self, mut text: Text) -> Parsed<()> {
        while !text.at_end() {
            let place = text.place();
            let items = items(&mut text, '/')?;
            let mut cells = Vec::new();
            for item in &items {
                self.cells(item, &mut cells, place)?;
            }
            let values = self.values(&mut text)?;
            if cells.len() != values.len() {
                let message = format!("the DATA statement gives {} values to {} places", values.len(), cells.len());
                return Err(Fault::new(place, message));
            }
            for (cell, value) in cells.into_iter().zip(values) {
                self.image[cell as usize] = value;
            }
            text.eat(',');
        }
        Ok(())
    }

    /// Gives a variable, or all of an array, a value before the evaluation.
    pub fn initialise(&mut self, target: &Expression, value: f64) -> Parsed<()> {
        let mut cells = Vec::new();
        self.cells(&Item::One(target.clone()), &mut cells, place_of(target))?;
        for cell in cells {
            self.image[cell as usize] = value;
        }
        Ok(())
    }

    fn cells(&mut self, item: &Item, cells: &mut Vec<u32>, place: Place) -> Parsed<()> {
        if cells.len() > MOST_VALUES {
            return Err(Fault::new(place, format!("the DATA statement has more than {MOST_VALUES} values")));
        }
        match item {
            Item::Many(items, index, bounds) => self.implied_do(items, index, bounds, cells, place),
            Item::One(Expression::Name(name)) => {
                let variable = self.declared(name, true)?;
                let Storage::Cell(first) = variable.storage else { return Err(not_local(name)) };
                let size =
                    self.size(&variable.dimensions, name.place)?.filter(|&size| size > 0).ok_or_else(|| not_local(name))?;
                cells.extend((0..size as u32).map(|k| first + k));
                Ok(())
            }
            Item::One(Expression::Apply(name, indices)) => {
                let variable = self.declared(name, true)?;
                match self.element(name, &variable, Some(indices))? {
                    Address::Cell(cell) => cells.push(cell),
                    Address::Computed(_) | Address::Window(..) => return Err(not_local(name)),
                }
                Ok(())
            }
            Item::One(_) => Err(Fault::new(place, "expected the name of a variable")),
        }
    }

    fn implied_do(
        &mut self,
        items: &[Item],
        index: &Name,
        [first, last, step]: &[Expression; 3],
        cells: &mut Vec<u32>,
        place: Place,
    ) -> Parsed<()> {
        let first = self.constant_value(first, place)?;
        let last = self.constant_value(last, place)?;
        let step = self.constant_value(step, place)?;
        let turns = ((last - first + step) / step).trunc();
        // Every turn must give a value to something, so that the limit on values bounds the work.
        if !(1.0..=MOST_VALUES as f64).contains(&turns) || items.is_empty() {
            return Err(Fault::new(
                place,
                format!("the implied DO must have 1 to {MOST_VALUES} turns, and something to repeat"),
            ));
        }
        let hidden = self.scope.variables.remove(&index.text);
        for turn in 0..turns as usize {
            let value = Storage::Constant(first + step * turn as f64);
            let variable = Variable { kind: Kind::Integer, storage: value, dimensions: Vec::new() };
            self.scope.variables.insert(index.text.clone(), variable);
            for item in items {
                self.cells(item, cells, place)?;
            }
        }
        self.scope.variables.remove(&index.text);
        self.scope.variables.extend(hidden.map(|variable| (index.text.clone(), variable)));
        Ok(())
    }

    // value, count * value, ... /
    fn values(&mut self, text: &mut Text) -> Parsed<Vec<f64>> {
        let mut values = Vec::new();
        while !text.eat('/') {
            let place = text.place();
            let mut value = self.data_value(text)?;
            let mut count = 1;
            if text.eat('*') {
                count = value.clamp(0.0, 1e9) as usize;
                value = self.data_value(text)?;
            }
            if values.len() + count > MOST_VALUES {
                return Err(Fault::new(place, format!("the DATA statement has more than {MOST_VALUES} values")));
            }
            values.extend(std::iter::repeat_n(value, count));
            if !text.eat(',') && text.peek() != Some('/') {
                return Err(text.expected("`,` or `/`"));
            }
        }
        Ok(values)
    }

    fn data_value(&mut self, text: &mut Text) -> Parsed<f64> {
        let place = text.place();
        let negative = text.eat('-');
        if !negative {
            text.eat('+');
        }
        let value = primary(text)?;
        let value = self.constant_value(&value, place)?;
        Ok(if negative { -value } else { value })
    }
}

fn not_local(name: &Name) -> Fault {
    Fault::new(name.place, format!("{} cannot be given a value by DATA", name.text))
}

fn items(text: &mut Text, end: char) -> Parsed<Vec<Item>> {
    let mut found = Vec::new();
    loop {
        found.push(if text.eat('(') { text.nested(implied)? } else { Item::One(reference(text)?) });
        if text.eat(end) {
            return Ok(found);
        }
        text.expect(',')?;
    }
}

// items, index = first, last, step )
fn implied(text: &mut Text) -> Parsed<Item> {
    let mut inner = Vec::new();
    loop {
        if text.eat('(') {
            inner.push(text.nested(implied)?);
        } else {
            let mark = text.mark();
            let name = text.name()?;
            if text.eat('=') {
                let first = expression(text)?;
                text.expect(',')?;
                let last = expression(text)?;
                let step = if text.eat(',') { expression(text)? } else { Expression::one(name.place) };
                text.expect(')')?;
                return Ok(Item::Many(inner, name, [first, last, step]));
            }
            text.rewind(mark);
            inner.push(Item::One(reference(text)?));
        }
        text.expect(',')?;
    }
}
