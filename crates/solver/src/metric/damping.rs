//! A multiple of the identity beside what a metric knows of curvature: it says how far that can be trusted, as Levenberg and Marquardt have it. Steps
//! that had to be shortened make it grow, full ones let it fall.

/// Steps of at least the first share of their length are full ones, those of less than the second short ones.
const FULL: f64 = 0.9;
const SHORT: f64 = 0.25;

/// By what it falls after a full step; what is a smaller share of the metric's size than the last is nothing.
const FALL: f64 = 0.1;
const FORGOTTEN: f64 = 1e-12;

/// The most by which a step is made shorter at once.
pub const RISE: f64 = 10.0;

/// Follows a step that was accepted at this share of its length, in a metric of this size: after a short one it becomes what is asked for, if anything
/// is. Whether steps become shorter by it.
pub fn follow(damping: &mut f64, eta: f64, size: f64, asked: impl FnOnce() -> Option<f64>) -> bool {
    let mut rises = false;
    if eta >= FULL {
        *damping *= FALL;
    } else if eta < SHORT
        && let Some(more) = asked()
    {
        (*damping, rises) = (more, true);
    }
    if *damping < FORGOTTEN * size {
        *damping = 0.0;
    }
    rises
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_steps_raise_it_and_full_ones_let_it_fall() {
        let mut damping = 0.0;
        let mut step = |eta, asked| (follow(&mut damping, eta, 1.0, || asked), damping);
        assert_eq!(step(0.1, Some(4.0)), (true, 4.0));
        assert_eq!(step(0.1, None), (false, 4.0), "nothing is asked for");
        assert_eq!(step(0.5, Some(9.0)), (false, 4.0), "neither short nor full");
        assert_eq!(step(1.0, Some(9.0)), (false, 0.4));
        for _ in 0..12 {
            step(1.0, None);
        }
        assert_eq!(damping, 0.0, "what is next to nothing is nothing");
    }
}
