/// The points of a run, thinned evenly so that a long run takes no more memory than a short one. First and last point are always
/// there.
#[derive(Clone, Debug)]
pub struct Course<T> {
    kept: Vec<T>,
    last: Option<T>,
    /// More points than this are never kept, but for the last one.
    most: usize,
    stride: u64,
    seen: u64,
}

impl<T: Copy> Course<T> {
    /// An empty course of at most so many points, and the last one.
    pub fn new(most: usize) -> Self {
        Course { kept: Vec::new(), last: None, most: most.max(1), stride: 1, seen: 0 }
    }

    /// Adds a point.
    pub fn push(&mut self, point: T) {
        let is_kept = self.seen.is_multiple_of(self.stride);
        self.seen += 1;
        self.last = (!is_kept).then_some(point);
        if is_kept {
            self.kept.push(point);
        }
        if self.kept.len() > self.most {
            // Of an odd number of points the last one stays, of an even number it goes.
            if self.kept.len().is_multiple_of(2) {
                self.last = Some(point);
            }
            let mut position = 0;
            self.kept.retain(|_| {
                position += 1;
                position % 2 == 1
            });
            self.stride = self.stride.saturating_mul(2);
        }
    }

    /// The points that are left.
    pub fn points(&self) -> Vec<T> {
        self.kept.iter().copied().chain(self.last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(length: u64, most: usize) -> Vec<u64> {
        let mut course = Course::new(most);
        (0..length).for_each(|point| course.push(point));
        course.points()
    }

    #[test]
    fn a_long_run_is_thinned_evenly_and_keeps_its_ends() {
        let points = course(100_000, 4096);
        assert!(points.len() <= 4097 && points.len() > 2048);
        assert_eq!((points[0], points[points.len() - 1]), (0, 99_999));
        assert!(points.windows(2).rev().skip(1).all(|pair| pair[1] - pair[0] == points[1]));
    }

    #[test]
    fn every_length_keeps_its_ends_once() {
        for most in 1..6 {
            for length in 1..100 {
                let points = course(length, most);
                assert_eq!((points[0], points[points.len() - 1]), (0, length - 1));
                assert!(points.len() <= most + 1 && points.is_sorted_by(|a, b| a < b), "{points:?}");
            }
        }
    }

    #[test]
    fn a_short_run_is_kept_whole() {
        assert_eq!(course(10, 10), (0..10).collect::<Vec<_>>());
        assert!(course(0, 10).is_empty());
    }
}
