//! An oracle for the tests: `minimise sum (x_i - 1)^2 subject to sum x_i = n / 2`, which behaves or misbehaves as its argument says.
//!
//! Arguments: what it does, `text` or `binary`, and `n`. A sampled gradient has `draw mod 7 - 3` added to each entry.

use std::env;
use std::io::{BufRead, Read, Write, stdin, stdout};
use std::process::{Command, exit};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

struct Oracle {
    behaviour: String,
    binary: bool,
    n: usize,
}

fn main() {
    let mut arguments = env::args().skip(1);
    let behaviour = arguments.next().unwrap_or_default();
    let binary = arguments.next().as_deref() == Some("binary");
    let n = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(4);
    let oracle = Oracle { behaviour, binary, n };
    let mut greeting = String::new();
    match oracle.behaviour.as_str() {
        "crash at start" => fail("the model file is missing"),
        "abort at start" => std::process::abort(),
        "closed at start" => return,
        "deaf" => rest(),
        _ => {}
    }
    stdin().lock().read_line(&mut greeting).expect("a greeting");
    assert_eq!(greeting, "{\"tangor\":1,\"payloads\":[\"binary\",\"text\"]}\n");
    oracle.introduce();
    if oracle.behaviour == "deaf later" {
        rest();
    }
    while let Some((id, function, draws, x)) = oracle.question() {
        oracle.answer(id, &function, &draws, &x);
    }
    if oracle.behaviour == "stubborn" {
        rest();
    }
}

impl Oracle {
    fn introduce(&self) {
        let n = self.n;
        let mut introduction = json!({
            "tangor": 1, "payload": if self.binary { "binary" } else { "text" }, "name": "halves", "n": n, "m": 1, "objective": "value",
            "x0": vec![0.0; n], "x_lower": vec![-10.0; n], "x_upper": vec![Value::Null; n], "c_lower": [n as f64 / 2.0],
            "c_upper": [n as f64 / 2.0], "row_names": ["sum"],
        });
        let change: &[(&str, Value)] = match self.behaviour.as_str() {
            "sampled" => &[("accesses", json!({"gradient": {"finite": 14}, "constraints": "exact", "jacobian": "exact"}))],
            "empty" => &[("accesses", json!({"gradient": {"finite": 0}, "constraints": "exact", "jacobian": "exact"}))],
            "together" => &[
                ("several", json!(true)),
                ("accesses", json!({"gradient": {"finite": 14}, "constraints": "exact", "jacobian": "exact"})),
            ],
            "few draws" => &[
                ("several", json!(true)),
                ("most_draws", json!(3)),
                ("accesses", json!({"gradient": {"finite": 14}, "constraints": "exact", "jacobian": "exact"})),
            ],
            "no draws at all" => &[("most_draws", json!(0))],
            "valueless" => &[("objective", json!("gradient"))],
            "refuse" => &[("error", json!("there is no licence for the simulator"))],
            "version" => &[("tangor", json!(2)), ("news", json!("a field of another version"))],
            "long start" => &[("x0", json!(vec![0.0; 5]))],
            "crossed" => &[("c_lower", json!([1e3]))],
            "misspelt" => &[("lower", json!(vec![0.0; 4]))],
            "negative size" => &[("n", json!(-4))],
            "size beyond all memory" => &[("n", json!(u64::MAX))],
            "entries outside" => &[("jacobian", json!({"rows": [7], "columns": [9]}))],
            "entries that do not match" => &[("jacobian", json!({"rows": [0, 0], "columns": [1]}))],
            _ => &[],
        };
        for (field, value) in change {
            introduction[*field] = value.clone();
        }
        match self.behaviour.as_str() {
            "garbage at start" => say(b"Welcome to the simulator!\n"),
            "no version" => say(b"{\"name\": \"halves\", \"n\": 4}\n"),
            "start beyond words" => say(b"{\"tangor\": 1, \"name\": \"halves\", \"n\": 1, \"x0\": [1e999]}\n"),
            "deep at start" => say(format!("{{\"tangor\": 1, \"name\": {}\n", "[".repeat(100_000)).as_bytes()),
            "twice" => say(format!("{introduction}\n{introduction}\n").as_bytes()),
            "status" => {
                say(b"Welcome to the simulator!\n");
                exit(5)
            }
            "unfinished" => say(&introduction.to_string().as_bytes()[..10]),
            "grandchild" => {
                let own = env::current_exe().expect("a path");
                let mut child = Command::new(own).arg("deaf").spawn().expect("a grandchild");
                eprintln!("grandchild {}", child.id());
                std::thread::spawn(move || child.wait());
                say(format!("{introduction}\n").as_bytes());
            }
            _ => say(format!("{introduction}\n").as_bytes()),
        }
        if self.behaviour == "unfinished" {
            exit(0);
        }
    }

