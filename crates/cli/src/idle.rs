//! Arguments that do nothing where they stand: a person who gave one believes otherwise, and is told.

use crate::screen;

/// Arguments that do nothing, each with the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle {
    found: Vec<(&'static str, String)>,
}

impl Idle {
    /// These arguments, as far as they were given, do nothing for this reason, if it holds.
    pub fn add(&mut self, holds: bool, reason: impl Into<String>, arguments: &[(&'static str, bool)]) {
        let reason = reason.into();
        let given = arguments.iter().filter(|(_, given)| *given && holds);
        self.found.extend(given.map(|(name, _)| (*name, reason.clone())));
    }

    /// Says so: one note for each reason.
    pub fn tell(&self) {
        self.sentences().iter().for_each(|sentence| screen::note(sentence));
    }

    fn sentences(&self) -> Vec<String> {
        let mut reasons: Vec<&String> = self.found.iter().map(|(_, reason)| reason).collect();
        reasons.dedup();
        let sentence = |reason: &String| {
            let names: Vec<&str> = self.found.iter().filter(|(_, other)| other == reason).map(|(name, _)| *name).collect();
            let verb = if names.len() == 1 { "does" } else { "do" };
            format!("{} {verb} nothing here: {reason}", names.join(", "))
        };
        reasons.into_iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_told_of() {
        let mut idle = Idle::default();
        idle.add(true, "all is exact", &[("--seed", true), ("--batch", false), ("--samples", true)]);
        idle.add(true, "there are no groups", &[("--compare", true)]);
        idle.add(false, "never", &[("--on", true)]);
        let expected = ["--seed, --samples do nothing here: all is exact", "--compare does nothing here: there are no groups"];
        assert_eq!(idle.sentences(), expected);
    }
}
