//! Files: how they are encoded, and what is said of wrong ones.

use std::path::PathBuf;

use tangor_learn::{Decimal, Encoding, Error, Format, Goal, Input, Kind, Model, Reading, Scale};
use tempfile::TempDir;

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The message about a file, its folder left out.
fn message(folder: &TempDir, error: Error) -> String {
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

const PEOPLE: &str = "\
age, city,gain,sex,rich
20,Rome,0,f,no
?,Oslo,100,m,yes
40,?,0,f,no
30,Rome,,m,yes
";

fn reading() -> Reading {
    Reading { drop: vec!["sex".into()], log: vec!["gain".into()], groups: vec!["sex".into()], ..Reading::default() }
}

#[test]
fn a_table_is_encoded_as_documented() {
    let folder = TempDir::new().unwrap();
    let data = reading().csv(&write(&folder, "people.csv", PEOPLE)).unwrap();
    let expected = ["age", "gain", "city=?", "city=Oslo", "city=Rome", "(intercept)"];
    assert_eq!(data.encoding.names(), expected);
    assert_eq!((data.labels.column.as_str(), data.labels.positive.as_str()), ("rich", "yes"));
    assert_eq!(data.positive, [false, true, false, true]);
    assert_eq!(data.groupings[0].values, ["f", "m"]);
    assert_eq!(data.groupings[0].members, [Some(0), Some(1), Some(0), Some(1)]);
    let Encoding::Columns(columns) = &data.encoding else { panic!("a table has columns") };
    let deviation = (200.0f64 / 3.0).sqrt();
    assert_eq!(columns[0].kind, Kind::Number(Scale { mean: 30.0, deviation, ..Scale::NONE }));

    // Each weight alone shows its column; the intercept adds nothing.
    let column = |j: usize| {
        let mut x = [0.0; 6];
        x[j] = 1.0;
        [0, 1, 2, 3].map(|i| data.features.dot(i, &x))
    };
    let age = (10.0 / deviation) as f32;
    assert_eq!(column(0), [f64::from(-age), 0.0, f64::from(age), 0.0]);
    let (mean, gain) = (101f64.ln() / 3.0, column(1));
    assert!((gain[1] / gain[0] - (101f64.ln() - mean) / -mean).abs() < 1e-6 && gain[3] == 0.0, "{gain:?}");
    assert_eq!([column(2), column(3), column(4)], [[0., 0., 1., 0.], [0., 1., 0., 0.], [1., 0., 0., 1.]]);
    assert_eq!(column(5), [1.0; 4]);
}

#[test]
fn numbers_as_labels_are_ordered_as_numbers() {
    let folder = TempDir::new().unwrap();
    let data = Reading::default().csv(&write(&folder, "numbers.csv", "a,b\n1,10\n2,9\n3,10\n")).unwrap();
    assert_eq!((data.labels.negative.as_str(), data.labels.positive.as_str()), ("9", "10"));
}

#[test]
fn a_constant_column_is_zero_and_does_no_harm() {
    let folder = TempDir::new().unwrap();
    let data = Reading::default().csv(&write(&folder, "constant.csv", "a,b\n0.1,0\n0.1,1\n0.1,0\n")).unwrap();
    assert!(data.features.dot(1, &[1.0, 0.0]).abs() < 1e-15);
}

#[test]
fn wrong_tables_are_refused_with_file_line_and_column() {
    let many: String = (0..1002).map(|i| format!("name{},{}\n", i % 1001, i % 2)).collect();
    let drop = |name: &str| Reading { drop: vec![name.into()], ..Reading::default() };
    let log = |name: &str| Reading { log: vec![name.into()], ..Reading::default() };
    let group = |name: &str| Reading { groups: vec![name.into()], ..Reading::default() };
    let cases = [
        (String::new(), Reading::default(), "the file t.csv cannot be used: it is empty"),
        ("a,b\n".into(), Reading::default(), "the file t.csv cannot be used: it has a header but no rows"),
        ("a,a\n1,2\n".into(), Reading::default(), "t.csv:1: column \"a\": the header names this column twice"),
        ("a,b\n1,0\n1\n".into(), Reading::default(), "t.csv:3: the row has 1 field, but the header has 2"),
        ("a,b\n1,0\n1,?\n".into(), Reading::default(), "t.csv:3: column \"b\": the label is missing"),
        ("a,b\n1,0\n".into(), drop("c"), "the file t.csv cannot be used: it has no column \"c\"; its columns are a, b"),
        ("a,b\n1,0\nx,1\n".into(), log("a"), "t.csv:3: column \"a\": \"x\" is not a number, so it has no logarithm"),
        ("a,b\n1,0\n-1,1\n".into(), log("a"), "t.csv:3: column \"a\": log(1 + value) does not exist for -1"),
        (
            "a,b\n1e300,0\n-1e300,1\n".into(),
            Reading::default(),
            "t.csv:1: column \"a\": its numbers are too large to be standardised",
        ),
        (
            "a,b\n1,0\n1,1\n".into(),
            group("a"),
            "the file t.csv cannot be used: the column \"a\" has one value only, so there are no groups",
        ),
        (
            "a,b\n1,0\n2,1\n3,2\n".into(),
            Reading::default(),
            "the file t.csv cannot be used: the label \"b\" has 3 different values, \"0\", \"1\", \"2\", but logistic regression needs \
             exactly two; it is the last column, and --label names another one",
        ),
        (
            "a,b\r\n1,0\r\n\"2,1\r\n3,0\r\n".into(),
            Reading::default(),
            "t.csv:3: the row has 1 field, but the header has 2; a quotation mark in this line has its other one in a later line, or none",
        ),
        (
            format!("a,b\n{many}"),
            Reading::default(),
            "t.csv:2: column \"a\": it has texts such as \"name0\" and more than 1000 different values: leave it out (--id or --drop), or \
             make it numbers (--numeric)",
        ),
    ];
    let folder = TempDir::new().unwrap();
    for (text, reading, expected) in cases {
        let error = reading.csv(&write(&folder, "t.csv", &text)).unwrap_err();
        assert_eq!(message(&folder, error), expected);
    }
    let error = Reading::default().csv(folder.path().join("none.csv").as_path()).unwrap_err();
    assert!(message(&folder, error).starts_with("the file none.csv cannot be read: "));
    std::fs::write(folder.path().join("t.csv"), b"a,b\n1,0\n\xff,1\n").unwrap();
    let error = Reading::default().csv(folder.path().join("t.csv").as_path()).unwrap_err();
    assert_eq!(message(&folder, error), "t.csv:3: field 1 is not UTF-8 text; --encoding latin1 reads older files");
}

#[test]
fn a_sparse_file_is_read() {
    let folder = TempDir::new().unwrap();
    let data = Reading::default().libsvm(&write(&folder, "s.libsvm", "+1 1:0.5 3:2 # comment\n\n-1 2:1\n1\n")).unwrap();
    assert_eq!((data.rows(), data.features.weights()), (3, 4));
    assert_eq!(data.positive, [true, false, true]);
    let x = [1.0, 10.0, 100.0, 1000.0];
    assert_eq!([0, 1, 2].map(|i| data.features.dot(i, &x)), [1200.5, 1010.0, 1000.0]);
}

#[test]
fn wrong_sparse_files_are_refused_with_file_line_and_character() {
    let cases = [
        ("", "the file s.libsvm cannot be used: it has no rows"),
        ("1 1:2\n", "the file s.libsvm cannot be used: all of its labels are the same, but logistic regression needs two"),
        (
            "1\n2\n3\n",
            "the file s.libsvm cannot be used: it has more than two different labels, but logistic regression needs exactly two",
        ),
        ("1 1:2\nx 1:2\n", "s.libsvm:2: at character 1: the label \"x\" is not a number"),
        ("1 1:2 5\n", "s.libsvm:1: at character 7: \"5\" is not of the form index:value with an index from 1 on"),
        ("1 0:2\n", "s.libsvm:1: at character 3: \"0:2\" is not of the form index:value with an index from 1 on"),
        ("1 1:nan\n", "s.libsvm:1: at character 3: \"1:nan\" is not of the form index:value with an index from 1 on"),
        ("1 2:1 2:1\n", "s.libsvm:1: at character 7: index 2 comes after a larger or equal one"),
    ];
    let folder = TempDir::new().unwrap();
    for (text, expected) in cases {
        let error = Reading::default().libsvm(&write(&folder, "s.libsvm", text)).unwrap_err();
        assert_eq!(message(&folder, error), expected);
    }
    let error = reading().libsvm(&write(&folder, "s.libsvm", "1\n2\n")).unwrap_err();
    let expected =
        "the file s.libsvm cannot be used: a LIBSVM file has no column \"sex\": its features have numbers instead of names";
    assert_eq!(message(&folder, error), expected);
}

#[test]
fn a_saved_model_says_the_same_of_the_same_rows() {
    let folder = TempDir::new().unwrap();
    let people = write(&folder, "people.csv", PEOPLE);
    let data = reading().csv(&people).unwrap();
    let weights = vec![0.3, -0.2, 0.1, 0.7, -0.4, 0.05];
    let model = Model::new(&data, weights.clone(), &Goal::default(), 0.5, 0.95).unwrap();
    let path = folder.path().join("model.json");
    std::fs::write(&path, model.to_json().unwrap()).unwrap();
    let again = Model::read(&path).unwrap();
    assert_eq!(again, model);

    // Other columns in another order, an unknown city, and no label.
    let others = write(&folder, "others.csv", "gain,age,city,shoe\n0,20,Rome,42\n0,30,Paris,40\n");
    let mut probabilities = Vec::new();
    let taken = again.predict(&Input::from(&others), None, &["shoe".to_string()], |prediction| {
        assert_eq!(prediction.id, [if probabilities.is_empty() { "42" } else { "40" }]);
        probabilities.push((prediction.probability, prediction.label.to_string()));
        Ok::<(), Error>(())
    });
    let remarks = taken.unwrap();
    let told = remarks.iter().map(|remark| remark.replace(&format!("{}/", folder.path().display()), ""));
    let unknown =
        "others.csv:3: column \"city\": no row of the fit had the value \"Paris\"; it counts as none of the known ones";
    assert_eq!(told.collect::<Vec<_>>(), [unknown]);
    let p = 1.0 / (1.0 + (-data.features.dot(0, &weights)).exp());
    assert_eq!(probabilities[0], (p, "no".to_string()));
    assert_eq!(probabilities.len(), 2);

    let wrong = write(&folder, "wrong.csv", "gain,age,city\nmuch,20,Rome\n");
    let error = again.predict(&Input::from(&wrong), None, &[], |_| Ok::<(), Error>(())).unwrap_err();
    assert_eq!(message(&folder, error), "wrong.csv:2: column \"gain\": \"much\" is not a number");
    let wrong = write(&folder, "wrong.csv", "age,city,gain,sex,rich\n20,Rome,0,f,perhaps\n");
    let error = again.read_data(&wrong, None).unwrap_err();
    assert_eq!(
        message(&folder, error),
        "wrong.csv:2: column \"rich\": the label is \"perhaps\", but must be \"no\" or \"yes\""
    );
    std::fs::write(&path, "{}").unwrap();
    let said = message(&folder, Model::read(&path).unwrap_err());
    assert!(said.starts_with("the file model.json cannot be used: it is not a model: missing field"), "{said}");
}

fn columns(text: &str, reading: &Reading) -> Result<(Vec<String>, Vec<String>), Error> {
    let folder = TempDir::new().unwrap();
    let data = reading.csv(&write(&folder, "t.csv", text)).map_err(|error| match error {
        Error::Field { line, column, message, .. } => Error::Senseless(format!("{line}: {column}: {message}")),
        error => error,
    })?;
    let remarks = data.remarks.iter().map(|remark| remark.replace(&format!("{}/", folder.path().display()), ""));
    Ok((data.encoding.names(), remarks.collect()))
}

/// Ages of forty people, some of which are the same and one of which is something else, and a label.
fn ages(odd: &str) -> String {
    let row = |i: usize| format!("{},{}\n", if i == 16 { odd.to_string() } else { (20 + i % 35).to_string() }, i % 2);
    "age,rich\n".to_string() + &(0..40).map(row).collect::<String>()
}

#[test]
fn one_bad_cell_does_not_turn_numbers_into_categories() {
    let numbers = ["age", "(intercept)"];
    for (odd, remark) in
        [("unknown", None), ("\"1,000\"", None), ("null", None), ("inf", Some("inf")), ("forty", Some("forty"))]
    {
        let (names, remarks) = columns(&ages(odd), &Reading::default()).unwrap();
        assert_eq!(names, numbers, "{odd}");
        let expected = remark.map(|odd| {
            format!(
                "t.csv:18: column \"age\": \"{odd}\" is not a number: this cell is taken as missing; --categorical age makes every \
                 value a category"
            )
        });
        assert_eq!(remarks, expected.into_iter().collect::<Vec<_>>());
    }
    let all = Reading { categorical: vec!["age".into()], ..Reading::default() };
    let (names, remarks) = columns(&ages("forty"), &all).unwrap();
    assert_eq!((names.len(), names[0].as_str(), remarks.len()), (36, "age=20", 0));
}

#[test]
fn numbers_in_the_other_notation_are_noticed() {
    let (names, remarks) = columns("a;y\n1,5;0\n2,5;1\n", &Reading::default()).unwrap();
    assert_eq!(names, ["a=1,5", "a=2,5", "(intercept)"]);
    let noticed =
        "t.csv:2: column \"a\": \"1,5\" is a number with a decimal comma: every value is a category without --decimal-comma";
    assert_eq!(remarks, [noticed]);
    let comma = Reading { decimal: Decimal::Comma, ..Reading::default() };
    assert_eq!(columns("a;y\n1,5;0\n2,5;1\n", &comma).unwrap(), (vec!["a".to_string(), "(intercept)".to_string()], vec![]));
    let (_, remarks) = columns("a;y\n1.5;0\n2.5;1\n", &comma).unwrap();
    assert!(remarks.len() == 1 && remarks[0].contains("is a number with a decimal point"), "{remarks:?}");
    // What is given as a category is one.
    let category = Reading { categorical: vec!["a".into()], ..Reading::default() };
    assert!(columns("a;y\n1,5;0\n2,5;1\n", &category).unwrap().1.is_empty());
}

/// Forty people with a column that is made of the number of the row, and a label.
fn people(column: &str, value: impl Fn(usize) -> String) -> String {
    let row = |i: usize| format!("{},{},{}\n", value(i), i * i % 7, i % 2);
    format!("{column},size,rich\n") + &(0..40).map(row).collect::<String>()
}

#[test]
fn columns_that_only_say_which_row_is_which_are_noticed() {
    let told = |text: &str, reading: &Reading| columns(text, reading).unwrap();
    let numbers =
        "its whole numbers are all different, as if they only said which row is which; they are a feature unless --id";
    // A running number, and codes that are known by their name.
    for (name, text) in
        [("nr", people("nr", |i| (40 - i).to_string())), ("user_id", people("user_id", |i| (1000 * i + 7).to_string()))]
    {
        let (names, remarks) = told(&text, &Reading::default());
        assert_eq!(names, [name, "size", "(intercept)"]);
        assert_eq!(remarks, [format!("t.csv:1: column {name:?}: {numbers} {name} leaves them out")]);
        let dropped = Reading { drop: vec![name.into()], ..Reading::default() };
        assert_eq!(told(&text, &dropped), (vec!["size".to_string(), "(intercept)".to_string()], vec![]));
        let insisted = Reading { numeric: vec![name.into()], ..Reading::default() };
        assert!(told(&text, &insisted).1.is_empty());
    }
    // What is to be typed can be copied.
    let (_, remarks) = told(&people("User ID", |i| (3 * i).to_string()), &Reading::default());
    assert!(remarks[0].ends_with("unless --id 'User ID' leaves them out"), "{remarks:?}");
    // Measured numbers may all differ.
    assert!(told(&people("pay", |i| (1000 * i + 7).to_string()), &Reading::default()).1.is_empty());
    assert!(told(&people("id", |i| (i / 2).to_string()), &Reading::default()).1.is_empty());
}

#[test]
fn names_of_rows_are_no_categories() {
    let text = people("who", |i| format!("person {i}"));
    let (names, remarks) = columns(&text, &Reading::default()).unwrap();
    assert_eq!(names, ["size", "(intercept)"]);
    let noticed = "t.csv:1: column \"who\": its texts are all different, so they only say which row is which and are no feature; --id who \
                   repeats them in predictions, --categorical who makes every value a category";
    assert_eq!(remarks, [noticed]);
    let insisted = Reading { categorical: vec!["who".into()], ..Reading::default() };
    let (names, remarks) = columns(&text, &insisted).unwrap();
    assert_eq!((names.len(), remarks.len()), (42, 0));
    // One comes twice: 39 categories of 40 rows.
    let (names, remarks) = columns(&people("who", |i| format!("person {}", i.min(38))), &Reading::default()).unwrap();
    assert_eq!(names.len(), 41);
    let noticed = "t.csv:1: column \"who\": nearly all of its texts are different, and each of the 39 is a category with a weight of its \
                   own; --id who or --drop who leaves it out";
    assert_eq!(remarks, [noticed]);
    // Twenty different ones of forty are no more than categories.
    assert!(columns(&people("who", |i| format!("person {}", i / 2)), &Reading::default()).unwrap().1.is_empty());
    // Dates are told of, however few: those of other rows have no weight.
    let (names, remarks) = columns(&people("day", |i| format!("2024-03-{:02}", 1 + i % 9)), &Reading::default()).unwrap();
    assert_eq!(names.len(), 11);
    let noticed = "t.csv:1: column \"day\": it has dates, such as \"2024-03-01\", and each of the 9 is a category with a weight of its own, \
                   which no other date shares; --drop day leaves it out, and a column of numbers, as of days or years, would be a feature";
    assert_eq!(remarks, [noticed]);
    for (date, is_one) in
        [("3/4/2024", true), ("04.03.2024 17:30", true), ("2024-03-04T08:00", true), ("1-2-3", false), ("AB-1-2024", false)]
    {
        let text = people("day", |i| if i % 2 == 0 { date.into() } else { "none yet".into() });
        assert_eq!(columns(&text, &Reading::default()).unwrap().1.len(), usize::from(is_one), "{date}");
    }
    let insisted = Reading { categorical: vec!["day".into()], ..Reading::default() };
    assert!(columns(&people("day", |i| format!("2024-03-{:02}", 1 + i % 9)), &insisted).unwrap().1.is_empty());
    // Numbers with a decimal comma are no names.
    let (names, remarks) = columns(&people("a", |i| format!("\"{i},5\"")), &Reading::default()).unwrap();
    assert_eq!(names.len(), 42);
    assert!(remarks[0].contains("is a number with a decimal comma"), "{remarks:?}");
}

#[test]
fn numbers_and_texts_in_one_column_are_categories_unless_told() {
    let text = "code,y\n1,0\nA2,1\n3,0\nB4,1\n";
    let (names, remarks) = columns(text, &Reading::default()).unwrap();
    assert_eq!(names, ["code=1", "code=3", "code=A2", "code=B4", "(intercept)"]);
    assert_eq!(
        remarks,
        [
            "t.csv:3: column \"code\": \"A2\" is not a number, so every value is a category; --numeric code takes all that is no number as \
         missing"
        ]
    );
    let numeric = Reading { numeric: vec!["code".into()], ..Reading::default() };
    let (names, remarks) = columns(text, &numeric).unwrap();
    assert_eq!(names, ["code", "(intercept)"]);
    assert_eq!(remarks, ["t.csv:3: column \"code\": \"A2\" is not a number: this and one more cell are taken as missing"]);
    let both = Reading { categorical: vec!["code".into()], ..numeric.clone() };
    assert_eq!(columns(text, &both).unwrap_err().to_string(), "1: code: it cannot hold numbers and categories at once");
    let none = columns("code,y\na,0\nb,1\n", &numeric).unwrap_err();
    assert_eq!(none.to_string(), "2: code: none of its cells is a number");
}

#[test]
fn the_positive_class_can_be_chosen() {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "t.csv", "a,b\n1,no\n2,yes\n");
    let reading = |positive: &str| Reading { positive: Some(positive.into()), ..Reading::default() };
    assert_eq!(reading("no").csv(&path).unwrap().positive, [true, false]);
    assert_eq!(reading("yes").csv(&path).unwrap().positive, [false, true]);
    let message = message(&folder, reading("perhaps").csv(&path).unwrap_err());
    assert_eq!(message, "the file t.csv cannot be used: the label \"b\" is \"no\" or \"yes\", but never \"perhaps\"");
    let sparse = write(&folder, "t.libsvm", "1 1:2\n-1 1:3\n");
    assert_eq!(reading("-1").libsvm(&sparse).unwrap().positive, [false, true]);
    assert!(reading("7").libsvm(&sparse).unwrap_err().to_string().contains("its labels are -1 and 1, but never \"7\""));
}