    /// The number of the request, the function (or several with blanks between), the draws and the point; nothing when the conversation is over.
    fn question(&self) -> Option<(u64, String, Vec<u64>, Vec<f64>)> {
        let mut line = String::new();
        let mut input = stdin().lock();
        if input.read_line(&mut line).expect("a line") == 0 {
            return None;
        }
        let header: Value = serde_json::from_str(&line).expect("JSON");
        let asked = &header["evaluate"];
        let several = asked.as_array().map(|names| names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
        let (id, function) = (header["id"].as_u64()?, several.or_else(|| asked.as_str().map(String::from))?);
        if !self.binary {
            let draws = header["draws"].as_array()?.iter().filter_map(Value::as_u64).collect();
            return Some((id, function, draws, header["point"].as_array()?.iter().filter_map(Value::as_f64).collect()));
        }
        let mut words = |count: u64| {
            let mut bytes = vec![0; 8 * count as usize];
            input.read_exact(&mut bytes).expect("a payload");
            bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
        };
        let draws = words(header["draws"].as_u64()?);
        Some((id, function, draws, words(header["point"].as_u64()?).into_iter().map(f64::from_bits).collect()))
    }

    fn answer(&self, id: u64, function: &str, draws: &[u64], x: &[f64]) {
        let noise = draws.iter().map(|draw| (draw % 7) as f64 - 3.0).sum::<f64>() / draws.len().max(1) as f64;
        let one = |function: &str| -> Vec<f64> {
            match function {
                "objective" => vec![x.iter().map(|x| (x - 1.0).powi(2)).sum()],
                "gradient" => x.iter().map(|x| 2.0 * (x - 1.0) + noise).collect(),
                "constraints" => vec![x.iter().sum()],
                _ => vec![1.0; x.len()],
            }
        };
        let mut values: Vec<f64> = function.split(' ').flat_map(one).collect();
        match self.behaviour.as_str() {
            "few draws" if draws.len() > 3 => fail("more draws than it can take"),
            "together" | "few draws" if x[0] < 0.0 => {
                // Tells what it was asked, and how often.
                let told = format!("question {id}: {function}");
                return say(format!("{}\n", json!({"id": id, "undefined": told})).as_bytes());
            }
            "crash later" if id == 3 => fail("division by zero in line 17"),
            "hang" | "grandchild" => rest(),
            "short" => values.truncate(values.len() - 1),
            "long" => values.push(0.0),
            "nan" => values[2] = f64::NAN,
            "infinite" => values[0] = f64::NEG_INFINITY,
            "garbage" => return say(b"energy = 3.14\n"),
            "bytes" => return say(&[0xff, 0xfe, 0, b'\n']),
            "endless" => return say(&vec![b'x'; 1 << 21]),
            "nothing" => return say(format!("{}\n", json!({"id": id})).as_bytes()),
            "deep" => return say(format!("{{\"id\": {id}, \"values\": {}\n", "[".repeat(100_000)).as_bytes()),
            "other words" => return say(format!("{}\n", json!({"id": id, "result": values})).as_bytes()),
            "name for a number" => return say(format!("{}\n", json!({"id": "one", "values": values})).as_bytes()),
            "wrong payload" => return say(format!("{}\n", json!({"id": id, "values": values.len()})).as_bytes()),
            "count beyond all memory" => return say(format!("{}\n", json!({"id": id, "values": u64::MAX})).as_bytes()),
            "drip" => loop {
                say(b" ");
                sleep(Duration::from_millis(100));
            },
            "asleep" => {
                let own = std::process::id().to_string();
                let _ = Command::new("kill").args(["-STOP", &own]).status();
            }
            "closed" => {
                close_output();
                rest();
            }
            "orphans" => {
                // Somebody is left who holds the pipe for answers open.
                let own = env::current_exe().expect("a path");
                Command::new(own).args(["deaf", "text", "4"]).spawn().expect("an orphan");
                exit(0);
            }
            "twice each" => say(format!("{}\n", json!({"id": id, "values": values})).as_bytes()),
            "flood" => (0..200_000).for_each(|line| eprintln!("line {line} of far too many")),
            "carriage returns" => return say(format!("{}\r\n", json!({"id": id, "values": values})).as_bytes()),
            "spaces" => return say(format!("  \t{}  \n", json!({"id": id, "values": values})).as_bytes()),
            "two things" => return say(format!("{}\n", json!({"id": id, "values": [], "error": "both"})).as_bytes()),
            "chatty" if id == 2 => return say(format!("{}\n", json!({"id": 1, "values": []})).as_bytes()),
            "error" if id == 1 => return say(format!("{}\n", json!({"id": id, "error": "the mesh is gone"})).as_bytes()),
            "undefined" if x[0] < 0.0 => {
                return say(format!("{}\n", json!({"id": id, "undefined": "the simulation does not converge"})).as_bytes());
            }
            "talkative" | "stubborn" if x[0] < 0.0 => {
                return say(format!("{}\n", json!({"id": id, "undefined": std::process::id().to_string()})).as_bytes());
            }
            "truncated" => {
                say(format!("{}\nabcd", json!({"id": id, "values": values.len()})).as_bytes());
                exit(0)
            }
            _ => {}
        }
        if self.binary {
            let mut message = format!("{}\n", json!({"id": id, "values": values.len()})).into_bytes();
            values.iter().for_each(|value| message.extend(value.to_le_bytes()));
            say(&message);
        } else {
            say(format!("{}\n", json!({"id": id, "values": values})).as_bytes());
        }
    }
}

fn say(message: &[u8]) {
    let mut out = stdout().lock();
    // The reader may have stopped this conversation.
    let _ = out.write_all(message).and_then(|()| out.flush());
}

/// Goes on as a process that lives, but has closed its standard output.
fn close_output() {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let error = Command::new("sh").args(["-c", "exec 1>&-; exec sleep 600"]).exec();
        eprintln!("{error}");
    }
}

fn fail(reason: &str) -> ! {
    eprintln!("{reason}");
    exit(3)
}

fn rest() -> ! {
    loop {
        sleep(Duration::from_secs(1));
    }
}
