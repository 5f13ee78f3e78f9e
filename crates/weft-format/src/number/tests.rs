use super::*;
use crate::encoding::tests::Random;

fn number(digits: i128, scale: u16) -> NumberValue {
    NumberValue::from_digits(digits, scale)
}

fn bytes(value: &NumberValue) -> Vec<u8> {
    value.as_ref().as_bytes().to_vec()
}

#[test]
fn bytes_are_these() {
    assert_eq!(bytes(&number(150, 2)), [0x97, 2, 51, 0, 0, 2]);
    assert_eq!(bytes(&number(15, 1)), [0x97, 2, 51, 0, 0, 1]);
    assert_eq!(bytes(&number(-15, 1)), [0x68, 0xfd, 0xcc, 0xff, 0, 1]);
    assert_eq!(bytes(&number(0, 2)), [0x80, 0, 2]);
    assert_eq!(bytes(&number(100, 0)), [0x98, 2, 0, 0, 0]);
    assert_eq!(bytes(&NumberValue::nan()), [0xff, 0, 0]);
    assert_eq!(bytes(&NumberValue::infinity(false)), [0xfe, 0, 0]);
    assert_eq!(bytes(&NumberValue::infinity(true)), [0x01, 0, 0]);
    assert_eq!(bytes(&NumberValue::from_pairs(false, &[1], 103, 0)), [0xfd, 0, 0, 103, 2, 0, 0, 0]);
    assert_eq!(bytes(&NumberValue::from_pairs(false, &[10], -8191, SCALE_MAX)), [0x81, 0x20, 1, 11, 0, 0x3f, 0xff]);
}

fn random_number(random: &mut Random) -> NumberValue {
    match random.below(20) {
        0 => return NumberValue::nan(),
        1 => return NumberValue::infinity(random.below(2) == 0),
        2 => return number(0, random.below(5) as u16),
        _ => {}
    }
    if random.below(2) == 0 {
        let digits = i128::from(random.next().cast_signed()) * i128::from(random.next() >> 1);
        return number(digits >> random.below(127), random.below(40) as u16);
    }
    let count = random.below(7) as usize + 1;
    let pairs: Vec<u8> = (0..count).map(|_| if random.below(3) == 0 { 0 } else { random.below(100) as u8 }).collect();
    let exponent = match random.below(4) {
        0 => random.below(250) as i32 - 125,
        1 => random.below(70_000) as i32 - 8_000,
        _ => random.below(6) as i32 - 3,
    };
    let exponent = exponent.clamp(count as i32 - 8_190, EXPONENT_MAX);
    let scale = digits_behind(&[1], exponent - count as i32 + 1).max(0) as u16 + random.below(3) as u16;
    NumberValue::from_pairs(random.below(2) == 0, &pairs, exponent, scale.min(SCALE_MAX))
}

/// Compares by the parts, without the key.
fn compare(a: &NumberValue, b: &NumberValue) -> Ordering {
    let rank = |parts: &Parts| match parts {
        Parts::Infinite { negative: true } => 0,
        Parts::Finite { .. } => 1,
        Parts::Infinite { negative: false } => 2,
        Parts::NaN => 3,
    };
    let (a, b) = (a.as_ref().read(), b.as_ref().read());
    let (
        Parts::Finite { negative, pairs, exponent, .. },
        Parts::Finite { negative: other_negative, pairs: other_pairs, exponent: other_exponent, .. },
    ) = (&a, &b)
    else {
        return rank(&a).cmp(&rank(&b));
    };
    let sign = |negative: bool, pairs: &[u8]| if pairs.is_empty() { 0 } else { 1 - 2 * i32::from(negative) };
    let (left, right) = (sign(*negative, pairs), sign(*other_negative, other_pairs));
    if left != right || left == 0 {
        return left.cmp(&right);
    }
    let size = exponent.cmp(other_exponent).then_with(|| pairs.cmp(other_pairs));
    if *negative { size.reverse() } else { size }
}

#[test]
fn keys_compare_as_numbers_do_and_are_no_prefixes() {
    let mut random = Random(71);
    let numbers: Vec<_> = (0..600).map(|_| random_number(&mut random)).collect();
    for a in &numbers {
        assert_eq!(NumberValue::from_bytes(a.as_ref().as_bytes()).unwrap(), *a);
        assert_eq!(NumberRef::key_at_front(a.as_ref().as_bytes()), Some(a.as_ref().key()));
        for b in &numbers {
            let order = compare(a, b);
            assert_eq!(a.cmp(b), order, "{a:?} {b:?}");
            assert_eq!(a == b, order.is_eq());
            let is_prefix = b.as_ref().key().starts_with(a.as_ref().key());
            assert_eq!(is_prefix, order.is_eq(), "{a:?} {b:?}");
        }
    }
}

#[test]
fn parts_and_integers_read_back() {
    let mut random = Random(72);
    for _ in 0..20_000 {
        let (scale, shift) = (random.below(60) as u16, random.below(127));
        let digits = (i128::from(random.next().cast_signed()) << 63 | i128::from(random.next() >> 1)) >> shift;
        let value = number(digits, scale);
        let read = value.as_ref().small();
        let is_short = digits.unsigned_abs() < 10_u128.pow(37);
        assert!(read == Some((digits, scale)) || (read.is_none() && !is_short), "{digits} {scale}: {value:?}");
        if let Parts::Finite { negative, pairs, exponent, scale } = value.as_ref().read() {
            let again = NumberValue::from_pairs(negative, &pairs, exponent, scale);
            assert_eq!(again.as_ref().as_bytes(), value.as_ref().as_bytes());
        }
    }
    for digits in [i128::MAX, i128::MIN, i128::MIN + 1] {
        for scale in 0..50 {
            let Parts::Finite { negative, pairs, exponent, .. } = number(digits, scale).as_ref().read() else {
                panic!("{digits} is finite");
            };
            let text: String = pairs.iter().map(|pair| format!("{pair:02}")).collect();
            let shown = digits.unsigned_abs().to_string();
            assert_eq!(text.trim_matches('0'), shown.trim_end_matches('0'), "{exponent}");
            assert_eq!(negative, digits < 0);
        }
    }
}

#[test]
fn other_bytes_are_refused() {
    let mut random = Random(73);
    for _ in 0..300 {
        let good = bytes(&random_number(&mut random));
        for end in 0..good.len() {
            assert!(NumberValue::from_bytes(&good[..end]).is_err(), "{good:?} up to {end}");
        }
        for _ in 0..200 {
            let mut bad = good.clone();
            bad[random.below(good.len() as u64) as usize] = random.next() as u8;
            let Ok(read) = NumberValue::from_bytes(&bad) else { continue };
            let spelled = match read.as_ref().read() {
                Parts::NaN => NumberValue::nan(),
                Parts::Infinite { negative } => NumberValue::infinity(negative),
                Parts::Finite { negative, pairs, exponent, scale } => {
                    NumberValue::from_pairs(negative, &pairs, exponent, scale)
                }
            };
            assert_eq!(bytes(&spelled), bad, "an accepted number is the only spelling");
        }
    }
}
