//! Large files, made for the benchmark.

use std::fmt::Write;

use tangor_timing::ROWS;

/// `minimise sum (x_i - 1)^2 subject to x_{i+1} - x_i = 0.01 (a(x_i) + a(x_{i+1})) / 2` with a right-hand side like that of a
/// reaction, `a(x) = exp(-x) (1 - x) x`, shared by the rows on both sides.
pub fn collocation(rows: usize) -> String {
    let n = rows + 1;
    let mut text = format!(
        "g3 1 1 0\t# problem collocation\n {n} {rows} 1 0 {rows}\n {rows} 1\n 0 0\n {n} {n} {n}\n 0 0 0 1\n 0 0 0 0 0\n {} {n}\n 0 0\n \
         0 {n} 0 0 0\n",
        2 * rows
    );
    for i in 0..n {
        let _ = write!(text, "V{} 0 0\no2\no44\no16\nv{i}\no2\no1\nn1\nv{i}\nv{i}\n", n + i);
    }
    for i in 0..rows {
        let _ = write!(text, "C{i}\no2\nn-0.005\no0\nv{}\nv{}\n", n + i, n + i + 1);
    }
    let _ = write!(text, "O0 0\no54\n{n}\n");
    (0..n).for_each(|i| write!(text, "o5\no0\nn-1\nv{i}\nn2\n").unwrap_or_default());
    rest(&mut text, rows, "4 0", "0 -10 10", |i| format!("{i} -1\n{} 1", i + 1));
    let _ = writeln!(text, "G0 {n}");
    (0..n).for_each(|i| writeln!(text, "{i} 0").unwrap_or_default());
    text
}

/// `c_i = f(x_i, x_{i+1}) + x_i` with a formula for `f` in which U and V stand for the variables.
pub fn shape(formula: &str) -> String {
    let n = ROWS + 1;
    let sizes =
        format!(" {n} {ROWS} 0 0 0\n {ROWS} 0\n 0 0\n {n} 0 0\n 0 0 0 1\n 0 0 0 0 0\n {} 0\n 0 0\n 0 0 0 0 0", 2 * ROWS);
    let mut text = format!("g3 1 1 0\n{sizes}\n");
    for i in 0..ROWS {
        let formula = formula.replace(' ', "\n").replace('U', &format!("v{i}")).replace('V', &format!("v{}", i + 1));
        let _ = write!(text, "C{i}\n{formula}\n");
    }
    rest(&mut text, ROWS, "3", "3", |i| format!("{i} 1\n{} 0", i + 1));
    text
}

// Start, bounds and Jacobian of a chain in which each row has two variables.
fn rest(text: &mut String, rows: usize, row: &str, bound: &str, entries: impl Fn(usize) -> String) {
    let n = rows + 1;
    let _ = writeln!(text, "x{n}");
    (0..n).for_each(|i| writeln!(text, "{i} 0.2500000001").unwrap_or_default());
    text.push_str("r\n");
    (0..rows).for_each(|_| writeln!(text, "{row}").unwrap_or_default());
    text.push_str("b\n");
    (0..n).for_each(|_| writeln!(text, "{bound}").unwrap_or_default());
    let _ = writeln!(text, "k{rows}");
    (0..rows).for_each(|i| writeln!(text, "{}", 2 * i + 1).unwrap_or_default());
    for i in 0..rows {
        let _ = write!(text, "J{i} 2\n{}\n", entries(i));
    }
}
