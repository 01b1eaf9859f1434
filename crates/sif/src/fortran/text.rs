//! Fortran text: letters that remember where they stood.

/// Where a letter stands in the file, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub line: usize,
    pub column: usize,
}

/// What is wrong with a text, and where; the name of the file is added at the end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub place: Place,
    pub message: String,
}

impl Fault {
    pub fn new(place: Place, message: impl Into<String>) -> Self {
        Fault { place, message: message.into() }
    }
}

pub(super) type Parsed<T> = Result<T, Fault>;

/// Expressions of more operations than this are refused: they would nest too deeply for the functions that walk them.
const MOST_OPERATIONS: usize = 2000;
/// Parentheses nested more deeply than this are refused, for the same reason.
const DEEPEST: usize = 60;

/// One statement or expression, in capitals and without its blanks: in fixed form a blank means nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    letters: Vec<(char, Place)>,
    next: usize,
    start: Place,
    end: Place,
    operations: usize,
    depth: usize,
}

impl Text {
    /// An empty text that begins at `start`.
    pub fn at(start: Place) -> Self {
        Text { start, end: start, ..Text::default() }
    }

    /// Adds the letters of a line, of which the first stands at `place`.
    pub fn push(&mut self, letters: &str, place: Place) {
        for (column, letter) in (place.column..).zip(letters.chars()) {
            if !letter.is_whitespace() {
                self.letters.push((letter.to_ascii_uppercase(), Place { line: place.line, column }));
                self.end = Place { line: place.line, column: column + 1 };
            }
        }
    }

    /// Cuts the text into statements at its semicolons.
    pub fn split(self) -> Vec<Text> {
        let mut statements = vec![Text::at(self.start)];
        for (letter, place) in self.letters {
            let Some(last) = statements.last_mut() else { break };
            if letter == ';' {
                statements.push(Text::at(place));
            } else {
                last.push(letter.encode_utf8(&mut [0; 4]), place);
            }
        }
        statements
    }

    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    pub fn at_end(&self) -> bool {
        self.next >= self.letters.len()
    }

    pub fn place(&self) -> Place {
        self.letters.get(self.next).map_or(self.end, |&(_, place)| place)
    }

    /// Where the text begins.
    pub fn start(&self) -> Place {
        self.letters.first().map_or(self.start, |&(_, place)| place)
    }

    pub fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    /// The letter `count` places further on.
    pub fn ahead(&self, count: usize) -> Option<char> {
        self.letters.get(self.next + count).map(|&(letter, _)| letter)
    }

    /// How far the reading is, to come back to with [`Text::rewind`].
    pub fn mark(&self) -> usize {
        self.next
    }

    pub fn rewind(&mut self, mark: usize) {
        self.next = mark;
    }

    /// Takes the next letter if it is this one.
    pub fn eat(&mut self, letter: char) -> bool {
        let found = self.peek() == Some(letter);
        self.next += usize::from(found);
        found
    }

    /// Takes the next letters if they spell this word; more letters may follow it.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = word.chars().enumerate().all(|(i, letter)| self.ahead(i) == Some(letter));
        self.next += if found { word.chars().count() } else { 0 };
        found
    }

    /// Takes the letters as long as they satisfy `wanted`.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(letter) = self.peek().filter(|&letter| wanted(letter)) {
            taken.push(letter);
            self.next += 1;
        }
        taken
    }

    pub fn expect(&mut self, letter: char) -> Parsed<()> {
        if self.eat(letter) { Ok(()) } else { Err(self.expected(&format!("`{letter}`"))) }
    }

    pub fn expect_end(&self) -> Parsed<()> {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the statement")) }
    }

    /// A Fortran name.
    pub fn name(&mut self) -> Parsed<Name> {
        let place = self.place();
        if !self.peek().is_some_and(|letter| letter.is_ascii_alphabetic()) {
            return Err(self.expected("a name"));
        }
        Ok(Name { text: self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_'), place })
    }

    /// The fault that something else was expected here.
    pub fn expected(&self, what: &str) -> Fault {
        let found = match self.peek() {
            Some(letter) => format!("found `{letter}`"),
            None => "the text ends here".into(),
        };
        Fault::new(self.place(), format!("expected {what}, but {found}"))
    }

    /// Counts an operation, and refuses the expression when there are too many.
    pub fn count_operation(&mut self) -> Parsed<()> {
        self.operations += 1;
        if self.operations <= MOST_OPERATIONS {
            return Ok(());
        }
        Err(Fault::new(self.place(), format!("the statement has more than {MOST_OPERATIONS} operations")))
    }

    /// Runs `inner` one level deeper, and refuses what is too deep.
    pub fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(Fault::new(self.place(), format!("the expression is nested more than {DEEPEST} levels deep")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

/// A name, in capitals, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name {
    pub text: String,
    pub place: Place,
}
