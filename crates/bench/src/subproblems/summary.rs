//! What the measurements say.

use super::{Kind, Measured, Verdict};
use crate::report::{Cell, Column, Table};
use tangor_figure::{median, quartiles};
use tangor_problem::count_of;

/// Classes of sizes: the most columns of each, and what it is called.
const CLASSES: [(usize, &str); 5] =
    [(10, "up to 10"), (100, "11 to 100"), (1000, "101 to 1000"), (10_000, "1001 to 10000"), (usize::MAX, "more")];

/// What the kernel needs, by the number of columns: how often it gives up, Newton steps from the multipliers that the run had, systems that these
/// factorisations served, and its time beside Clarabel's.
pub fn kernel_table(measured: &[Measured]) -> Table {
    let class = |columns: usize| CLASSES.iter().position(|(most, _)| columns <= *most);
    let of = |k: usize| -> Vec<&Measured> { measured.iter().filter(|one| class(one.columns) == Some(k)).collect() };
    let classes = CLASSES.iter().enumerate().map(|(k, (_, name))| (*name, of(k))).filter(|(_, members)| !members.is_empty());
    let rows = classes.chain([("all", measured.iter().collect())]).map(|(name, members)| kernel_row(name, &members));
    let numbers = [
        "subproblems",
        "fallbacks",
        "Newton steps: median",
        "99th percentile",
        "systems: 99th percentile",
        "Clarabel's time / kernel's: median",
        "slower than Clarabel",
    ];
    Table {
        caption: "The kernel from the multipliers that the run had, by the number of columns".into(),
        columns: [Column::words("columns")].into_iter().chain(numbers.map(Column::numbers)).collect(),
        rows: rows.collect(),
        filter: false,
    }
}

fn kernel_row(name: &str, members: &[&Measured]) -> Vec<Cell> {
    // The smallest number that so many of a hundred do not exceed.
    let percentile = |of: fn(&Measured) -> u32, share: usize| {
        let mut counts: Vec<u32> = members.iter().map(|one| of(one)).collect();
        counts.sort_unstable();
        Cell::count(counts.get((counts.len() * share).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0).into())
    };
    let ratios: Vec<f64> = members.iter().filter_map(|one| Some(one.clarabel_seconds? / one.warm_seconds)).collect();
    let slower = ratios.iter().filter(|ratio| **ratio < 1.0).count();
    vec![
        Cell::words(name),
        Cell::count(members.len() as u64),
        Cell::count(members.iter().filter(|one| one.fallback).count() as u64),
        percentile(|one| one.newton_steps, 50),
        percentile(|one| one.newton_steps, 99),
        percentile(|one| one.systems, 99),
        median(ratios).map_or_else(|| Cell::words("–"), |ratio| Cell::words(format!("{ratio:.1}"))),
        Cell::count(slower as u64),
    ]
}

/// How many times faster than Ipopt the kernel is, for each kind of subproblem and start of the kernel.
pub fn table(measured: &[Measured]) -> Table {
    let mut rows = Vec::new();
    for (name, kinds) in
        [("normal", &[Kind::Normal][..]), ("tangent", &[Kind::Tangent][..]), ("both", &[Kind::Normal, Kind::Tangent][..])]
    {
        let compared: Vec<&Measured> =
            measured.iter().filter(|one| kinds.contains(&one.kind) && one.verdict == Some(Verdict::Agree)).collect();
        let ratios = |time: fn(&Measured) -> f64| {
            compared.iter().filter_map(|one| Some(one.ipopt_seconds? / time(one))).collect::<Vec<f64>>()
        };
        let (warm, cold) = (ratios(|one| one.warm_seconds), ratios(|one| one.cold_seconds));
        for (start, mut ratios) in [("as in the run", warm), ("from zero", cold)] {
            ratios.sort_by(f64::total_cmp);
            let cells = match quartiles(&ratios) {
                Some(ratios) => ratios.map(|ratio| Cell::words(format!("{ratio:.0}"))),
                None => ["–"; 3].map(Cell::words),
            };
            rows.push(
                [Cell::words(name), Cell::words(start), Cell::count(compared.len() as u64)].into_iter().chain(cells).collect(),
            );
        }
    }
    let numbers = ["compared", "first quartile", "median", "third quartile"].map(Column::numbers);
    Table {
        caption: "Seconds of Ipopt divided by seconds of the kernel".into(),
        columns: [Column::words("subproblem"), Column::words("kernel starts")].into_iter().chain(numbers).collect(),
        rows,
        filter: false,
    }
}

