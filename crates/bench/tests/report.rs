//! The report in a real browser, where one is installed.

use std::process::Command;

use tangor_bench::report::{Cell, Column, Report, Section, Table};
use tangor_bench::{Ending, Record};
use tangor_solver::Stop;

fn report() -> Report {
    let record = |name: &str, residual: f32| {
        let mut record = Record::failed(name, "tangor", 0, "", Ending::Stopped(Stop::Tolerance), String::new());
        record.trace = vec![(0, Some(1.0), Some(2.0), None), (5, Some(residual), Some(0.0), None)];
        record
    };
    let records = [record("SECOND", 1e-3), record("FIRST", 1e-9)];
    let row =
        |record: &Record, residual: f64| vec![Cell::words(&record.problem).opening([record]), Cell::residual(Some(residual))];
    let table = Table {
        caption: "all".into(),
        columns: vec![Column::words("problem"), Column::numbers("residual")],
        rows: vec![row(&records[0], 2e-3), row(&records[1], 1e-9)],
        filter: true,
    };
    let mut report = Report::new("A report");
    report.sections = vec![Section { title: "Tables".into(), tables: vec![table], ..Section::default() }];
    report.keep_traces(&records);
    report
}

/// The page as the browser sees it after its scripts have run; `None` where there is no browser.
fn seen(html: &str, hash: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    std::fs::write(&page, html).unwrap();
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let address = format!("file://{}{hash}", page.display());
    let arguments =
        ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", &profile, "--dump-dom", &address];
    let output = Command::new("chromium").args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_browser_shows_rows_and_the_course_of_a_run() {
    let html = report().html();
    let Some(page) = seen(&html, "") else {
        eprintln!("skipped: chromium is not installed");
        return;
    };
    assert!(page.contains("2 of 2 rows"), "the script did not run: {page}");
    let opened = seen(&html, "#trace=FIRST%20%C2%B7%20tangor").unwrap_or_default();
    assert!(opened.contains("<dialog id=\"trace\" open"), "the course did not open: {opened}");
    assert!(opened.contains(">iteration</text>"));
}

#[test]
fn a_browser_sorts_and_filters() {
    // What a reader would do, done by a script at the end of the page.
    let act = "<script>document.querySelectorAll('th')[0].click();\
               const box = document.querySelector('input'); box.value = '-second'; box.dispatchEvent(new Event('input'));</script>";
    let html = report().html().replace("</body>", &format!("{act}</body>"));
    let Some(page) = seen(&html, "") else {
        eprintln!("skipped: chromium is not installed");
        return;
    };
    assert!(page.contains("1 of 2 rows"), "the filter did nothing: {page}");
    let (first, second) = (page.find(">FIRST<"), page.find(">SECOND<"));
    assert!(first.is_some() && first < second, "the rows were not sorted: {page}");
}
