//! Roman numerals.
//!
//! ```text
//!   1994    MCMXCIV        4000    ###############
//! ```

/// The numerals of the months.
pub(super) const MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// As wide as the longest numeral, MMMDCCCLXXXVIII.
pub(super) const CHARS_MAX: usize = 15;

const STEPS: [(i64, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// A number from 1 to 3999; others have no numeral.
pub(super) fn numeral(number: i64) -> String {
    if !(1..=3999).contains(&number) {
        return "#".repeat(CHARS_MAX);
    }
    let mut out = String::new();
    let mut rest = number;
    for (value, letters) in STEPS {
        while rest >= value {
            out.push_str(letters);
            rest -= value;
        }
    }
    out
}
