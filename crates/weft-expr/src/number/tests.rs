//! `golden.txt` has PostgreSQL 15's answers to random operations.

use weft_format::{DataType, Result};

use super::{Number, Sums, parse_number, read_wire, write_number, write_wire};

fn number(text: &str) -> Result<Number> {
    Ok(Number::from_bytes(parse_number(text)?.as_ref()))
}

fn shown(number: &Number) -> String {
    let bytes = number.to_bytes();
    let mut text = String::new();
    write_number(&mut text, bytes.as_ref());
    assert_eq!(Number::from_bytes(bytes.as_ref()).to_bytes().as_ref().as_bytes(), bytes.as_ref().as_bytes());
    text
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the golden file has for an operation.
fn computed(operation: &str, operands: &[&str]) -> Result<String> {
    let at = |at: usize| number(operands[at]);
    let int = |at: usize| operands[at].parse::<i64>().expect("a golden line has an integer there");
    let count = |count: Option<u32>| count.map_or("NULL".into(), |count| count.to_string());
    Ok(shown(&match operation {
        "in" => number(&operands[0].replace("\\t", "\t"))?,
        "+" => at(0)?.plus(&at(1)?)?,
        "-" => at(0)?.minus(&at(1)?)?,
        "*" => at(0)?.times(&at(1)?)?,
        "/" => at(0)?.divided_by(&at(1)?)?,
        "%" => at(0)?.remainder(&at(1)?)?,
        "div" => at(0)?.whole_quotient(&at(1)?)?,
        "round" => at(0)?.rounded(int(1))?,
        "trunc" => at(0)?.truncated(int(1))?,
        "ceil" => at(0)?.ceil()?,
        "floor" => at(0)?.floor()?,
        "sqrt" => at(0)?.root()?,
        "exp" => at(0)?.exp()?,
        "ln" => at(0)?.ln()?,
        "log" => Number::log(&at(0)?, &at(1)?)?,
        "power" => at(0)?.power(&at(1)?)?,
        "gcd" => at(0)?.common_divisor(&at(1)?)?,
        "lcm" => at(0)?.common_multiple(&at(1)?)?,
        "fact" => Number::factorial(int(0))?,
        "fit" => at(0)?.fitted(int(1) as u16, int(2) as i16)?,
        "bucket" => return Ok(at(0)?.bucket(&at(1)?, &at(2)?, int(3))?.to_string()),
        "cmp" => return Ok((at(0)?.cmp(&at(1)?) as i8).to_string()),
        "scales" => {
            let number = at(0)?;
            return Ok(format!("{} {} {}", count(number.scale()), count(number.min_scale()), shown(&number.trimmed())));
        }
        "from8" => Number::from_float(operands[0].parse().expect("a float"), false)?,
        "from4" => Number::from_float(operands[0].parse::<f32>().expect("a float").into(), true)?,
        "toint" => {
            let to = match operands[1] {
                "smallint" => DataType::SmallInt,
                "integer" => DataType::Integer,
                _ => DataType::BigInt,
            };
            return at(0)?.to_integer(to).map(|value| value.to_string());
        }
        "to8" => {
            let float = at(0)?.to_float(DataType::DoublePrecision)?;
            return Ok(crate::text::print(weft_format::ValueRef::Float(float), DataType::DoublePrecision));
        }
        "send" => {
            let (mut out, bytes) = (Vec::new(), parse_number(operands[0])?);
            write_wire(&mut out, bytes.as_ref());
            assert_eq!(read_wire(&out)?.as_ref().as_bytes(), bytes.as_ref().as_bytes());
            return Ok(hexadecimal(&out));
        }
        "agg" => return aggregated(operands[0], &operands[1..]),
        other => panic!("the golden file has the operation {other}"),
    }))
}

fn aggregated(aggregate: &str, operands: &[&str]) -> Result<String> {
    let (mut sums, mut others) = (Sums::new(true), Sums::new(true));
    for (at, text) in operands.iter().enumerate() {
        let part = if at % 2 == 0 { &mut sums } else { &mut others };
        part.add(&number(text)?);
    }
    sums.merge(&others);
    let result = match aggregate {
        "sum" => sums.sum()?,
        "avg" => sums.average()?,
        "var_pop" => sums.variance(false)?,
        "var_samp" => sums.variance(true)?,
        "stddev_pop" => sums.deviation(false)?,
        _ => sums.deviation(true)?,
    };
    Ok(result.map_or("NULL".into(), |number| shown(&number)))
}

#[test]
fn answers_are_postgresqls() {
    let (mut wrong, mut all) = (Vec::new(), 0);
    for line in include_str!("golden.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('|').collect();
        let [operation, operands @ .., expected] = fields.as_slice() else { panic!("a golden line has fields") };
        let found = computed(operation, operands).unwrap_or_else(|error| error.sqlstate().to_owned());
        all += 1;
        if found != *expected {
            wrong.push(format!("{line}\n    but {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The MD5 sum of a number's text.
fn digest(number: &Number) -> String {
    use md5::Digest;
    hexadecimal(&md5::Md5::digest(shown(number).as_bytes()))
}

/// A digit repeated, which may stand behind others.
fn repeated(head: &str, digit: &str, count: usize) -> Number {
    number(&format!("{head}{}", digit.repeat(count))).unwrap()
}

#[test]
fn numbers_of_many_digits_are_postgresqls() {
    let digests = [
        (repeated("", "7", 60_000).times(&repeated("", "3", 60_000)), "474f8769574a10e7ed6b16eb666d2bae"),
        (repeated("", "7", 90_000).whole_quotient(&repeated("", "3", 30_000)), "95fe63b83dc9fac8ce37a4b59afe2e49"),
        (Number::factorial(5_000), "ef55f1756a66a6ed9a8a23e45c346534"),
        (repeated("", "7", 20_000).root(), "b8d3e7a2fc4451ed433913ba50f65500"),
        (number("5999.5").unwrap().exp(), "7ef85a4ef11ef52d3fd69687f10bd7d8"),
        (repeated("", "7", 60_000).ln(), "cf41997da427c2ce603413eb25a0f8e1"),
        (repeated("0.", "3", 3_000).exp(), "fb74631e4f82c7e65048150ed58c58ea"),
        (repeated("2.", "3", 3_000).ln(), "48e4bcdd1edc442332f53c1f3bbac6c1"),
        (repeated("", "7", 20_000).common_divisor(&repeated("", "3", 15_000)), "2680c881d517ea7c27331fb3415570f5"),
    ];
    for (at, (number, expected)) in digests.into_iter().enumerate() {
        assert_eq!(digest(&number.unwrap()), expected, "number {at}");
    }
}

#[test]
fn numbers_have_so_many_digits_and_no_more() {
    let largest = repeated("", "9", 131_072);
    assert_eq!(shown(&largest.minus(&Number::new(1, 0)).unwrap()).len(), 131_072);
    assert_eq!(largest.plus(&Number::new(1, 0)).unwrap_err().message(), "value overflows numeric format");
    assert!(largest.times(&Number::new(2, 0)).is_err());
    assert!(largest.times(&largest).is_err());
    assert!(Number::new(10, 0).power(&Number::new(131_072, 0)).is_err());
    assert_eq!(Number::new(10, 0).power(&Number::new(131_071, 0)).unwrap(), number("1e131071").unwrap());
    let longest = repeated("0.", "3", 16_383);
    assert_eq!(shown(&longest).len(), 16_385);
    let third = repeated("0.", "3", 9_000);
    let product = shown(&third.times(&third).unwrap());
    assert_eq!((product.len(), &product[product.len() - 5..]), (16_385, "88889"));
    assert!(parse_number(&format!("0.{}", "3".repeat(16_384))).is_err());
    assert!(Number::factorial(32_178).is_err());
    assert_eq!(shown(&Number::factorial(32_177).unwrap()).len(), 131_068);
}

#[test]
fn errors_are_postgresqls() {
    let said = |result: Result<Number>| {
        let error = result.unwrap_err();
        format!("{}: {}{}", error.sqlstate(), error.message(), error.detail_text().unwrap_or(""))
    };
    assert_eq!(said(number(" 1x ")), "22P02: invalid input syntax for type numeric: \" 1x \"");
    assert_eq!(said(Number::new(1, 0).divided_by(&Number::new(0, 2))), "22012: division by zero");
    assert_eq!(said(Number::new(-1, 0).root()), "2201F: cannot take square root of a negative number");
    assert_eq!(said(Number::new(0, 1).ln()), "2201E: cannot take logarithm of zero");
    assert_eq!(
        said(Number::new(12345, 2).fitted(4, 2)),
        "22003: numeric field overflowA field with precision 4, scale 2 must round to an absolute value less than 10^2."
    );
    assert_eq!(
        said(Number::infinity(true).fitted(4, 2)),
        "22003: numeric field overflowA field with precision 4, scale 2 cannot hold an infinite value."
    );
    let error = Number::nan().to_integer(DataType::Integer).unwrap_err();
    assert_eq!((error.sqlstate(), error.message()), ("0A000", "cannot convert NaN to integer"));
}

#[test]
fn numbers_are_taken_from_sums_again() {
    let mut sums = Sums::new(true);
    let numbers = ["1.5", "2.25", "NaN", "-3", "1.75", "Infinity"].map(|text| number(text).unwrap());
    numbers.iter().for_each(|number| sums.add(number));
    assert!(sums.sum().unwrap().unwrap().is_nan());
    assert!(sums.remove(&numbers[2]));
    assert_eq!(shown(&sums.sum().unwrap().unwrap()), "Infinity");
    assert!(sums.remove(&numbers[5]));
    assert_eq!(shown(&sums.sum().unwrap().unwrap()), "2.50");
    assert_eq!(shown(&sums.variance(false).unwrap().unwrap()), "4.4531250000000000");
    assert!(sums.remove(&numbers[1]));
    assert_eq!(shown(&sums.average().unwrap().unwrap()), "0.08333333333333333333");
    assert!(!sums.remove(&numbers[4]), "the sum would have one digit behind the point");
    assert_eq!(sums.count(), 3);
}

#[test]
fn bytes_of_the_wire_are_tested() {
    let word = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let read = |words: &[u16]| read_wire(&word(words)).map(|bytes| shown(&Number::from_bytes(bytes.as_ref())));
    assert_eq!(read(&[3, 1, 0, 3, 1, 2345, 6780]).unwrap(), "12345.678");
    assert_eq!(read(&[3, 1, 0, 1, 1, 2345, 6780]).unwrap(), "12345.6", "what the scale hides is cut off");
    assert_eq!(read(&[2, 0, 0x4000, 5, 0, 1]).unwrap(), "-0.00010");
    assert_eq!(read(&[0, 0, 0, 2]).unwrap(), "0.00");
    assert_eq!(read(&[0, 0, 0xd000, 0]).unwrap(), "Infinity");
    assert_eq!(read(&[1, 0x7fff, 0, 0, 9999]).unwrap().len(), 131_072);
    let message = |words: &[u16]| read(words).unwrap_err().message().to_owned();
    assert_eq!(message(&[0, 0, 1, 0]), "invalid sign in external \"numeric\" value");
    assert_eq!(message(&[0, 0, 0, 0x4000]), "invalid scale in external \"numeric\" value");
    assert_eq!(message(&[1, 0, 0, 0, 10_000]), "invalid digit in external \"numeric\" value");
    assert_eq!(message(&[2, 0, 0, 0, 1]), "insufficient data left in message");
    assert!(read_wire(&[0; 7]).is_err() && read_wire(&[0; 9]).is_err());
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..20_000 {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let count = next() % 5;
        let mut words = vec![count as u16, (next() % 12) as u16, (next() % 2 * 0x4000) as u16, (next() % 20) as u16];
        words.extend((0..count).map(|_| (next() % 3 * 3_333) as u16));
        words[1] = words[1].wrapping_sub(6);
        let number = read_wire(&word(&words)).unwrap();
        let mut again = Vec::new();
        write_wire(&mut again, number.as_ref());
        assert_eq!(read_wire(&again).unwrap().as_ref().as_bytes(), number.as_ref().as_bytes());
    }
}
