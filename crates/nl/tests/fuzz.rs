//! Mutated files are read and evaluated without a panic, without hanging and within bounds of memory.
//!
//! Seeded, and bounded in time: a few seconds each run. `TANGOR_FUZZ_SECONDS` and `TANGOR_FUZZ_SEED` change both.

mod common;
#[path = "../../fuzz/src/driver.rs"]
mod driver;

use std::alloc::System;
use std::sync::{Mutex, PoisonError};

use common::binary::binary;
use common::{folders, models};
use driver::{Random, try_many, without_harm};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tangor_nl::{Header, Options, Solution, parse};
use tangor_problem::{Problem, SecondOrder};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What is allocated is counted for all threads together: one test at a time.
static COUNTING: Mutex<()> = Mutex::new(());

const EVERYTHING: &str = include_str!("everything.nl");

/// No file may allocate more than this for each of its bytes, all allocations together, besides a fixed amount.
const MOST_PER_BYTE: usize = 20_000;
const MOST: usize = 50_000_000;

#[test]
fn mutated_files_never_panic_and_never_hang() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut files = vec![EVERYTHING.as_bytes().to_vec(), binary(EVERYTHING, false), binary(EVERYTHING, true)];
    assert!(files.iter().all(|file| exercise(file)), "the files that are mutated are good ones");
    if let Some((folder, _)) = folders() {
        let read = |path| std::fs::read(path).expect("a file can be read");
        files.extend(models(&folder).into_iter().map(read).filter(|file| file.len() < 40_000));
    }
    try_many("nl", 5.0, 1.0, |seed, random| {
        let file = mutate(&files, random);
        let described = || format!("TANGOR_FUZZ_SEED={seed}\n{}", String::from_utf8_lossy(&file));
        let region = Region::new(ALLOCATOR);
        let readable = without_harm(|| exercise(&file), described);
        let bytes = region.change().bytes_allocated;
        assert!(bytes < MOST + MOST_PER_BYTE * file.len(), "{bytes} bytes for a file of {}: {}", file.len(), described());
        readable
    });
}

fn mutate(files: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if random.below(50) == 0 {
        return (0..random.below(2000)).map(|_| random.number() as u8).collect();
    }
    // The small file with something of everything is worth as much as all the others.
    let which = if random.below(2) == 0 { random.below(3) } else { random.below(files.len()) };
    let mut file = files[which].clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(file.len());
        match random.below(8) {
            0 => file.truncate(at),
            1 => file[at] = random.number() as u8,
            2 => file[at] = b"0123456789-.ovnCJkbrSVxd \n"[random.below(26)],
            3 => file.insert(at, b"0123456789-e\n"[random.below(13)]),
            4 => drop(file.remove(at)),
            5 => swap_lines(&mut file, random),
            6 => {
                let end = (at + random.below(200)).min(file.len());
                let piece = file[at..end].to_vec();
                let to = random.below(file.len());
                file.splice(to..to, piece);
            }
            _ => large_number(&mut file, random),
        }
        if file.is_empty() {
            return file;
        }
    }
    file
}

fn swap_lines(file: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = file.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
    lines.swap(a, b);
    *file = lines.join(&b'\n');
}

// A number in the text becomes a large one, or four bytes do.
fn large_number(file: &mut Vec<u8>, random: &mut Random) {
    let numbers: [&[u8]; 5] = [b"1000000000000", b"4294967296", b"-1", b"2147483647", b"1e400"];
    let number = numbers[random.below(5)];
    let from = random.below(file.len());
    match file[from..].iter().position(u8::is_ascii_digit) {
        Some(digit) if random.below(3) > 0 => drop(file.splice(from + digit..=from + digit, number.iter().copied())),
        _ => {
            let end = (from + 4).min(file.len());
            file.splice(from..end, [0xff, 0xff, 0xff, 0x7f]);
        }
    }
}

// True when the file could be read.
fn exercise(file: &[u8]) -> bool {
    let options = Options { relax_integers: true, ..Options::default() };
    let Ok(problem) = parse(file, "mutated.nl", &options) else { return false };
    assert!(problem.meta().jacobian_len() < 100 * file.len(), "the pattern of the Jacobian does not fit its file");
    let Ok(mut problem) = problem.with_hessian() else { return true };
    let meta = problem.meta().clone();
    let _ = meta.validate();
    if meta.has_objective {
        let _ = problem.objective(&meta.x0);
        let _ = problem.gradient(&meta.x0, &mut vec![0.0; meta.n()]);
    }
    let _ = problem.constraints(&meta.x0, &mut vec![0.0; meta.m()]);
    let _ = problem.jacobian(&meta.x0, &mut vec![0.0; meta.jacobian_len()]);
    let entries = problem.hessian_pattern().len(meta.n(), meta.n());
    let _ = problem.hessian(&meta.x0, 1.0, &vec![1.0; meta.m()], &mut vec![0.0; entries]);
    let mut bytes = Vec::new();
    let answer = Solution { message: "m".into(), x: meta.x0, ..Solution::default() };
    answer.write(problem.header(), &mut bytes).expect("memory can be written");
    true
}

#[test]
fn mutated_answers_never_panic() {
    let _alone = COUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    let header = Header { options: vec![1, 1, 0], variables: 3, constraints: 2, ..Header::default() };
    let text = "solved\n\nOptions\n3\n1\n1\n0\n2\n2\n3\n3\n0.1\n-7\n1\n2\n3\nobjno 0 0\nsuffix 4 1 7 0 0\nzL_out\n0 0.5\n";
    let mut binary = [&6i32.to_le_bytes()[..], b"binary", &6i32.to_le_bytes()].concat();
    binary.extend([0u8; 8]);
    binary.extend(16i32.to_le_bytes());
    binary.extend([0u8; 16]);
    binary.extend(16i32.to_le_bytes());
    let files = vec![text.as_bytes().to_vec(), binary.clone(), binary];
    for seed in 0..20_000u64 {
        let file = mutate(&files, &mut Random::new(seed));
        let region = Region::new(ALLOCATOR);
        let _ = Solution::parse(&file, "mutated.sol", &header);
        let bytes = region.change().bytes_allocated;
        assert!(bytes < 1_000_000 + 100 * file.len(), "{bytes} bytes for seed {seed}");
    }
}