#[test]
fn separators_decimal_commas_and_missing_headers_are_understood() {
    let comma = Reading { decimal: Decimal::Comma, ..Reading::default() };
    assert_eq!(columns("a;b\n1,5;0\n1.000,5;1\n", &comma).unwrap(), (vec!["a".into(), "(intercept)".into()], vec![]));
    assert_eq!(columns("a\tb\n1\t0\n2\t1\n", &Reading::default()).unwrap().0, ["a", "(intercept)"]);
    let given = Reading { format: Format { delimiter: Some(b':'), header: None }, ..Reading::default() };
    assert_eq!(columns("a:b\n1:0\n2:1\n", &given).unwrap().0, ["a", "(intercept)"]);
    let hint = "the first line looks like data, not like names of columns: --header no calls the columns c1, c2, ..., and --header yes \
                insists on names";
    for text in ["3.5,Rome,0\n4,Oslo,1\n5,Rome,0\n6,Rome,1\n", "3,7\n4,8\n5,7\n", "Rome,no\nOslo,yes\nRome,no\n"] {
        let refused = columns(text, &Reading::default()).unwrap_err().to_string();
        assert!(refused.ends_with(hint), "{refused}");
        let absent = Reading { format: Format { delimiter: None, header: Some(false) }, ..Reading::default() };
        assert!(columns(text, &absent).unwrap().0[0].starts_with("c1"));
    }
    // Numbered columns are names, and so is a year.
    for text in ["0,1,2\n5,6,0\n7,8,1\n", "town,2019,2020\nRome,3,0\nOslo,4,1\n"] {
        assert!(columns(text, &Reading::default()).is_ok(), "{text}");
    }
}

