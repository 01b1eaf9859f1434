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
}
