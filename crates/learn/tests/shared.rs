//! Rows that several processes share out: each keeps its own, and all compute the same bits.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex};

use tangor_learn::{
    Constraint, Criterion, DataSet, Error, FileForm, Format, Goal, Input, Model, Processes, Rate, Reading, Regression, Watcher,
    chosen_threshold, generate_shared,
};
use tangor_problem::{Collective, Draw, MemoryLimit, Problem, SampledProblem};

/// Processes, here threads that share nothing but messages and an exchange of parts.
#[derive(Debug)]
struct World {
    size: usize,
    exchange: Mutex<Vec<f64>>,
    all_here: Barrier,
    /// From each process to each.
    senders: Vec<SyncSender<Vec<u8>>>,
    receivers: Vec<Mutex<Receiver<Vec<u8>>>>,
}

#[derive(Debug)]
struct Rank(usize, Arc<World>);

impl Collective for Rank {
    fn fill(&self, width: usize, memory: &mut [f64], compute: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        let Rank(rank, world) = self;
        world.exchange.lock().unwrap().resize(memory.len(), 0.0);
        let own = self.parts_of(*rank, memory.len().div_ceil(width));
        for (k, part) in memory.chunks_mut(width).enumerate().filter(|(k, _)| own.contains(k)) {
            compute(k, part);
            world.exchange.lock().unwrap()[k * width..][..part.len()].copy_from_slice(part);
        }
        world.all_here.wait();
        memory.copy_from_slice(&world.exchange.lock().unwrap()[..memory.len()]);
        world.all_here.wait();
    }

    fn own_parts(&self, parts: usize) -> Option<Range<usize>> {
        Some(self.parts_of(self.0, parts))
    }
}

impl Processes for Rank {
    fn rank(&self) -> usize {
        self.0
    }
    fn count(&self) -> usize {
        self.1.size
    }
    fn parts_of(&self, rank: usize, parts: usize) -> Range<usize> {
        rank * parts / self.1.size..(rank + 1) * parts / self.1.size
    }
    fn send(&self, to: usize, message: &[u8]) {
        assert_ne!(self.0, to, "a process sends to others");
        self.1.senders[self.0 * self.1.size + to].send(message.to_vec()).unwrap();
    }
    fn receive(&self, from: usize) -> Vec<u8> {
        self.1.receivers[from * self.1.size + self.0].lock().unwrap().recv().unwrap()
    }
}

