//! Standard normal numbers by the ziggurat method of Marsaglia and Tsang.
//!
//! The area below `f(x) = exp(-x^2 / 2)`, `x >= 0`, is covered by layers of equal area, rectangles that reach a little beyond the curve and the
//! tail. A point of a layer that is chosen at random is nearly always below the curve, which a comparison shows: 99 of 100 numbers cost
//! one multiplication. Where it may be above the curve, or in the tail, the curve itself decides. It is
//! written here since one seed must give the same bits with every version of every library.

use std::sync::LazyLock;

use crate::Stream;

const LAYERS: usize = 256;

/// Where the tail begins, and the area of each layer, for this number of them.
const TAIL: f64 = 3.654_152_885_361_009;
const AREA: f64 = 4.928_673_233_992_336e-3;

/// A number from the open interval (-1, 1) has so many bits behind the point.
const BITS: i32 = 55;

struct Layers {
    /// The right ends: of a rectangle as wide as the area of the tail's layer would be, then of the layers from the tail up, 0 at the top.
    ends: [f64; LAYERS + 1],
    /// The curve at the ends.
    heights: [f64; LAYERS + 1],
}

fn curve(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

static LAYERS_OF_CURVE: LazyLock<Layers> = LazyLock::new(|| {
    let mut ends = [0.0; LAYERS + 1];
    ends[0] = AREA / curve(TAIL);
    ends[1] = TAIL;
    for layer in 2..LAYERS {
        // The rectangle between both heights is as wide as the lower end, and its area is that of all.
        let height = curve(ends[layer - 1]) + AREA / ends[layer - 1];
        ends[layer] = (-2.0 * height.ln()).sqrt();
    }
    Layers { ends, heights: ends.map(curve) }
});

/// A standard normal number.
#[inline]
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    let ends = &LAYERS_OF_CURVE.ends;
    let bits = stream.bits();
    let layer = (bits % LAYERS as u64) as usize;
    // The other bits are a number from (-1, 1), symmetric around 0.
    let u = ((bits as i64 >> 8) as f64 + 0.5) * (1.0 / (1u64 << BITS) as f64);
    let x = u * ends[layer];
    if x.abs() < ends[layer + 1] { x } else { below_curve(stream, layer, x) }
}

/// A number that may be above the curve: itself, one from the tail, or another one.
#[cold]
fn below_curve(stream: &mut Stream, layer: usize, x: f64) -> f64 {
    let heights = &LAYERS_OF_CURVE.heights;
    if layer == 0 {
        return tail(stream).copysign(x);
    }
    let height = heights[layer] + stream.uniform() * (heights[layer + 1] - heights[layer]);
    if height < curve(x) { x } else { normal(stream) }
}

/// A number beyond the last layer, by Marsaglia's method for the tail.
fn tail(stream: &mut Stream) -> f64 {
    loop {
        let beyond = -stream.uniform().ln() / TAIL;
        if -2.0 * stream.uniform().ln() > beyond * beyond {
            return TAIL + beyond;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draw;

    #[test]
    fn all_layers_have_the_same_area_and_end_at_the_top() {
        let Layers { ends, heights } = &*LAYERS_OF_CURVE;
        for layer in 1..LAYERS {
            let area = ends[layer] * (heights[layer + 1] - heights[layer]);
            assert!((area - AREA).abs() < 1e-11, "layer {layer}: {area}");
        }
        // The lowest one: the rectangle below the curve at the tail, and the tail itself, by the trapezium rule.
        let step = 1e-4;
        let rest =
            (0..60_000).map(|k| 0.5 * step * (curve(TAIL + step * f64::from(k)) + curve(TAIL + step * f64::from(k + 1))));
        assert!((TAIL * curve(TAIL) + rest.sum::<f64>() - AREA).abs() < 1e-10);
        assert_eq!((ends[LAYERS], heights[LAYERS]), (0.0, 1.0));
    }

    #[test]
    fn numbers_are_distributed_as_they_should_be() {
        // The share below each of some values, the tail included, against the normal distribution; four standard errors.
        let known = [
            (-4.0, 3.167_124_183_311_992e-5),
            (-3.0, 1.349_898_031_630_094_6e-3),
            (-1.0, 0.158_655_253_931_457_05),
            (-0.1, 0.460_172_162_722_971),
            (0.0, 0.5),
            (0.5, 0.691_462_461_274_013_1),
            (2.0, 0.977_249_868_051_820_8),
            (3.7, 1.0 - 1.077_997_334_773_891e-4),
            (4.5, 1.0 - 3.397_673_124_730_062e-6),
        ];
        let count = 4_000_000;
        let (mut below, mut moments) = ([0.0; 9], [0.0; 4]);
        let mut stream = Stream::new(Draw(11), 3);
        for _ in 0..count {
            let x = normal(&mut stream);
            below.iter_mut().zip(known).filter(|(_, (value, _))| x < *value).for_each(|(below, _)| *below += 1.0);
            moments.iter_mut().zip(1..).for_each(|(moment, power)| *moment += x.powi(power));
        }
        let count = f64::from(count);
        for (below, (value, share)) in below.into_iter().zip(known) {
            let error = (share * (1.0 - share) / count).sqrt();
            assert!((below / count - share).abs() < 4.0 * error, "below {value}: {}, not {share} +- {error}", below / count);
        }
        // E x^k is 0, 1, 0, 3 with the variances 1, 2, 15, 96.
        for (moment, (mean, variance)) in moments.into_iter().zip([(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0f64)]) {
            assert!((moment / count - mean).abs() < 4.0 * (variance / count).sqrt(), "{} is not {mean}", moment / count);
        }
    }
}