#[test]
fn columns_without_a_name_are_called_by_their_places() {
    let plain = Reading::default();
    let row = |i: usize| format!("{i},{},{}\n", i % 3, i % 2);
    let text: String = (0..25).map(row).collect();
    let (names, remarks) = columns(&format!(",a,b\n{text}"), &plain).unwrap();
    assert_eq!(names, ["c1", "a", "(intercept)"]);
    assert!(remarks[0].contains("column \"c1\": its whole numbers are all different") && remarks[0].contains("--id c1 leaves"));
    let refused = |text: &str, reading: &Reading| columns(text, reading).unwrap_err().to_string();
    assert!(refused("a,b,\n1,0,\n2,1,\n", &plain).ends_with("2: c3: the label is missing"));
    // What looks like one column is a table with another separator.
    assert!(refused("a:b\n1:0\n2:1\n3:1\n", &plain).ends_with("unless --delimiter says what separates them"));
    let named = Reading { label: Some("a".into()), ..Reading::default() };
    assert!(refused("a,b\n1,0\n2,1\n3,1\n", &named).ends_with("needs exactly two"));
}

#[test]
fn amounts_and_shares_are_numbers() {
    let (names, remarks) = columns("pay,share,b\n$1,10%,0\n$2.50,20%,1\n", &Reading::default()).unwrap();
    assert_eq!((names, remarks), (vec!["pay".to_string(), "share".into(), "(intercept)".into()], vec![]));
}

