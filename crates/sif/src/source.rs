/// One raw line of a SIF file: tabs expanded, no newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, counted from 1.
    pub number: usize,
    /// Its text.
    pub text: String,
}