/// What each of so many processes makes of the same work.
fn on<T: Send>(size: usize, work: impl Fn(Arc<dyn Processes>) -> T + Sync) -> Vec<T> {
    // A message waits for the one before to be received, as large ones do.
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..size * size).map(|_| sync_channel(1)).unzip();
    let receivers = receivers.into_iter().map(Mutex::new).collect();
    let world = Arc::new(World { size, exchange: Mutex::default(), all_here: Barrier::new(size), senders, receivers });
    std::thread::scope(|scope| {
        let (work, world) = (&work, &world);
        let all: Vec<_> = (0..size).map(|rank| scope.spawn(move || work(Arc::new(Rank(rank, Arc::clone(world)))))).collect();
        all.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Rows with numbers, texts that have ends of lines, groups of which some are missing, weights and labels.
fn table(rows: usize) -> String {
    let row = |i: usize| {
        let colour = ["red", "\"dark\nblue\"", "green"][i % 3];
        let sex = ["f", "m", ""][i * 7 % 5 % 3];
        let label = if (i * 37 % 101 + i % 7 * 9) > 60 { "yes" } else { "no" };
        format!("{}.5,{colour},{sex},{},{label}\n", i * 37 % 101, i % 4 + 1)
    };
    format!("size,colour,sex,count,label\n{}", (0..rows).map(row).collect::<String>())
}

fn sparse(rows: usize) -> String {
    (0..rows).map(|i| format!("{} {}:1.5 {}:{}\n", 1 - i % 2, 1 + i % 5, 7 + i % 11, (i % 13) as f64 / 4.0)).collect()
}

fn goal() -> Goal {
    let gap = Constraint::Gap { rate: Rate::TruePositive, column: "sex".to_string(), most: 0.05 };
    Goal { constraints: vec![gap, Constraint::Norm { radius: 2.0 }], ..Goal::default() }
}

/// Everything that a fit asks of data.
#[derive(Debug, PartialEq)]
struct Asked {
    /// Functions over all rows, as bits.
    exact: Vec<u64>,
    /// Over rows that were drawn.
    drawn: Vec<u64>,
    /// What is told of the model.
    told: String,
}

fn all_that_is_asked(data: DataSet, test: &DataSet, goal: &Goal) -> Asked {
    let (rows, data) = (data.rows(), Arc::new(data));
    let x: Vec<f64> = (0..data.features.weights()).map(|k| (k as f64).sin()).collect();
    let mut regression = Regression::new(Arc::clone(&data), goal).unwrap();
    let m = Problem::meta(&regression).m();
    let (mut g, mut c, mut values) = (vec![0.0; x.len()], vec![0.0; m], vec![0.0; m * x.len()]);
    Problem::gradient(&mut regression, &x, &mut g).unwrap();
    Problem::constraints(&mut regression, &x, &mut c).unwrap();
    Problem::jacobian(&mut regression, &x, &mut values).unwrap();
    let exact = [vec![Problem::objective(&mut regression, &x).unwrap(), data.positive_share()], g.clone(), c, values].concat();
    let draws: Vec<Draw> = (0..90u64).map(|k| Draw(k * k * 31 % rows as u64)).collect();
    SampledProblem::gradient(&mut regression.sampled(), &x, &draws, &mut g).unwrap();
    let threshold = chosen_threshold(&data, &x, Criterion::F1);
    let model = Model::new(&data, x, goal, threshold, 0.95).unwrap();
    let tested = model.evaluate(test).unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    let told = format!("{}{tested:?}", String::from_utf8(model.to_json().unwrap()).unwrap());
    Asked { exact: bits(&exact), drawn: bits(&g), told }
}

/// Reads a file and a test file of the same kind, checks that each process has its own rows of both, and tells all that is asked of them.
fn read(files: [&Path; 2], reading: &Reading, goal: &Goal, processes: Option<Arc<dyn Processes>>) -> (usize, Asked) {
    let reading = Reading { shared: processes.clone(), ..reading.clone() };
    let libsvm = files[0].extension().is_some_and(|ending| ending == "libsvm");
    let data = if libsvm { reading.libsvm(files[0]) } else { reading.csv(files[0]) }.unwrap();
    let form = FileForm { weight: reading.weight.clone(), ..FileForm::default() };
    let sharing = (MemoryLimit::of_this_machine(), processes.as_ref());
    let test = data.read_alike(&form, files[1], None, sharing).unwrap();
    for data in [&data, &test] {
        let here = data.here().len();
        assert_eq!((data.features.rows(), data.positive.len()), (here, here));
        assert!(data.groupings.iter().all(|grouping| grouping.members.len() == here));
        assert!(data.weights.as_ref().is_none_or(|weights| weights.len() == here));
    }
    (data.here().len(), all_that_is_asked(data, &test, goal))
}

#[test]
fn every_process_keeps_its_own_rows_and_all_have_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let reading = Reading { groups: vec!["sex".to_string()], weight: Some("count".to_string()), ..Reading::default() };
    let norm = Goal { constraints: vec![Constraint::Norm { radius: 2.0 }], ..Goal::default() };
    let on_disk = Reading { memory: Some(MemoryLimit(60_000)), cache: Some(folder.path().to_path_buf()), ..reading.clone() };
    let csv = [file("people.csv", table(2900)), file("others.csv", table(400))];
    let libsvm = [file("rows.libsvm", sparse(1500)), file("others.libsvm", sparse(90))];
    let cases = [(&csv, &reading, &goal()), (&csv, &on_disk, &goal()), (&libsvm, &Reading::default(), &norm)];
    for ([first, second], reading, goal) in cases {
        let files = [first.as_path(), second.as_path()];
        let ((rows, alone), mut drawn) = (read(files, reading, goal, None), None);
        for size in [1, 2, 4, 7] {
            let all = on(size, |processes| read(files, reading, goal, Some(processes)));
            assert_eq!(all.iter().map(|(kept, _)| kept).sum::<usize>(), rows);
            assert!(all.iter().all(|(kept, _)| *kept <= rows.div_ceil(size) + 256), "{size} processes");
            for (rank, (_, found)) in all.iter().enumerate() {
                assert_eq!((&found.exact, &found.told), (&alone.exact, &alone.told), "{size} processes, rank {rank}");
                // Rows that were drawn are summed part by part, which without processes they are not.
                assert_eq!(found.drawn, *drawn.get_or_insert_with(|| found.drawn.clone()), "{size} processes, rank {rank}");
            }
        }
    }
}

type Whole = (Vec<Vec<u32>>, Vec<bool>, Vec<Option<u16>>, Vec<f64>, Vec<String>);

/// What every process has of a file, as one process would have it: features, labels, groups and weights of all rows, and what is told of them.
fn whole(data: &[DataSet]) -> Whole {
    let rows = |data: &DataSet| {
        let row = |i| data.features.dense_row(i).iter().map(|value| value.to_bits()).collect();
        (0..data.here().len()).map(row).collect::<Vec<Vec<u32>>>()
    };
    let members = |data: &DataSet| data.groupings.iter().flat_map(|grouping| grouping.members.clone()).collect::<Vec<_>>();
    (
        data.iter().flat_map(rows).collect(),
        data.iter().flat_map(|data| data.positive.clone()).collect(),
        data.iter().flat_map(members).collect(),
        data.iter().flat_map(|data| data.weights.clone().unwrap_or_default()).collect(),
        data.iter().flat_map(|data| data.remarks.clone()).collect(),
    )
}

#[test]
fn a_table_is_cut_between_rows_however_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let named = Reading { groups: vec!["sex".to_string()], weight: Some("count".to_string()), ..Reading::default() };
    let header = Some(false);
    let unnamed = Reading { groups: vec!["c3".to_string()], format: Format { header, delimiter: None }, ..Reading::default() };
    let text = table(1500);
    let body = text.split_once('\n').unwrap().1;
    // A quotation mark within a cell opens nothing, doubled ones close nothing, and whole rows stand within quotes.
    let quotes = text.replace("green", "gr\"een").replace("dark\nblue", "\"\"1,red,f,2,yes\n\"\"\"\"2,red,m,1,no\n");
    let cases = [
        (text.clone(), &named),
        (text.trim_end().to_string(), &named),
        (format!("\u{feff}{}\n\n", text.replace('\n', "\r\n")), &named),
        (text.replace('\n', "\r"), &named),
        (quotes, &named),
        (text.replacen(",f,", ",other,", 3).replacen(".5,", " or so,", 9), &named),
        (body.to_string(), &unnamed),
        (format!("\u{feff}\n\n{}", body.trim_end()), &unnamed),
    ];
    for (k, (text, reading)) in cases.iter().enumerate() {
        fs::write(&path, text).unwrap();
        let alone = whole(&[reading.csv(&path).unwrap()]);
        assert_eq!(alone.0.len(), 1500, "case {k}");
        for size in [1, 2, 3, 4, 9] {
            let all = on(size, |processes| Reading { shared: Some(processes), ..(*reading).clone() }.csv(&path).unwrap());
            assert_eq!(whole(&all), alone, "case {k}, {size} processes");
        }
    }
}