#[test]
fn lines_are_right_after_empty_lines_and_quoted_ones() {
    let folder = TempDir::new().unwrap();
    let lines = |bytes: &[u8], reading: &Reading| {
        std::fs::write(folder.path().join("t.csv"), bytes).unwrap();
        message(&folder, reading.csv(folder.path().join("t.csv").as_path()).unwrap_err())
    };
    let plain = Reading::default();
    assert!(lines(b"a,b\r\n1,0\r\n\r\n\r\n1,?\r\n", &plain).starts_with("t.csv:5: column \"b\": the label is missing"));
    assert!(lines(b"a,b\n\"x\ny\",0\n1\n", &plain).starts_with("t.csv:4: the row has 1 field"));
    assert!(lines(b"a,b\n1,0\n\n\"x\n\xe9\",1\n", &plain).starts_with("t.csv:5: field 1 is not UTF-8 text"));
    assert!(lines(b"\xff\xfea\0,\0b\0", &plain).ends_with("it is UTF-16 text: save it as UTF-8"));
    let path = folder.path().join("t.csv");
    std::fs::write(&path, b"town,b\nOrl\xe9ans,0\nRome,1\n").unwrap();
    let data = plain.csv(Input::from(&path).latin1(true)).unwrap();
    assert_eq!(data.encoding.names()[0], "town=Orléans");
}

