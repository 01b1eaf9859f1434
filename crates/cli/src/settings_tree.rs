//! Every setting with its path, default, meaning and choices, read from the schema that the solver's settings carry with them:
//! documentation that cannot drift away from the code.

use schemars::schema_for;
use serde_json::{Map, Value};
use tangor_solver::Settings;

/// Settings that belong together.
pub struct Group {
    /// The path of the group, such as `merit`.
    pub path: String,
    /// What it is about.
    pub meaning: String,
    /// Its settings.
    pub settings: Vec<Setting>,
}

/// One setting.
pub struct Setting {
    /// Its path, such as `merit.rho0`.
    pub path: String,
    /// Its default; null for none.
    pub default: Value,
    /// What it means, its range and where its default comes from.
    pub meaning: String,
    /// What it may be, when that is a list.
    pub choices: Vec<Choice>,
}

/// One of the values that a setting may have.
pub struct Choice {
    /// How it is written.
    pub form: String,
    /// What it means.
    pub meaning: String,
}

/// All settings in the order of the code.
pub fn groups() -> Vec<Group> {
    let schema = schema_for!(Settings).to_value();
    let reader = Reader { definitions: schema.get("$defs").cloned().unwrap_or_default() };
    properties(&schema).map(|(name, schema)| reader.group(name, schema)).collect()
}

/// The paths of all settings.
pub fn paths() -> Vec<String> {
    groups().into_iter().flat_map(|group| group.settings).map(|setting| setting.path).collect()
}

/// The path of all settings at once, which is no field of them.
pub const PRESET: &str = "preset";

/// What there is to know of presets, told as a setting is.
pub fn preset() -> Group {
    let choice = |form: &str, meaning: &str| Choice { form: form.to_string(), meaning: meaning.to_string() };
    let meaning = "Sets all settings at once, but tolerances, limits on work and the seed. It comes after a file of `--config`, in which it is no \
                   field, and before all that is set one by one. Default: default.";
    let choices = vec![
        choice("default", "The defaults, as `tangor options` shows them."),
        choice(
            "paper",
            "The paper's method as it is written; docs/algorithm.md says in which settings the defaults depart from it.",
        ),
    ];
    let setting = Setting { path: PRESET.to_string(), default: "default".into(), meaning: meaning.to_string(), choices };
    Group {
        path: PRESET.to_string(),
        meaning: "Settings that belong together, under one name.".to_string(),
        settings: vec![setting],
    }
}

/// A value as TOML has it, which is also how `--set` takes it.
pub fn toml_value(value: &Value) -> String {
    match value {
        Value::String(word) => format!("\"{word}\""),
        Value::Number(number) if number.is_f64() => format!("{:?}", number.as_f64().unwrap_or_default()),
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name} = {}", toml_value(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// A default for people: words without quotes, and `none` for what is not set.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::Null => "none".to_string(),
        Value::String(word) => word.clone(),
        other => toml_value(other),
    }
}

struct Reader {
    definitions: Value,
}

impl Reader {
    fn group(&self, name: &str, schema: &Value) -> Group {
        let definition = self.resolved(schema);
        let settings = match definition.get("properties") {
            Some(_) => self.leaves(name, definition),
            None => vec![self.setting(name.to_string(), schema)],
        };
        Group { path: name.to_string(), meaning: text(definition, "description"), settings }
    }

    /// The settings under a path, however deep they lie.
    fn leaves(&self, path: &str, definition: &Value) -> Vec<Setting> {
        let mut leaves = Vec::new();
        for (name, schema) in properties(definition) {
            let path = format!("{path}.{name}");
            let definition = self.resolved(schema);
            match definition.get("properties") {
                Some(_) => leaves.extend(self.leaves(&path, definition)),
                None => leaves.push(self.setting(path, schema)),
            }
        }
        leaves
    }

    fn setting(&self, path: String, schema: &Value) -> Setting {
        let alternatives = self.resolved(schema).get("oneOf").and_then(Value::as_array);
        let choices = alternatives.into_iter().flatten().flat_map(choices).collect();
        let default = schema.get("default").cloned().unwrap_or_default();
        Setting { path, default, meaning: text(schema, "description"), choices }
    }

    /// The definition that a schema refers to, or the schema itself.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        name.and_then(|name| self.definitions.get(name)).unwrap_or(schema)
    }
}