#[test]
fn every_process_reads_its_own_part_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv");
    let text = table(400_000);
    fs::write(&path, &text).unwrap();
    let most = on(4, |processes| {
        let most = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&most);
        let watcher = Watcher::new(move |read, _| {
            told.fetch_max(read, Ordering::Relaxed);
        });
        Reading { shared: Some(processes), ..Reading::default() }.csv(Input::from(&path).watched(watcher)).unwrap();
        most.load(Ordering::Relaxed)
    });
    let part = text.len() as u64 / 4;
    assert!(most.iter().all(|most| (part / 2..part * 6 / 5).contains(most)), "{most:?} of {}", text.len());
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_are_read_by_rows() {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::{properties::WriterProperties, writer::SerializedFileWriter};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let schema = "message rows { REQUIRED DOUBLE size; REQUIRED BINARY sex (UTF8); REQUIRED BINARY label (UTF8); }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let write = |rows: usize, wrong: Option<usize>| {
        let file = fs::File::create(&path).unwrap();
        let mut file = SerializedFileWriter::new(file, Arc::clone(&schema), Arc::new(WriterProperties::new())).unwrap();
        for group in (0..rows).collect::<Vec<_>>().chunks(700) {
            let sizes: Vec<f64> = group.iter().map(|i| (i * 37 % 101) as f64 + 0.5).collect();
            let sexes: Vec<ByteArray> = group.iter().map(|i| ["f", "m\n", "m\n"][i * 7 % 3].into()).collect();
            let label =
                |i: &usize| if Some(*i) == wrong { "" } else { ["yes", "no"][usize::from((i * 37 % 101 + i % 7 * 9) > 60)] };
            let labels: Vec<ByteArray> = group.iter().map(|i| label(i).into()).collect();
            let mut out = file.next_row_group().unwrap();
            let mut column = out.next_column().unwrap().unwrap();
            column.typed::<DoubleType>().write_batch(&sizes, None, None).unwrap();
            column.close().unwrap();
            for texts in [sexes, labels] {
                let mut column = out.next_column().unwrap().unwrap();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None).unwrap();
                column.close().unwrap();
            }
            out.close().unwrap();
        }
        file.close().unwrap();
    };
    let reading = Reading { groups: vec!["sex".to_string()], ..Reading::default() };
    let read = |processes| Reading { shared: Some(processes), ..reading.clone() }.csv(&path);
    write(3000, None);
    let alone = whole(&[reading.csv(&path).unwrap()]);
    assert_eq!(alone.0.len(), 3000);
    for size in [1, 2, 4, 7] {
        let all: Vec<DataSet> = on(size, read).into_iter().map(Result::unwrap).collect();
        assert!(all.iter().all(|data| data.here().len() <= 3000 / size + 256));
        assert_eq!(whole(&all), alone, "{size} processes");
    }
    // Every row is a line, whatever stands in it.
    write(3000, Some(2500));
    let expected = format!("{}:2502: column \"label\": the label is missing", path.display());
    assert_eq!(reading.csv(&path).unwrap_err().to_string(), expected);
    assert_eq!(said(on(4, read)), [expected]);
}

