//! Comparisons of tiny tables whose answers are known.

use tangor_bench::compare::{Comparison, Measure, Wins};

const OURS: &str = "problem,solver,seed,n,m,stop,point,claimed,objective,best_known,worse,stationarity,feasibility,\
complementarity,infeasible_stationarity,iterations,objective_evaluations,gradient_evaluations,constraint_evaluations,\
jacobian_evaluations,hessian_evaluations,samples,seconds,message,setup
A,tangor,0,3,1,tolerance,eps_kkt,eps_kkt,1.5,,false,1e-7,1e-9,0.0,0.0,10,10,10,10,10,0,0,0.01,Done.,s
B,tangor,0,3,1,iterations,feasible,feasible,2.5,,false,5e-5,0.0,0.0,0.0,1000,1000,1000,1000,1000,0,0,1.0,Done.,s
C,tangor,0,3,1,tolerance,eps_infeasible_stationary,eps_infeasible_stationary,0.0,,false,1.0,2.0,0.0,0.0,5,5,5,5,5,0,0,0.1,Done.,s
D,tangor,0,1,1,crashed,nothing,nothing,,,false,,,,,0,0,0,0,0,0,0,0.0,The process died.,s
E,tangor,0,1,1,tolerance,eps_kkt,eps_kkt,0.0,,false,0.0,0.0,0.0,0.0,2,2,2,2,2,0,0,0.001,Done.,s
";
const PAPER: &str = "problem,dim,constraints,stationarity,feasibility
A,3,1,1e-5,2e-5
B,3,1,0,3e-5
C,3,1,1e-1,1e0
Z,3,1,0,0
";
const PEER: &str = "problem,table,status,objective,iterations,objective_evaluations
A,eq,solved,1.5,20,21
B,eq,solved,2.5,7,8
C,eq,infeasible,0,3,4
D,eq,failed,0,1,2
E,eq,solved,0,2,8
";

fn files(tables: &[(&str, &str)], eps: f64) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    let write = |(name, text): &(&str, &str)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    Comparison::of_files(&tables.iter().map(write).collect::<Vec<_>>(), eps).unwrap()
}

#[test]
fn only_common_problems_count_and_residuals_decide() {
    let comparison = files(&[("ours.csv", OURS), ("paper.csv", PAPER)], 1e-4);
    assert_eq!(comparison.problems, ["A", "B", "C"]);
    let solved = |k| [1e-3, 1e-4, 1e-6].map(|eps| comparison.solved_within(k, eps));
    assert_eq!(solved(0), [2, 2, 1]);
    assert_eq!(solved(1), [2, 2, 0]);
    assert_eq!((comparison.infeasible(0), comparison.infeasible(1)), (1, 0));
}

#[test]
fn who_solved_what_and_who_needed_less() {
    let comparison = files(&[("ours.csv", OURS), ("peer.csv", PEER)], 1e-6);
    let duel = comparison.duel(0, 1);
    assert_eq!((duel.both, duel.first_only), (vec!["A".to_string(), "E".to_string()], vec![]));
    assert_eq!((duel.second_only, duel.neither), (vec!["B".to_string()], vec!["C".to_string(), "D".to_string()]));
    // A: 40 against 21 evaluations, 10 against 20 iterations; E: 8 against 8, 2 against 2
    assert_eq!(comparison.wins(0, 1, Measure::Evaluations), Wins { first: 0, second: 1, ties: 1 });
    assert_eq!(comparison.wins(0, 1, Measure::Iterations), Wins { first: 1, second: 0, ties: 1 });
    // The peer's table has no times: no profile of them.
    assert!(comparison.performance_profile(Measure::Seconds).is_none());
    let text = comparison.summary();
    assert!(text.contains("5 problems in common") && text.contains("(by its own word)"), "{text}");
    assert!(text.contains("only by peer         1  B"), "{text}");
    // A narrow screen gets a line for each solver, and no broken ones.
    let narrow = comparison.side_by_side(Some(60));
    assert!(narrow.lines().all(|line| line.len() <= 60), "{narrow}");
    assert_eq!(narrow.lines().count(), 1 + 3 * 5, "{narrow}");
    assert_eq!(comparison.side_by_side(None).lines().count(), 2 + 5);
    let table = comparison.side_by_side_csv().unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + 5, "{table}");
    assert_eq!(lines[1], "A,0.0000001,true,false,1.5,10,40,0.01,,true,false,1.5,20,21,", "{table}");
    assert!(lines.iter().all(|line| line.matches(',').count() == 2 * 7), "{table}");
}

#[test]
fn profiles_by_hand() {
    let comparison = files(&[("ours.csv", OURS), ("peer.csv", PEER)], 1e-6);
    let profile = comparison.performance_profile(Measure::Iterations).unwrap();
    // Ratios: A 1 and 2, B unsolved and 1, E 1 and 1; C and D unsolved by both.
    let shares = |k: usize| [1.0, 2.0, 100.0].map(|x| profile.curves[k].share(x));
    assert_eq!(shares(0), [0.4, 0.4, 0.4]);
    assert_eq!(shares(1), [0.4, 0.6, 0.6]);
    // In units of n + 1: A 40/4 and 21/4, B unsolved and 8/4, E 8/2 and 8/2.
    let data = comparison.data_profile().unwrap();
    let shares = |k: usize| [2.0, 4.0, 5.25, 10.0].map(|x| data.curves[k].share(x));
    assert_eq!(shares(0), [0.0, 0.2, 0.2, 0.4]);
    assert_eq!(shares(1), [0.2, 0.4, 0.6, 0.6]);
}

#[test]
fn files_that_are_no_tables_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.csv");
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    let error = Comparison::of_files(&[&path], 1e-6).unwrap_err().to_string();
    assert!(
        error
            .ends_with("it needs the columns problem and status, or problem, stationarity and feasibility, or all of Tangor's")
    );
    let missing = Comparison::of_files(&[folder.path().join("none.csv")], 1e-6).unwrap_err().to_string();
    assert!(missing.contains("cannot be read"));
}
