//! Natural logarithms and exponentials of binary fractions: integers times 2 ^ -bits.
//!
//! ```text
//!   ln x  = k ln 2 + 2 ^ j ln (m ^ (2 ^ -j))      x = m 2 ^ k with m near 1, then j square roots
//!           ln m = 2 (z + z^3 / 3 + z^5 / 5 + ...)        z = (m - 1) / (m + 1)
//!   exp x = 2 ^ k (exp (r 2 ^ -j)) ^ (2 ^ j)      x = k ln 2 + r, then j halvings
//!           exp r = 1 + r + r^2 / 2! + r^3 / 3! + ...
//!   ln 2  = 18 artanh 1/26 - 2 artanh 1/4801 + 8 artanh 1/8749
//! ```
//!
//! Binary fractions are shifted where decimal ones would have to be divided. Each step loses less than 2 ^ -bits; all
//! of them together lose what [`GUARD_BITS`] are there for (R. P. Brent, P. Zimmermann: Modern Computer Arithmetic,
//! chapter 4).

use std::cell::RefCell;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer as _;

use super::decimal::Decimal;
use super::integer::power_of_ten;

/// Bits beyond those that are wanted.
const GUARD_BITS: u64 = 64;

/// Bits of so many decimal digits.
fn bits_of(digits: u64) -> u64 {
    (digits as f64 * std::f64::consts::LOG2_10).ceil() as u64
}

/// How often an argument is halved, or its root taken: terms of a series are traded for it.
fn halvings(bits: u64) -> u64 {
    (bits as f64).sqrt() as u64 / 3 + 2
}

/// `number * 2 ^ shift`, cut off.
fn shift(number: BigUint, shift: i64) -> BigUint {
    if shift >= 0 { number << shift } else { number >> -shift }
}

fn signed(magnitude: BigUint, negative: bool) -> BigInt {
    BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// `numerator / denominator * 2 ^ bits`, cut off.
fn fraction(numerator: &BigUint, denominator: &BigUint, bits: i64) -> BigUint {
    let shifted = |number: &BigUint, by: i64| if by > 0 { number << by } else { number.clone() };
    shifted(numerator, bits) / shifted(denominator, -bits)
}

thread_local! {
    /// ln 2 with the most bits that were asked for yet.
    static LN_2: RefCell<(u64, BigInt)> = const { RefCell::new((0, BigInt::ZERO)) };
}

fn ln_2(bits: u64) -> BigInt {
    LN_2.with_borrow_mut(|(known, value)| {
        if *known < bits {
            let all = bits.next_multiple_of(256) + GUARD_BITS;
            let sum =
                18 * artanh_of_inverse(26, all) - 2 * artanh_of_inverse(4_801, all) + 8 * artanh_of_inverse(8_749, all);
            (*known, *value) = (all - GUARD_BITS, sum >> GUARD_BITS);
        }
        &*value >> (*known - bits)
    })
}

/// `artanh(1 / n) = 1 / n + 1 / (3 n^3) + 1 / (5 n^5) + ...`
fn artanh_of_inverse(n: u32, bits: u64) -> BigInt {
    let (mut power, mut sum, mut odd) = ((BigInt::from(1) << bits) / n, BigInt::ZERO, 1_u32);
    while power != BigInt::ZERO {
        sum += &power / odd;
        power /= n * n;
        odd += 2;
    }
    sum
}

/// The natural logarithm of a number above 0, with so many digits behind the point.
pub(super) fn ln(number: &Decimal, places: u32) -> Decimal {
    let wanted = bits_of(places.into());
    let roots = halvings(wanted);
    let bits = wanted + roots + GUARD_BITS;
    let (numerator, denominator) = (number.digits.magnitude(), power_of_ten(number.scale).magnitude());
    // m is from 1/2 to 2; then it is taken to be from 3/4 to 3/2, so that of a number near 1 the exponent is 0.
    let mut exponent = numerator.bits() as i64 - denominator.bits() as i64;
    let read = |exponent: i64| BigInt::from(fraction(&numerator, &denominator, bits as i64 - exponent));
    let mut m = read(exponent);
    let one = BigInt::from(1) << bits;
    let step = if &m * 4 < &one * 3 {
        -1
    } else if &m * 2 > &one * 3 {
        1
    } else {
        0
    };
    if step != 0 {
        exponent += step;
        m = read(exponent);
    }
    for _ in 0..roots {
        m = (m << bits).sqrt();
    }
    // ln m = -ln(1 / m): the series is that of a number above 0.
    let negative = m < one;
    let z = ((&m - &one).into_parts().1 << bits) / (m + one).magnitude();
    let square = (&z * &z) >> bits;
    let (mut sum, mut power, mut odd) = (z.clone(), z, 1_u32);
    loop {
        power = (power * &square) >> bits;
        if power == BigUint::ZERO {
            break;
        }
        odd += 2;
        sum += &power / odd;
    }
    let ln_m = signed(sum << (roots + 1), negative);
    let exponent_bits = 64;
    let ln_power = (ln_2(bits + exponent_bits) * exponent) >> exponent_bits;
    to_decimal(ln_m + ln_power, bits as i64, places)
}

/// e to the power of a number, with so many digits behind the point.
pub(super) fn exp(number: &Decimal, places: u32) -> Decimal {
    // Bits before the point, or less than nothing.
    let size = (number.to_f64() * std::f64::consts::LOG2_E) as i64;
    let wanted = bits_of(places.into()) as i64 + size;
    if wanted < -2 {
        return Decimal::zero(places);
    }
    let wanted = wanted.max(0) as u64;
    let halved = halvings(wanted);
    let bits = wanted + halved + GUARD_BITS;
    let (numerator, denominator) = (number.digits.magnitude(), power_of_ten(number.scale).magnitude());
    let x = signed(fraction(&numerator, &denominator, bits as i64), number.is_negative());
    let exponent_bits = 32;
    let ln_2 = ln_2(bits + exponent_bits);
    let k = (&x << exponent_bits).div_floor(&ln_2);
    // From 0 to ln 2, but for what was cut off of ln 2.
    let r = (x - ((&k * ln_2) >> exponent_bits)).max(BigInt::ZERO).into_parts().1 >> halved;
    let one = BigUint::from(1_u32) << bits;
    let (mut sum, mut term, mut n) = (one + &r, r.clone(), 1_u32);
    loop {
        n += 1;
        term = ((term * &r) >> bits) / n;
        if term == BigUint::ZERO {
            break;
        }
        sum += &term;
    }
    for _ in 0..halved {
        sum = (&sum * &sum) >> bits;
    }
    let k = i64::try_from(k).expect("the number was tested to be below 6,000");
    to_decimal(sum.into(), bits as i64 - k, places)
}

/// `value * 2 ^ -bits`, rounded half away from zero.
fn to_decimal(value: BigInt, bits: i64, places: u32) -> Decimal {
    let (sign, magnitude) = value.into_parts();
    let doubled = shift(magnitude * power_of_ten(places).magnitude(), 1 - bits);
    Decimal::new(signed((doubled + 1_u32) >> 1, sign == Sign::Minus), places)
}