#[test]
fn made_up_rows_are_those_of_one_process() {
    let whole = generate_shared(3000, 3, 5, None, MemoryLimit::of_this_machine()).unwrap();
    for data in on(4, |processes| generate_shared(3000, 3, 5, Some(processes), MemoryLimit::of_this_machine()).unwrap()) {
        assert_eq!((data.rows(), data.here().len() < 1000, data.entries()), (3000, true, whole.entries()));
        for (k, i) in data.here().enumerate() {
            assert_eq!(data.features.dense_row(k), whole.features.dense_row(i));
            assert_eq!((data.positive[k], data.groupings[0].members[k]), (whole.positive[i], whole.groupings[0].members[i]));
        }
    }
}

/// What processes say that could not read.
fn said(outcomes: Vec<Result<DataSet, Error>>) -> Vec<String> {
    let errors = outcomes.into_iter().map(|outcome| outcome.expect_err("it cannot be read"));
    errors.filter(|error| !matches!(error, Error::Elsewhere)).map(|error| error.to_string()).collect()
}

#[test]
fn one_process_says_what_is_wrong_and_all_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.csv");
    // A row that is too short, when parcels of rows are on their way already; ends of lines within quotes count as lines.
    fs::write(&path, format!("{}1,red,f,no\n", table(2000))).unwrap();
    let line = 2 + 2000 + 2000usize.div_ceil(3);
    let told = said(on(4, |processes| Reading { shared: Some(processes), ..Reading::default() }.csv(&path)));
    assert_eq!(told, [format!("{}:{line}: the row has 4 fields, but the header has 5", path.display())]);
    // A weight that is none is met in the last reading.
    fs::write(&path, table(2000).replace(",3,yes\n", ",-3,yes\n")).unwrap();
    let weighted = Reading { weight: Some("count".to_string()), ..Reading::default() };
    let told = said(on(3, |processes| Reading { shared: Some(processes), ..weighted.clone() }.csv(&path)));
    assert!(told.len() == 1 && told[0].contains("the weight is \"-3\", but must be a number from 0 on"), "{told:?}");
    // One of the others cannot keep its rows.
    fs::write(&path, table(2000)).unwrap();
    let told = said(on(4, |processes| {
        let (memory, cache) = match processes.rank() {
            2 => (MemoryLimit(10_000), Some("nowhere/at/all".into())),
            _ => (MemoryLimit::of_this_machine(), None),
        };
        Reading { shared: Some(processes), memory: Some(memory), cache, ..Reading::default() }.csv(Input::from(&path))
    }));
    assert!(told.len() == 1 && told[0].contains("no file can be made for them in nowhere/at/all"), "{told:?}");
}
