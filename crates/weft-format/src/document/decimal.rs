//! The numbers of jsonb as integers: a mantissa and how many of its digits stand behind the point.
//!
//! ```text
//!   21.50  ──▶  2150, 2      -7  ──▶  -7, 0      123456789012345678901  ──▶  kept as text (a numeral)
//! ```
//!
//! jsonb keeps the digits that a number was written with, so that `1.5` and `1.50` are different texts; a mantissa and
//! a scale keep both. A column of numbers has one scale as a rule, and then only mantissas are stored ([`Form`]).

/// Most digits of a mantissa: every number of so many digits fits 64 bits.
const DIGITS_MAX: usize = 18;

/// A number of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// With at most 18 digits.
    Small(Decimal),
    /// With more.
    Numeral,
}

/// `mantissa / 10^scale`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) mantissa: i64,
    pub(crate) scale: u8,
}

/// How the numbers of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each with so many digits behind the point.
    Fixed(u8),
    /// Mantissas have this scale; zeros at the end of the fraction are not written, nor a point without a fraction.
    Trimmed(u8),
    /// As [`Form::Trimmed`], but one digit at least is written behind the point.
    Pointed(u8),
    /// Each number has a scale of its own.
    Each,
}

impl Number {
    /// Reads a number as canonical jsonb has it; None when it is not written so.
    #[inline]
    pub(crate) fn parse(text: &str) -> Option<Number> {
        let bytes = text.as_bytes();
        let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
        let (mut mantissa, mut point, mut significant) = (0_u64, None, 0_usize);
        for (at, &byte) in digits.iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    significant += usize::from(significant > 0 || byte != b'0');
                    mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                }
                b'.' if point.is_none() => point = Some(at),
                _ => return None,
            }
        }
        let whole = point.unwrap_or(digits.len());
        let scale = point.map_or(0, |at| digits.len() - at - 1);
        let is_well_formed = whole > 0 && (whole == 1 || digits[0] != b'0') && (point.is_none() || scale > 0);
        let is_negative = bytes.len() > digits.len();
        if !is_well_formed || is_negative && significant == 0 {
            return None;
        }
        if significant > DIGITS_MAX || scale > DIGITS_MAX {
            return Some(Number::Numeral);
        }
        let mantissa = if is_negative { -(mantissa as i64) } else { mantissa as i64 };
        Some(Number::Small(Decimal { mantissa, scale: scale as u8 }))
    }
}

impl Decimal {
    /// Without zeros at the end of its fraction, but for so many digits.
    fn trimmed(mut self, scale_min: u8) -> Decimal {
        while self.scale > scale_min && self.mantissa % 10 == 0 {
            self = Decimal { mantissa: self.mantissa / 10, scale: self.scale - 1 };
        }
        self
    }

    /// The mantissa at a scale that is no smaller.
    fn at_scale(self, scale: u8) -> Option<i64> {
        self.mantissa.checked_mul(10_i64.checked_pow(u32::from(scale - self.scale))?)
    }

    /// Appends the number with the digits that it has.
    #[inline]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let mut digits = [b'0'; 40];
        let (mut at, mut rest) = (digits.len(), self.mantissa.unsigned_abs());
        let fraction_at = digits.len() - usize::from(self.scale);
        while rest > 0 || at >= fraction_at {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if self.mantissa < 0 {
            out.push(b'-');
        }
        out.extend_from_slice(&digits[at..fraction_at]);
        if self.scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&digits[fraction_at..]);
        }
    }

    /// The nearest double.
    #[inline]
    pub(crate) fn to_f64(self) -> f64 {
        // Both are exact, so that the quotient is rounded once.
        if self.mantissa.unsigned_abs() < 1 << 53 {
            return self.mantissa as f64 / POWERS[usize::from(self.scale)];
        }
        let mut text = Vec::new();
        self.write(&mut text);
        std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    }

    /// Orders by value.
    pub(crate) fn compare(self, other: Decimal) -> std::cmp::Ordering {
        if self.scale == other.scale {
            return self.mantissa.cmp(&other.mantissa);
        }
        let scale = self.scale.max(other.scale);
        let at = |number: Decimal| i128::from(number.mantissa) * 10_i128.pow(u32::from(scale - number.scale));
        at(self).cmp(&at(other))
    }
}

const POWERS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];

impl Form {
    /// The form that takes the least for these numbers, and their mantissas in it.
    pub(crate) fn of(numbers: impl Iterator<Item = Decimal> + Clone) -> (Form, Vec<i64>) {
        let first = numbers.clone().next().map_or(0, |number| number.scale);
        let scale = numbers.clone().map(|number| number.scale).max().unwrap_or(0);
        let all_have = |scale_min: u8| numbers.clone().all(|number| number.trimmed(scale_min) == number);
        let form = if numbers.clone().all(|number| number.scale == first) {
            return (Form::Fixed(first), numbers.map(|number| number.mantissa).collect());
        } else if all_have(0) {
            Form::Trimmed(scale)
        } else if all_have(1) && numbers.clone().all(|number| number.scale > 0) {
            Form::Pointed(scale)
        } else {
            Form::Each
        };
        let scaled = || numbers.clone().map(|number| number.at_scale(scale)).collect::<Option<Vec<_>>>();
        match (form != Form::Each).then(scaled).flatten() {
            Some(mantissas) => (form, mantissas),
            None => (Form::Each, numbers.map(|number| number.mantissa).collect()),
        }
    }

