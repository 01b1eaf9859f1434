//! `.sol` files: what is written can be read again, and what others wrote, too.

use tangor_nl::{Header, Solution, Suffix, Target};

fn header(options: &[i64]) -> Header {
    Header { options: options.to_vec(), variables: 3, constraints: 2, ..Header::default() }
}

fn solution() -> Solution {
    Solution {
        message: "Tangor: solved.\n\nTwo lines.".to_string(),
        x: vec![1.0, -1.25e-300, 3.0],
        multipliers: vec![0.1, -7.0],
        objective: 0,
        code: 0,
        suffixes: vec![
            Suffix { target: Target::Variables, name: "zL_out".into(), real: true, values: vec![(0, 0.5), (1, 0.0)] },
            Suffix { target: Target::Constraints, name: "status".into(), real: false, values: vec![(1, 4.0)] },
        ],
    }
}

fn written(solution: &Solution, header: &Header) -> String {
    let mut bytes = Vec::new();
    solution.write(header, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_form_is_the_one_that_ampl_reads() {
    let expected = "Tangor: solved.\nTwo lines.\n\nOptions\n3\n1\n1\n0\n2\n2\n3\n3\n0.1\n-7.0\n1.0\n-1.25e-300\n3.0\nobjno 0 0\n\
                    suffix 4 1 7 0 0\nzL_out\n0 0.5\nsuffix 1 1 7 0 0\nstatus\n1 4\n";
    assert_eq!(written(&solution(), &header(&[1, 1, 0])), expected);
}

#[test]
fn what_is_written_is_read_again() {
    for (options, tolerance) in
        [(vec![1, 1, 0], None), (vec![0, 1, 0, 0, 20141128, 0, 4, 0, 240], None), (vec![1, 3, 0], Some(0.5)), (vec![], None)]
    {
        let header = Header { tolerance, ..header(&options) };
        let wanted = solution();
        let read = Solution::parse(written(&wanted, &header).as_bytes(), "a.sol", &header).unwrap();
        assert_eq!((read.x, read.multipliers, read.code), (wanted.x.clone(), wanted.multipliers.clone(), 0));
        assert_eq!(read.message, "Tangor: solved.\nTwo lines.");
        assert_eq!(read.suffixes.len(), 2);
        assert_eq!(read.suffixes[0].values, [(0, 0.5)]);
    }
    let empty = Solution { x: vec![], multipliers: vec![], code: 500, ..solution() };
    let header = header(&[1, 1, 0]);
    let read = Solution::parse(written(&empty, &header).as_bytes(), "a.sol", &header).unwrap();
    assert_eq!((read.x.len(), read.multipliers.len(), read.code), (0, 0, 500));
    assert_eq!(solution().suffix(Target::Variables, "zL_out", 3), Some(vec![0.5, 0.0, 0.0]));
}

#[test]
fn binary_answers_are_read() {
    for big_endian in [false, true] {
        let integer = |value: i32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        let real = |value: f64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut bytes = Vec::new();
        let mut record = |content: Vec<u8>| {
            bytes.extend(integer(content.len() as i32));
            bytes.extend(&content);
            bytes.extend(integer(content.len() as i32));
        };
        record(b"binary".to_vec());
        record(b"solved   ".to_vec());
        record(Vec::new());
        record([b"Options".to_vec(), [3, 1, 1, 0, 2, 2, 3, 3].into_iter().flat_map(integer).collect()].concat());
        record([0.5, -1.0].into_iter().flat_map(real).collect());
        record([1.0, 2.0, 3.0].into_iter().flat_map(real).collect());
        record([0, 2].into_iter().flat_map(integer).collect());
        // As AMPL's library writes them: mark, kind, values, length of the name with its zero, length of the table of meanings.
        let head = |kind, table| [b"\nSuffix\n".to_vec(), [kind, 1, 7, table].into_iter().flat_map(integer).collect()].concat();
        record([head(4, 0), b"zL_out\0".to_vec(), integer(2).to_vec(), real(0.25).to_vec()].concat());
        record([head(1, 6), b"status\x001 one\n".to_vec(), integer(1).to_vec(), integer(3).to_vec()].concat());
        let read = Solution::parse(&bytes, "b.sol", &header(&[1, 1, 0])).unwrap();
        assert_eq!(read.message, "solved");
        assert_eq!(read.suffix(Target::Variables, "zL_out", 3), Some(vec![0.0, 0.0, 0.25]));
        assert_eq!(read.suffix(Target::Constraints, "status", 2), Some(vec![0.0, 3.0]));
        assert_eq!((read.multipliers, read.x, read.code), (vec![0.5, -1.0], vec![1.0, 2.0, 3.0], 2));
        // Cut off within its last suffix, or with one that promises more than it has.
        bytes.truncate(bytes.len() - 5);
        assert!(Solution::parse(&bytes, "b.sol", &header(&[1, 1, 0])).is_err());
    }
    let mut forged = vec![];
    for content in [
        &b"binary"[..],
        b"solved",
        b"",
        &[0; 16],
        &[0; 24],
        &[0; 8],
        b"\nSuffix\n\x04\0\0\0\xff\xff\xff\x7f\x01\0\0\0\0\0\0\0a",
    ] {
        forged.extend((content.len() as i32).to_le_bytes());
        forged.extend(content);
        forged.extend((content.len() as i32).to_le_bytes());
    }
    let refused = Solution::parse(&forged, "b.sol", &header(&[])).unwrap_err().to_string();
    assert!(refused.contains("where a suffix was expected"), "{refused}");
}

#[test]
fn what_is_wrong_is_said() {
    let header = header(&[1, 1, 0]);
    let refused = |text: &str| Solution::parse(text.as_bytes(), "a.sol", &header).unwrap_err().to_string();
    assert_eq!(refused("one line"), "a.sol:1: the file ends within its message, which a blank line should end");
    let options = "m\n\nOptions\n3\n1\n1\n0\n";
    assert_eq!(
        refused(&format!("{options}2\n2\n4\n4\n")),
        "a.sol:11: this is the answer to another problem: it has 2 of 2 multipliers and 4 of 4 values, but there are 2 constraints and \
         3 variables"
    );
    assert_eq!(refused(&format!("{options}2\n2\n3\n3\n1\nx\n")), "a.sol:13: \"x\" was found where a multiplier was expected");
    assert_eq!(
        refused(&format!("{options}2\n0\n3\n3\n1\n")),
        "a.sol:13: the file ends where the value of a variable was expected"
    );
    assert_eq!(
        refused(&format!("{options}2\n0\n3\n0\nsuffix 4 1\n")),
        "a.sol:12: a suffix has five numbers: its kind, its length, and three about names"
    );
}
