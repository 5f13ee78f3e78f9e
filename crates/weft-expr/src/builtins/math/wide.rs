//! Whole numbers of 256 bits: what products of two numerics need.

use std::cmp::Ordering;

/// `high * 2^128 + low`
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    /// The product of two numbers.
    pub(super) fn product(a: u128, b: u128) -> Wide {
        let halves = |number: u128| (number >> 64, number & u128::from(u64::MAX));
        let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
        let (middle, carry) = (a1 * b0).overflowing_add(a0 * b1);
        let (low, carry_low) = (a0 * b0).overflowing_add(middle << 64);
        let high = a1 * b1 + (middle >> 64) + (u128::from(carry) << 64) + u128::from(carry_low);
        Wide { high, low }
    }

    /// The number, if it fits 128 bits.
    pub(super) fn narrow(self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }

    /// The quotient, rounded down, if it fits 128 bits; none of a divisor 0.
    pub(super) fn divided(self, by: u128) -> Option<u128> {
        if self.high >= by {
            return None;
        }
        let (mut quotient, mut rest) = (0_u128, self.high);
        for at in (0..128).rev() {
            // Twice the rest may have a bit more than there are.
            let is_longer = rest >> 127 == 1;
            rest = rest << 1 | self.low >> at & 1;
            quotient <<= 1;
            if is_longer || rest >= by {
                rest = rest.wrapping_sub(by);
                quotient |= 1;
            }
        }
        Some(quotient)
    }

    /// The square root, rounded half up.
    pub(super) fn root(self) -> u128 {
        let mut root = 0_u128;
        for at in (0..128).rev() {
            let tried = root | 1 << at;
            if Wide::product(tried, tried) <= self {
                root = tried;
            }
        }
        // (root + 1/2)^2 is root * (root + 1) and a quarter.
        let middle = root.checked_add(1).map(|next| Wide::product(root, next));
        match middle.map(|middle| self.cmp(&middle)) {
            Some(Ordering::Greater) => root + 1,
            _ => root,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(low: u128) -> Wide {
        Wide { high: 0, low }
    }

    #[test]
    fn products_have_256_bits() {
        assert_eq!(Wide::product(u128::MAX, u128::MAX), Wide { high: u128::MAX - 1, low: 1 });
        assert_eq!(Wide::product(u128::MAX, 2), Wide { high: 1, low: u128::MAX - 1 });
        assert_eq!(Wide::product(1 << 64, 1 << 64), Wide { high: 1, low: 0 });
        assert_eq!(Wide::product(12, 12).narrow(), Some(144));
    }

    #[test]
    fn quotients_are_those_of_products() {
        let numbers = [1, 2, 3, 7, 10_u128.pow(19) + 1, 10_u128.pow(38) - 1, (1 << 127) + 1, u128::MAX];
        for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
            assert_eq!(Wide::product(a, b).divided(b), Some(a));
            assert_eq!(narrow(a).divided(b), Some(a / b));
        }
        assert_eq!((Wide { high: 5, low: 0 }.divided(5), narrow(5).divided(0)), (None, None));
    }

    #[test]
    fn roots_are_rounded() {
        let roots = [0_u128, 1, 2, 3, 6, 7, 12, 13, 10_u128.pow(38)].map(|number| narrow(number).root());
        assert_eq!(roots, [0, 1, 1, 2, 2, 3, 3, 4, 10_u128.pow(19)]);
        let large = 10_u128.pow(38) - 1;
        assert_eq!(Wide::product(large, large).root(), large);
        assert_eq!(Wide::product(large, large + 1).root(), large);
        assert_eq!(Wide { high: u128::MAX, low: u128::MAX }.root(), u128::MAX);
    }
}
