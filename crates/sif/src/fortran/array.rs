//! The elements of arrays.

use super::assemble::{Address, Assembler, Storage, Variable};
use super::expression::Argument;
use super::machine::{Code, Window};
use super::text::{Fault, Name, Parsed, Place};
use super::typing::{Emitter, emit_number};
use super::unit::Dimension;
use tangor_expression::Binary;

/// Where an element lies among the others: `index - start`, which must stay below `size` when the size is known. An index is
/// the sum of the subscripts times their strides, and the start is the index of the first element.
struct Offset {
    index: u32,
    start: u32,
    size: Option<u32>,
}

impl Assembler<'_> {
    /// How many elements an array has; nothing when its last dimension is `*`.
    pub fn size(&mut self, dimensions: &[Dimension], place: Place) -> Parsed<Option<usize>> {
        let mut size = 1.0;
        for dimension in dimensions {
            let Some(high) = &dimension.high else { return Ok(None) };
            let low = self.constant_value(&dimension.low, place)?;
            size *= (self.constant_value(high, place)? - low + 1.0).max(0.0);
        }
        Ok(Some(size.min(1e12) as usize))
    }

    /// The address of an element: of the one that the arguments name, in an array assignment of the one whose turn it is.
    pub fn element(&mut self, name: &Name, variable: &Variable, arguments: Option<&[Argument]>) -> Parsed<Address> {
        let rank = variable.dimensions.len();
        if arguments.is_some_and(|arguments| arguments.len() != rank) {
            return Err(Fault::new(name.place, format!("array {} has {rank} dimensions", name.text)));
        }
        let offset = self.offset(name, &variable.dimensions, arguments)?;
        let known = |cell| self.known(cell);
        let (start, size) = (known(offset.start), offset.size.and_then(known));
        let base = match variable.storage {
            Storage::Cell(cell) => self.constant(f64::from(cell)),
            Storage::Pointer(pointer) => pointer,
            Storage::Constant(_) => return Err(Fault::new(name.place, format!("{} is not an array", name.text))),
        };
        let (Some(start), Some(size)) = (start, size) else { return Ok(self.computed(name, base, offset)) };
        match (self.known(offset.index), self.known(base)) {
            (Some(index), _) if !(start..start + size).contains(&index) => {
                Err(Fault::new(name.place, format!("an index of array {} lies outside of it", name.text)))
            }
            (Some(index), Some(base)) => Ok(Address::Cell((base + index - start) as u32)),
            _ => {
                self.windows.push(Window { base, start, end: start + size, line: name.place.line });
                Ok(Address::Window(offset.index, self.windows.len() as u32 - 1))
            }
        }
    }

    fn offset(&mut self, name: &Name, dimensions: &[Dimension], arguments: Option<&[Argument]>) -> Parsed<Offset> {
        let mut counters = self.scope.counters.clone().into_iter();
        let (mut index, mut start) = (self.constant(0.0), self.constant(0.0));
        let mut stride = self.constant(1.0);
        let mut bounded = true;
        for (k, dimension) in dimensions.iter().enumerate() {
            let low = emit_number(self, &dimension.low)?;
            let subscript = match arguments.map(|arguments| &arguments[k]) {
                Some(Argument::Value(subscript)) => emit_number(self, subscript)?,
                section => {
                    let counter = counters.next().ok_or_else(|| {
                        Fault::new(name.place, format!("expected one element of array {}, not several", name.text))
                    })?;
                    let first = match section {
                        Some(Argument::Section(Some(from), _)) => emit_number(self, from)?,
                        _ => low,
                    };
                    self.binary(Binary::Add, first, counter)
                }
            };
            index = self.add_product(index, subscript, stride);
            start = self.add_product(start, low, stride);
            match &dimension.high {
                Some(high) => {
                    let high = emit_number(self, high)?;
                    let span = self.binary(Binary::Subtract, high, low);
                    let one = self.constant(1.0);
                    let extent = self.binary(Binary::Add, span, one);
                    stride = self.binary(Binary::Multiply, stride, extent);
                }
                None => bounded = false,
            }
        }
        Ok(Offset { index, start, size: bounded.then_some(stride) })
    }

    fn add_product(&mut self, sum: u32, a: u32, b: u32) -> u32 {
        let product = self.binary(Binary::Multiply, a, b);
        self.binary(Binary::Add, sum, product)
    }

    // An address that is worked out, and checked, when the program runs.
    fn computed(&mut self, name: &Name, base: u32, offset: Offset) -> Address {
        let place = self.binary(Binary::Subtract, offset.index, offset.start);
        if let Some(size) = offset.size {
            self.push(Code::Bound(place, size, name.place.line as u32));
        }
        Address::Computed(self.binary(Binary::Add, base, place))
    }

    /// The cell that has the address of an element, for a subprogram.
    pub fn reference(&mut self, address: Address) -> u32 {
        match address {
            Address::Cell(cell) => self.constant(f64::from(cell)),
            Address::Computed(address) => address,
            Address::Window(index, window) => {
                let to = self.register();
                self.push(Code::Locate(to, index, window));
                to
            }
        }
    }

    /// The cell that has the value at an address.
    pub fn load(&mut self, address: Address) -> u32 {
        if let Address::Cell(cell) = address {
            return cell;
        }
        let to = self.register();
        self.push(match address {
            Address::Computed(address) => Code::Load(to, address),
            Address::Window(index, window) => Code::LoadElement(to, index, window),
            Address::Cell(cell) => Code::Copy(to, cell),
        });
        to
    }

    /// Writes the value of a statement to an address.
    pub fn store(&mut self, address: Address, from: u32) {
        if let (Address::Cell(cell), true) = (address, self.is_register(from)) {
            // The instruction that computed the value can as well leave it in the cell.
            if let Some(target) = self.scope.code.last_mut().and_then(Code::target).filter(|target| **target == from) {
                *target = cell;
                return;
            }
        }
        self.push(match address {
            Address::Cell(cell) => Code::Copy(cell, from),
            Address::Computed(address) => Code::Store(address, from),
            Address::Window(index, window) => Code::StoreElement(index, window, from),
        });
    }
}
