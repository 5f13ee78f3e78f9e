//! φ: how much longer an operator takes than the cost model says, as a running mean per kind of operator.
//!
//! ```text
//!   aggregate   n   cost    took    φ' = took / cost   φ = φ + (φ' - φ) / n      next time cost 200 us is
//!               1   100 us  180 us  1.8                1.80                      360 us
//!               2   100 us  220 us  2.2                2.00                      400 us
//!               3   100 us  170 us  1.7                1.90                      380 us
//! ```
//!
//! 1. n counts to [`COUNT_MAX`] and no further: from then on φ is the mean of about the last 64 queries, each older one
//!    weighing a little less. A mean over everything would take as long to follow a change (other data, blocks that are
//!    no longer cached) as the old state had lasted.
//! 2. A ratio beyond 64 either way says that rows were estimated wrongly, not what a row costs: it counts as 64.
//!
//! Concurrency: [`Phis`] is one short lock, taken once per query and once per forecast. Crash: nothing here survives.
//!
//! Source: SynchroStore section 3.3, formulas 5 to 7. Formula 6 as printed, φ_new = φ' + (φ' - φ_old) / n, adds the
//! correction to the new ratio; the running mean of Welford's algorithm, which the text means, adds it to the old mean.
//! The variance is his, too.

use weft_env::sync::Mutex;

/// As many updates the mean remembers, about.
const COUNT_MAX: u64 = 64;
/// The largest ratio that counts, and one over the smallest.
const RATIO_MAX: f64 = 64.0;

/// What an operator does, as far as its costs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperatorKind {
    /// Reads a table.
    Scan,
    /// Tests rows.
    Filter,
    /// Computes columns.
    Projection,
    /// Makes one row of many.
    Aggregate,
    /// Orders rows, or merges ordered ones.
    Sort,
    /// Brings rows of two inputs together.
    Join,
    /// Hands rows to other partitions.
    Repartition,
    /// Computes over a row's neighbours.
    Window,
    /// Anything else.
    Other,
}

impl OperatorKind {
    /// Every kind.
    pub const ALL: [OperatorKind; 9] = [
        OperatorKind::Scan,
        OperatorKind::Filter,
        OperatorKind::Projection,
        OperatorKind::Aggregate,
        OperatorKind::Sort,
        OperatorKind::Join,
        OperatorKind::Repartition,
        OperatorKind::Window,
        OperatorKind::Other,
    ];

    /// Its name in views.
    pub fn name(self) -> &'static str {
        match self {
            OperatorKind::Scan => "scan",
            OperatorKind::Filter => "filter",
            OperatorKind::Projection => "projection",
            OperatorKind::Aggregate => "aggregate",
            OperatorKind::Sort => "sort",
            OperatorKind::Join => "join",
            OperatorKind::Repartition => "repartition",
            OperatorKind::Window => "window",
            OperatorKind::Other => "other",
        }
    }
}

/// The correction of one kind, and how good it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phi {
    /// φ: the running mean of actual over estimated time; 1 before the first update.
    pub mean: f64,
    /// The variance of the ratios around it.
    pub variance: f64,
    /// Updates so far.
    pub count: u64,
    /// Estimated time of all updates, microseconds of one core, not corrected.
    pub estimated_us: f64,
    /// Actual time of all updates, microseconds of one core.
    pub actual_us: f64,
    /// Mean of |estimate - actual| / the larger of the two, of estimates as the cost model made them: 0 to 1.
    pub error_uncorrected: f64,
    /// The same of the estimates times the φ that held before each.
    pub error: f64,
}

impl Default for Phi {
    fn default() -> Phi {
        Phi {
            mean: 1.0,
            variance: 0.0,
            count: 0,
            estimated_us: 0.0,
            actual_us: 0.0,
            error_uncorrected: 0.0,
            error: 0.0,
        }
    }
}