/// Who of the kernel and Ipopt solved what, in sentences.
pub fn describe(measured: &[Measured]) -> Vec<String> {
    let of = |verdict: Verdict| -> Vec<&Measured> { measured.iter().filter(|one| one.verdict == Some(verdict)).collect() };
    let agree = of(Verdict::Agree);
    let mut lines =
        vec![format!("{}; on {} both agree, and only these are compared", count_of(measured.len(), "subproblem"), agree.len())];
    let helped = agree.iter().filter(|one| one.fallback).count();
    if helped > 0 {
        lines.push(format!("on {helped} of these the kernel gave up and Clarabel took over, as in a run; both count"));
    }
    let slower = agree.iter().filter(|one| one.ipopt_seconds.is_some_and(|ipopt| ipopt < one.warm_seconds)).count();
    if slower > 0 {
        lines.push(format!("on {slower} of these Ipopt was faster"));
    }
    for (verdict, words) in [
        (Verdict::IpoptFailed, "Ipopt failed and the kernel did not"),
        (Verdict::KernelFailed, "the kernel failed and Ipopt did not"),
        (Verdict::BothFailed, "both failed"),
        (Verdict::KernelBetter, "both say solved, and the kernel's point is better"),
        (Verdict::IpoptBetter, "both say solved, and Ipopt's point is better"),
        (Verdict::Differ, "both say solved; one has the lower value, the other the smaller violation"),
    ] {
        let list = of(verdict);
        if !list.is_empty() {
            let mut names: Vec<&str> = list.iter().map(|one| one.problem.as_str()).collect();
            names.dedup();
            const SHOWN: usize = 10;
            let more = if names.len() > SHOWN { ", ..." } else { "" };
            lines.push(format!("{words}: {} ({}{more})", list.len(), names[..names.len().min(SHOWN)].join(", ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: Kind, warm: f64, cold: f64, verdict: Verdict) -> Measured {
        Measured {
            problem: "P".into(),
            iteration: 0,
            kind,
            rows: 1,
            columns: 1,
            warm_seconds: warm,
            cold_seconds: cold,
            newton_steps: 1,
            interior_steps: 0,
            systems: 1,
            cold_newton_steps: 1,
            fallback: false,
            clarabel_seconds: Some(2.0),
            ipopt_seconds: Some(1.0),
            ipopt_iterations: Some(5),
            ipopt_status: Some(0),
            kernel_value: Some(0.0),
            ipopt_value: Some(0.0),
            kernel_violation: Some(0.0),
            ipopt_violation: Some(0.0),
            verdict: Some(verdict),
        }
    }

    #[test]
    fn only_what_agrees_is_compared() {
        let measured = [
            one(Kind::Normal, 0.5, 1.0, Verdict::Agree),
            one(Kind::Tangent, 0.1, 0.25, Verdict::Agree),
            one(Kind::Tangent, 1e-9, 1e-9, Verdict::IpoptFailed),
        ];
        let texts: Vec<Vec<String>> =
            table(&measured).rows.into_iter().map(|row| row.into_iter().map(|cell| cell.text).collect()).collect();
        assert_eq!(texts[0], ["normal", "as in the run", "1", "2", "2", "2"]);
        assert_eq!(texts[3], ["tangent", "from zero", "1", "4", "4", "4"]);
        // 2 and 10: quartiles 4, 6, 8
        assert_eq!(texts[4], ["both", "as in the run", "2", "4", "6", "8"]);
        let lines = describe(&measured);
        assert_eq!(lines[0], "3 subproblems; on 2 both agree, and only these are compared");
        assert_eq!(lines[1..], ["Ipopt failed and the kernel did not: 1 (P)"]);
        let helped = Measured { fallback: true, ..one(Kind::Tangent, 2.0, 0.5, Verdict::Agree) };
        assert_eq!(
            describe(&[helped])[1..],
            [
                "on 1 of these the kernel gave up and Clarabel took over, as in a run; both count",
                "on 1 of these Ipopt was faster"
            ]
        );
    }

    #[test]
    fn the_kernel_is_told_of_by_size() {
        let small = one(Kind::Normal, 0.5, 1.0, Verdict::Agree);
        let steps = |newton_steps: u32| Measured { newton_steps, systems: 2 * newton_steps, columns: 50, ..small.clone() };
        let mut measured: Vec<Measured> = (1..=100).map(steps).collect();
        (measured[0].fallback, measured[0].warm_seconds) = (true, 4.0);
        measured.push(small);
        let texts: Vec<Vec<String>> =
            kernel_table(&measured).rows.into_iter().map(|row| row.into_iter().map(|cell| cell.text).collect()).collect();
        assert_eq!(texts[0], ["up to 10", "1", "0", "1", "1", "1", "4.0", "0"]);
        assert_eq!(texts[1], ["11 to 100", "100", "1", "50", "99", "198", "4.0", "1"]);
        assert_eq!(texts[2][..3], ["all", "101", "1"]);
    }
}
