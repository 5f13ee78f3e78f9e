//! Sums of numbers and of their squares, of which averages and variances are made.
//!
//! ```text
//!   1.5, 2.25        count 2, sum 3.75, squares 7.3125        avg 1.8750000000000000, var_samp 0.28125000000000000000
//!   1, Infinity      sum Infinity, avg Infinity, variance NaN
//! ```
//!
//! The scale of a sum is the largest of the numbers in it. A window that loses the last number of that scale has to be
//! summed anew ([`Sums::remove`]).

use weft_format::Result;

use super::arithmetic::quotient_scale;
use super::decimal::Decimal;
use super::transcendental::root;
use super::value::{Kind, Number};

/// What was added.
#[derive(Clone, Debug)]
pub struct Sums {
    with_squares: bool,
    /// Finite numbers and others.
    count: i64,
    nan: i64,
    infinite: i64,
    minus_infinite: i64,
    sum: Decimal,
    squares: Decimal,
    /// How many of the numbers have the largest scale.
    of_scale: i64,
}

impl Sums {
    /// Nothing yet; sums of squares cost time, so they are kept for variances only.
    pub fn new(with_squares: bool) -> Sums {
        let (sum, squares) = (Decimal::zero(0), Decimal::zero(0));
        Sums { with_squares, count: 0, nan: 0, infinite: 0, minus_infinite: 0, sum, squares, of_scale: 0 }
    }

    fn special(&mut self, number: &Number) -> Option<&mut i64> {
        match number.0 {
            Kind::NaN => Some(&mut self.nan),
            Kind::Infinite { negative: false } => Some(&mut self.infinite),
            Kind::Infinite { negative: true } => Some(&mut self.minus_infinite),
            Kind::Finite(_) => None,
        }
    }

    /// Adds a number.
    pub fn add(&mut self, number: &Number) {
        self.count += 1;
        if let Some(special) = self.special(number) {
            *special += 1;
        }
        let Some(decimal) = number.finite() else { return };
        match decimal.scale.cmp(&self.sum.scale) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.of_scale += 1,
            std::cmp::Ordering::Greater => self.of_scale = 1,
        }
        self.sum = self.sum.plus(decimal);
        if self.with_squares {
            self.squares = self.squares.plus(&decimal.times(decimal));
        }
    }

    /// Takes away a number that was added. False, and nothing is done, when the sum would have a smaller scale then.
    pub fn remove(&mut self, number: &Number) -> bool {
        if let Some(special) = self.special(number) {
            *special -= 1;
        }
        if let Some(decimal) = number.finite() {
            let is_of_scale = decimal.scale == self.sum.scale;
            if is_of_scale && self.of_scale == 1 && self.sum.scale > 0 {
                return false;
            }
            self.of_scale -= i64::from(is_of_scale);
            self.sum = self.sum.minus(decimal);
            if self.with_squares {
                self.squares = self.squares.minus(&decimal.times(decimal));
            }
        }
        self.count -= 1;
        true
    }

    /// Adds what others have added.
    pub fn merge(&mut self, other: &Sums) {
        self.of_scale = match other.sum.scale.cmp(&self.sum.scale) {
            std::cmp::Ordering::Less => self.of_scale,
            std::cmp::Ordering::Equal => self.of_scale + other.of_scale,
            std::cmp::Ordering::Greater => other.of_scale,
        };
        self.count += other.count;
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.minus_infinite += other.minus_infinite;
        self.sum = self.sum.plus(&other.sum);
        self.squares = self.squares.plus(&other.squares);
    }

    /// How many numbers there are.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// Their sum; none of no numbers.
    pub fn sum(&self) -> Result<Option<Number>> {
        if self.count == 0 {
            return Ok(None);
        }
        Ok(Some(match (self.nan, self.infinite, self.minus_infinite) {
            (0, 0, 0) => Number::checked(self.sum.clone())?,
            (0, _, 0) => Number::infinity(false),
            (0, 0, _) => Number::infinity(true),
            _ => Number::nan(),
        }))
    }

    /// Their average; none of no numbers.
    pub fn average(&self) -> Result<Option<Number>> {
        let Some(sum) = self.sum()? else { return Ok(None) };
        sum.divided_by(&Number::new(self.count.into(), 0)).map(Some)
    }

    /// Their variance, of a sample or of all; none of no numbers, and of a sample of one.
    pub fn variance(&self, of_sample: bool) -> Result<Option<Number>> {
        self.spread(of_sample, |variance, _| variance)
    }

    /// Their standard deviation, of a sample or of all; none of no numbers, and of a sample of one.
    pub fn deviation(&self, of_sample: bool) -> Result<Option<Number>> {
        self.spread(of_sample, |variance, scale| root(&variance, scale))
    }

    fn spread(&self, of_sample: bool, of: impl Fn(Decimal, u32) -> Decimal) -> Result<Option<Number>> {
        assert!(self.with_squares, "variances are made of sums of squares");
        if self.count <= i64::from(of_sample) {
            return Ok(None);
        }
        if self.nan + self.infinite + self.minus_infinite > 0 {
            return Ok(Some(Number::nan()));
        }
        let count = Decimal::new(i128::from(self.count), 0);
        let dividend = count.times(&self.squares).minus(&self.sum.times(&self.sum));
        if dividend.sign() <= 0 {
            return Ok(Some(Number::new(0, 0)));
        }
        let divisor = count.times(&Decimal::new(i128::from(self.count - i64::from(of_sample)), 0));
        let scale = quotient_scale(&dividend, &divisor);
        Number::checked(of(dividend.quotient(&divisor, scale), scale)).map(Some)
    }
}