impl Phi {
    /// Learns that what was estimated at `cost_us` took `actual_us` (formulas 6 and 7). Estimates of nothing teach
    /// nothing.
    pub fn update(&mut self, cost_us: f64, actual_us: f64) {
        if !(cost_us > 0.0 && actual_us >= 0.0 && actual_us.is_finite()) {
            return;
        }
        let corrected_us = cost_us * self.mean;
        self.count += 1;
        let weight = 1.0 / self.count.min(COUNT_MAX) as f64;
        let ratio = (actual_us / cost_us).clamp(1.0 / RATIO_MAX, RATIO_MAX);
        let off = ratio - self.mean;
        self.mean = if self.count == 1 { ratio } else { self.mean + off * weight };
        self.variance = if self.count == 1 { 0.0 } else { (1.0 - weight) * (self.variance + off * off * weight) };
        debug_assert!((1.0 / RATIO_MAX..=RATIO_MAX).contains(&self.mean), "a mean lies between its ratios (phi 2)");
        debug_assert!(self.variance >= 0.0, "a variance is of squares");
        self.estimated_us += cost_us;
        self.actual_us += actual_us;
        self.error_uncorrected += (relative_error(cost_us, actual_us) - self.error_uncorrected) * weight;
        self.error += (relative_error(corrected_us, actual_us) - self.error) * weight;
    }
}

/// How far two times are apart, as a part of the longer one.
fn relative_error(one_us: f64, other_us: f64) -> f64 {
    let longer = one_us.max(other_us);
    if longer > 0.0 { (one_us - other_us).abs() / longer } else { 0.0 }
}

/// The corrections of all kinds at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhiSet([Phi; OperatorKind::ALL.len()]);

impl PhiSet {
    /// The correction of a kind.
    pub fn of(&self, kind: OperatorKind) -> &Phi {
        &self.0[kind as usize]
    }

    /// Learns from one operator.
    pub fn update(&mut self, kind: OperatorKind, cost_us: f64, actual_us: f64) {
        self.0[kind as usize].update(cost_us, actual_us);
    }
}

/// The corrections of an engine.
#[derive(Debug, Default)]
pub(super) struct Phis(Mutex<PhiSet>);

impl Phis {
    /// As they are now.
    pub(super) fn now(&self) -> PhiSet {
        *self.0.lock()
    }

    /// Learns from a query: for each operator its kind, its estimate and its actual time, microseconds of one core.
    pub(super) fn learn(&self, operators: impl IntoIterator<Item = (OperatorKind, f64, f64)>) {
        let mut set = self.0.lock();
        for (kind, cost_us, actual_us) in operators {
            set.update(kind, cost_us, actual_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phi_is_the_mean_of_the_ratios() {
        let mut phi = Phi::default();
        let ratios = [1.8, 2.2, 1.7, 3.0, 0.4];
        for ratio in ratios {
            phi.update(100.0, 100.0 * ratio);
        }
        let mean = ratios.iter().sum::<f64>() / 5.0;
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / 5.0;
        assert!((phi.mean - mean).abs() < 1e-12 && (phi.variance - variance).abs() < 1e-12, "{phi:?}");
    }

    #[test]
    fn phi_converges_and_the_error_shrinks() {
        let mut phi = Phi::default();
        // Operators take 3 times their cost, give or take a third.
        let mut seed = 7u64;
        for _ in 0..500 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let noise = 2.0 + 2.0 * ((seed >> 40) as f64 / (1 << 24) as f64);
            phi.update(50.0, 50.0 * noise);
        }
        assert!((2.8..3.2).contains(&phi.mean), "{phi:?}");
        assert!(phi.error_uncorrected > 0.6 && phi.error < 0.25, "{phi:?}");
    }

    #[test]
    fn phi_follows_a_change_after_a_long_time() {
        let mut phi = Phi::default();
        (0..100_000).for_each(|_| phi.update(10.0, 10.0));
        (0..200).for_each(|_| phi.update(10.0, 40.0));
        assert!(phi.mean > 3.5, "phi 1: {phi:?}");
    }

    #[test]
    fn what_teaches_nothing_is_left_out_and_wild_ratios_are_bounded() {
        let mut phi = Phi::default();
        phi.update(0.0, 5.0);
        phi.update(f64::NAN, 5.0);
        phi.update(5.0, f64::INFINITY);
        assert_eq!(phi, Phi::default());
        phi.update(1.0, 1e9);
        assert_eq!(phi.mean, 64.0);
        phi.update(1e9, 0.0);
        assert!((phi.mean - (64.0 + 1.0 / 64.0) / 2.0).abs() < 1e-9);
    }
}
