//! How long things took: a histogram with buckets of 1.6 %.
//!
//! ```text
//!   157 µs → bucket of 64 sub-buckets per power of two: 2^7 · (1 + 14/64) = 156 µs ≤ 157 µs < 158 µs
//! ```

/// Sub-buckets per power of two.
const STEPS: u64 = 64;

/// A histogram of durations in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl Latencies {
    /// Counts one duration.
    pub(crate) fn add(&mut self, ns: u64) {
        let bucket = bucket_of(ns);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Counts all that another histogram has counted.
    pub(crate) fn add_all(&mut self, other: &Latencies) {
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        for (bucket, count) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += count;
        }
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Memory of the buckets, bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.buckets.capacity() * size_of::<u64>()) as u64
    }

    /// How many durations were counted.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The duration in nanoseconds that a share `quantile` (0 to 1) of all did not pass; 0 when there is none.
    pub(crate) fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = ((self.count as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_end(bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }
}

fn bucket_of(ns: u64) -> usize {
    if ns < STEPS {
        return ns as usize;
    }
    let power = 63 - u64::from(ns.leading_zeros());
    let step = (ns >> (power - 6)) - STEPS;
    ((power - 5) * STEPS + step) as usize
}

fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let power = bucket / STEPS + 5;
    let step = bucket % STEPS;
    ((STEPS + step + 1) << (power - 6)) - 1
}

/// A duration for people: `412 ns`, `157 µs`, `3.42 ms`, `1.20 s`.
pub(crate) fn duration_text(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..10_000 => format!("{:.1} µs", ns as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} µs", ns as f64 / 1e3),
        1_000_000..100_000_000 => format!("{:.2} ms", ns as f64 / 1e6),
        100_000_000..1_000_000_000 => format!("{:.0} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values() {
        for ns in (0..5_000).chain((0..60).flat_map(|shift| [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 3])) {
            let end = upper_end(bucket_of(ns));
            assert!(end >= ns && end - ns <= ns / 63 + 1, "{ns} lies in a bucket that ends at {end}");
            assert!(bucket_of(end) == bucket_of(ns) && bucket_of(end + 1) == bucket_of(ns) + 1, "{ns} {end}");
        }
    }

    #[test]
    fn quantiles_are_near_the_sorted_ones() {
        let mut latencies = Latencies::default();
        let mut sorted: Vec<u64> = (0..10_000u64).map(|i| i * i * 7919 % 1_000_003).collect();
        sorted.iter().for_each(|&ns| latencies.add(ns));
        sorted.sort_unstable();
        for quantile in [0.001, 0.5, 0.99, 0.999, 1.0] {
            let exact = sorted[((10_000.0 * quantile) as usize).max(1) - 1];
            let found = latencies.quantile_ns(quantile);
            assert!(found >= exact && found <= exact + exact / 60 + 1, "{quantile}: {found} for {exact}");
        }
        assert_eq!((latencies.count(), Latencies::default().quantile_ns(0.5)), (10_000, 0));
    }

    #[test]
    fn two_histograms_together_are_one_of_all() {
        let (mut all, mut parts) = (Latencies::default(), [Latencies::default(), Latencies::default()]);
        for ns in (0..2_000u64).map(|i| i * i % 77_777) {
            all.add(ns);
            parts[usize::from(ns % 3 == 0)].add(ns);
        }
        let [mut together, other] = parts;
        together.add_all(&other);
        together.add_all(&Latencies::default());
        let seen = |latencies: &Latencies| [0.01, 0.5, 0.99, 1.0].map(|quantile| latencies.quantile_ns(quantile));
        assert_eq!((together.count(), seen(&together)), (2_000, seen(&all)));
    }

    #[test]
    fn durations_read_well() {
        let texts: Vec<String> = [412, 1_570, 157_400, 3_421_000, 250_000_000, 1_200_000_000].map(duration_text).into();
        assert_eq!(texts, ["412 ns", "1.6 µs", "157 µs", "3.42 ms", "250 ms", "1.20 s"]);
    }
}