#[test]
fn weights_of_rows_are_read_and_refused() {
    let folder = TempDir::new().unwrap();
    let reading = Reading { weight: Some("w".into()), ..Reading::default() };
    let data = reading.csv(&write(&folder, "t.csv", "a,w,b\n1,3,0\n2,1,1\n")).unwrap();
    assert_eq!((data.weights.unwrap(), data.encoding.names()), (vec![1.5, 0.5], vec!["a".to_string(), "(intercept)".into()]));
    let wrong = message(&folder, reading.csv(&write(&folder, "t.csv", "a,w,b\n1,3,0\n2,-1,1\n")).unwrap_err());
    assert_eq!(wrong, "t.csv:3: column \"w\": the weight is \"-1\", but must be a number from 0 on");
}

#[test]
fn reading_is_linear_in_the_columns() {
    // Names that are looked up one by one in a list would take minutes.
    const COLUMNS: usize = 100_000;
    let row = |cell: &dyn Fn(usize) -> String, last: &str| {
        (0..COLUMNS).map(cell).chain([last.to_string()]).collect::<Vec<_>>().join(",") + "\n"
    };
    let rows = (0..4).map(|i| row(&|j| (i * j % 7).to_string(), &(i % 2).to_string()));
    let text = row(&|j| format!("x{j}"), "y") + &rows.collect::<String>();
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "wide.csv", &text);
    let started = std::time::Instant::now();
    let data = Reading { drop: (0..50_000).map(|j| format!("x{j}")).collect(), ..Reading::default() }.csv(&path).unwrap();
    assert_eq!(data.features.weights(), COLUMNS / 2 + 1);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_parquet_file_names_what_is_missing() {
    let folder = TempDir::new().unwrap();
    let error = Reading::default().csv(&write(&folder, "people.parquet", "PAR1...PAR1")).unwrap_err();
    let expected = "the file people.parquet cannot be used: it is a Parquet file, and this program was built without them: cargo build --features \
                    parquet reads them, or save the table as CSV";
    assert_eq!(message(&folder, error), expected);
}