    /// The number of a stored mantissa; `scale` is its own, for [`Form::Each`].
    #[inline]
    pub(crate) fn number(self, mantissa: i64, scale: u8) -> Decimal {
        match self {
            Form::Fixed(scale) => Decimal { mantissa, scale },
            Form::Trimmed(scale) => Decimal { mantissa, scale }.trimmed(0),
            Form::Pointed(scale) => Decimal { mantissa, scale }.trimmed(1),
            Form::Each => Decimal { mantissa, scale },
        }
    }

    /// The value of a stored mantissa of any form but [`Form::Each`]; its digits may be others.
    #[inline]
    pub(crate) fn number_untrimmed(self, mantissa: i64) -> Decimal {
        let (Form::Fixed(scale) | Form::Trimmed(scale) | Form::Pointed(scale)) = self else {
            return Decimal { mantissa, scale: 0 };
        };
        Decimal { mantissa, scale }
    }

    /// The nearest doubles of stored mantissas of any form but [`Form::Each`].
    pub(crate) fn doubles(self, mantissas: &[i64], out: &mut Vec<f64>) {
        let scale = self.number_untrimmed(0).scale;
        let is_exact = mantissas.iter().all(|mantissa| mantissa.unsigned_abs() < 1 << 53);
        if is_exact {
            let power = POWERS[usize::from(scale)];
            out.extend(mantissas.iter().map(|&mantissa| mantissa as f64 / power));
        } else {
            out.extend(mantissas.iter().map(|&mantissa| Decimal { mantissa, scale }.to_f64()));
        }
    }

    pub(crate) fn code(self) -> [u8; 2] {
        match self {
            Form::Fixed(scale) => [0, scale],
            Form::Trimmed(scale) => [1, scale],
            Form::Pointed(scale) => [2, scale],
            Form::Each => [3, 0],
        }
    }

    pub(crate) fn from_code(code: [u8; 2]) -> Option<Form> {
        match code {
            [_, scale] if usize::from(scale) > DIGITS_MAX => None,
            [0, scale] => Some(Form::Fixed(scale)),
            [1, scale] => Some(Form::Trimmed(scale)),
            [2, scale] => Some(Form::Pointed(scale)),
            [3, 0] => Some(Form::Each),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(text: &str) -> Decimal {
        match Number::parse(text) {
            Some(Number::Small(decimal)) => decimal,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn numbers_keep_their_text() {
        let digits =
            ["0", "7", "-7", "0.0", "0.00", "1.5", "1.50", "-0.001", "999999999999999999", "0.000000000000000001"];
        for text in digits {
            let mut out = Vec::new();
            small(text).write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
            assert_eq!(small(text).to_f64(), text.parse::<f64>().unwrap());
        }
        for text in ["1000000000000000000", "0.0000000000000000001", "-9223372036854775808", "12345678901.1234567890"] {
            assert_eq!(Number::parse(text), Some(Number::Numeral), "{text}");
        }
        for text in ["", "-", "-0", "-0.0", "00", "01", "1.", ".5", "1.2.3", "1-2", "--1", "1e5"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
        let long = "0.123456789012345678";
        assert_eq!(small(long).to_f64(), long.parse::<f64>().unwrap());
    }

    #[test]
    fn forms_give_back_what_they_took() {
        let cases = [
            (vec!["1", "2", "-3"], Form::Fixed(0)),
            (vec!["1.50", "2.00"], Form::Fixed(2)),
            (vec!["21.5", "21.53", "21"], Form::Trimmed(2)),
            (vec!["21.5", "21.53", "21.0"], Form::Pointed(2)),
            (vec!["21.50", "21.5"], Form::Each),
            (vec!["21.0", "21"], Form::Each),
            (vec!["0.000000000000000001", "123456789"], Form::Each),
        ];
        for (texts, expected) in cases {
            let numbers: Vec<Decimal> = texts.iter().map(|text| small(text)).collect();
            let (form, mantissas) = Form::of(numbers.iter().copied());
            assert_eq!(form, expected, "{texts:?}");
            assert_eq!(Form::from_code(form.code()), Some(form));
            for (number, mantissa) in numbers.iter().zip(mantissas) {
                assert_eq!(form.number(mantissa, number.scale), *number, "{texts:?}");
            }
        }
        assert_eq!(Form::from_code([0, 19]), None);
        assert_eq!(Form::from_code([4, 0]), None);
    }

    #[test]
    fn order_is_by_value() {
        assert!(small("1.5").compare(small("1.50")).is_eq());
        assert!(small("-2").compare(small("1.00")).is_lt());
        assert!(small("999999999999999999").compare(small("0.000000000000000001")).is_gt());
    }
}