/// The choices of one alternative: words without a description of their own come as a list, all others one by one.
fn choices(alternative: &Value) -> Vec<Choice> {
    let meaning = text(alternative, "description");
    if let Some(words) = alternative.get("enum").and_then(Value::as_array) {
        return words.iter().map(|word| Choice { form: shown_value(word), meaning: meaning.clone() }).collect();
    }
    if let Some(word) = alternative.get("const") {
        return vec![Choice { form: shown_value(word), meaning }];
    }
    let with_fields = properties(alternative).map(|(name, inner)| {
        let fields: Vec<String> = properties(inner).map(|(field, _)| format!("{field} = ...")).collect();
        let remarks: Vec<String> =
            properties(inner).map(|(field, of)| format!("`{field}`: {}", text(of, "description"))).collect();
        let meaning = format!("{meaning} {}", remarks.join("; "));
        Choice { form: format!("{{{name} = {{{}}}}}", fields.join(", ")), meaning: meaning.trim().to_string() }
    });
    with_fields.collect()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields: Option<&Map<String, Value>> = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

fn text(schema: &Value, key: &str) -> String {
    schema.get(key).and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_settings_is_found_with_its_default() {
        fn leaves(path: &str, value: &Value, known: &[String], found: &mut Vec<(String, Value)>) {
            match value {
                Value::Object(fields) if !known.contains(&path.to_string()) => {
                    for (name, value) in fields {
                        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                        leaves(&path, value, known, found);
                    }
                }
                leaf => found.push((path.to_string(), leaf.clone())),
            }
        }
        let mut expected = Vec::new();
        let defaults = serde_json::to_value(Settings::default()).unwrap();
        leaves("", &defaults, &paths(), &mut expected);
        let settings = groups().into_iter().flat_map(|group| group.settings);
        let found: Vec<(String, Value)> = settings.map(|setting| (setting.path, setting.default)).collect();
        assert_eq!(found, expected);
        assert!(found.len() > 20);
    }

    #[test]
    fn every_setting_and_every_choice_is_explained() {
        for group in groups() {
            assert!(!group.meaning.is_empty(), "{} is not explained", group.path);
            for setting in group.settings {
                assert!(!setting.meaning.is_empty(), "{} is not explained", setting.path);
                for choice in setting.choices {
                    assert!(!choice.meaning.is_empty(), "{} of {} is not explained", choice.form, setting.path);
                }
            }
        }
    }

    /// What a number may be: the ends, and whether they belong to it.
    #[derive(Debug, PartialEq)]
    struct Range {
        low: (f64, bool),
        high: Option<(f64, bool)>,
    }

    /// The number that a text begins with, or the default of the setting that it names.
    fn number(text: &str) -> Option<f64> {
        if let Some(path) = text.strip_prefix('`').and_then(|rest| rest.split('`').next()) {
            let settings = groups().into_iter().flat_map(|group| group.settings);
            return settings.into_iter().find(|setting| setting.path == path)?.default.as_f64();
        }
        let digits: String = text.chars().take_while(|c| "0123456789.e-/".contains(*c)).collect();
        let digits = digits.trim_end_matches('.');
        match digits.split_once('/') {
            Some((above, below)) => Some(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?),
            None => digits.parse().ok(),
        }
    }

    /// The range that a meaning names, as in `> 0`, `>= 1`, `in (0, 1/2)` or `In [0, 1)`.
    fn range(meaning: &str) -> Option<Range> {
        for (sign, belongs) in [("> ", false), (">= ", true)] {
            let starts = meaning.match_indices(sign).map(|(at, _)| at).filter(|at| *at == 0 || meaning[..*at].ends_with(' '));
            if let Some(low) = starts.filter_map(|at| number(&meaning[at + sign.len()..])).next() {
                return Some(Range { low: (low, belongs), high: None });
            }
        }
        let at = ["In [", "in [", "In (", "in ("].iter().filter_map(|start| meaning.find(start)).min()?;
        let (open, rest) = (meaning.as_bytes()[at + 3], &meaning[at + 4..]);
        let end = rest.find([']', ')'])?;
        let (low, high) = rest[..end].split_once(", ")?;
        Some(Range { low: (number(low)?, open == b'['), high: Some((number(high)?, rest.as_bytes()[end] == b']')) })
    }

    /// Whether a value is taken; `form` says how it is set.
    fn takes(form: &dyn Fn(&str) -> (String, String), value: f64) -> bool {
        let text = if value.abs() < 1e15 && value == value.trunc() { format!("{value:.0}") } else { format!("{value:e}") };
        let (path, text) = form(&text);
        Settings::default().set(&path, &text).is_ok()
    }

    fn check(name: &str, meaning: &str, form: &dyn Fn(&str) -> (String, String)) {
        let is_whole = ![0.25, 0.75, 1.5].iter().any(|part| takes(form, *part));
        for wrong in ["nan", "inf", "-inf"] {
            let (path, text) = form(wrong);
            assert!(Settings::default().set(&path, &text).is_err(), "{name} takes {wrong}");
        }
        let Some(Range { low, high }) = range(meaning) else {
            // Nothing is said of a range: then there is none but that of its type.
            assert!(is_whole && takes(form, 0.0) && takes(form, 1e9), "{name} has a range that nobody tells of: {meaning}");
            return;
        };
        let near = if is_whole { 1.0 } else { 1e-9 * low.0.abs().max(1e-3) };
        assert_eq!(takes(form, low.0), low.1, "{name} at {}: {meaning}", low.0);
        assert!(takes(form, low.0 + near), "{name} refuses {}: {meaning}", low.0 + near);
        assert!(!takes(form, low.0 - near), "{name} takes {}: {meaning}", low.0 - near);
        match high {
            None => assert!(takes(form, low.0.max(1.0) * 1e3), "{name} has an end that nobody tells of: {meaning}"),
            Some((high, belongs)) => {
                let near = if is_whole { 1.0 } else { 1e-9 };
                assert_eq!(takes(form, high), belongs, "{name} at {high}: {meaning}");
                assert!(takes(form, high - near) && !takes(form, high + near), "{name} around {high}: {meaning}");
            }
        }
    }

    #[test]
    fn ranges_are_read() {
        let ends = |low, high| Some(Range { low, high });
        assert_eq!(range("The weight `mu |v|`; > 0. Default: 1e-2."), ends((0.0, false), None));
        assert_eq!(range("Samples at the start; >= 1. None: 16"), ends((1.0, true), None));
        assert_eq!(range("How much; in (0, 1/2). Default: 0.4."), ends((0.0, false), Some((0.5, false))));
        assert_eq!(range("A share. In [1, 1e12]. Default: 2000."), ends((1.0, true), Some((1e12, true))));
        assert_eq!(range("Largest entry; >= `metric.smallest`. Default: 1e10."), ends((1e-8, true), None));
        assert_eq!(range("Most iterations. Default: 3000, with `|v| <= |h|`."), None);
    }

    #[test]
    fn every_number_has_the_range_that_its_meaning_tells() {
        let mut checked = 0;
        for setting in groups().into_iter().flat_map(|group| group.settings) {
            if setting.default.is_number() || setting.default.is_null() {
                check(&setting.path, &setting.meaning, &|value| (setting.path.clone(), value.to_string()));
                checked += 1;
            }
            // Fields of choices: `{sqp = {alpha = ...}}` with "`alpha`: > 0"; all others are 1 meanwhile.
            for choice in setting.choices.iter().filter(|choice| choice.form.contains("...")) {
                let words = choice.form.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                let named = words.filter_map(|word| Some((word, choice.meaning.find(&format!("`{word}`: "))?)));
                let fields: Vec<(&str, usize)> =
                    named.filter(|(word, _)| choice.form.contains(&format!("{word} = ..."))).collect();
                assert_eq!(fields.len(), choice.form.matches("...").count(), "{}: {}", choice.form, choice.meaning);
                for (k, &(field, start)) in fields.iter().enumerate() {
                    let end = fields.get(k + 1).map_or(choice.meaning.len(), |next| next.1);
                    let meaning = &choice.meaning[start + field.len() + 4..end];
                    let form = |value: &str| {
                        let one = choice.form.replace(&format!("{field} = ..."), &format!("{field} = {value}"));
                        (setting.path.clone(), one.replace("...", "1"))
                    };
                    check(&format!("{}, {}", setting.path, choice.form), meaning, &form);
                    checked += 1;
                }
            }
        }
        assert!(checked > 50, "{checked}");
    }
}
