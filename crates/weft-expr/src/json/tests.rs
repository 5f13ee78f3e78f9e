use weft_format::Code;

use super::*;

#[test]
fn canonical_texts_are_postgresqls() {
    let cases = [
        (r#" {"b": 1.50, "a":[1,  true], "b": 2e1} "#, r#"{"a": [1, true], "b": 20}"#),
        (r#"{"aa":1,"b":2,"":null}"#, r#"{"": null, "b": 2, "aa": 1}"#),
        ("1.0e-3", "0.0010"),
        ("1.5E1", "15"),
        ("-0.0", "0.0"),
        ("-0", "0"),
        ("12345678901234567890.123456789", "12345678901234567890.123456789"),
        (r#""\u00e9\n\/\ud83e\uddf5\u0001""#, "\"é\\n/🧵\\u0001\""),
        ("[]", "[]"),
        ("{ }", "{}"),
        (" null ", "null"),
    ];
    for (written, wanted) in cases {
        assert_eq!(canonical(written).unwrap(), wanted, "{written}");
        assert_eq!(canonical(wanted).unwrap(), wanted, "a canonical text is its own");
    }
    for wrong in [
        "", " ", "{", "{a:1}", "[1,]", "01", "1.", ".5", "+1", "tru", "nulls", "\"a", "\"\\x\"", "[1] 2", "1e",
        "\"\t\"",
    ] {
        assert!(canonical(wrong).is_err(), "{wrong}");
        assert!(validate(wrong).is_err(), "{wrong}");
    }
    assert!(canonical("\"\\u0000\"").is_err() && validate("\"\\u0000\"").is_ok());
    assert!(canonical("1e200000").is_err());
    let deep = "[".repeat(JSON_DEPTH_MAX + 1) + &"]".repeat(JSON_DEPTH_MAX + 1);
    assert!(validate(&deep).is_err());
    assert!(canonical(&deep[1..deep.len() - 1]).is_ok());
}

#[test]
fn numbers_with_any_exponent_are_numbers_or_errors() {
    let (most, least) = (i64::MAX, i64::MIN);
    for exponent in [most, most - 1, least, least + 1, 1 << 40, -(1 << 40)] {
        for mantissa in ["1", "12.5", "-0", "0.001"] {
            assert_eq!(canonical(&format!("{mantissa}e{exponent}")).unwrap_err().code(), Code::NumericOutOfRange);
        }
    }
    assert!(canonical("1e99999999999999999999").is_err() && canonical("1e131072").is_err());
    assert_eq!(canonical("1e131071").unwrap().len(), 131_072);
}

#[test]
fn operators() {
    let value = canonical(r#"{"a": [1, {"b": "x"}, null], "n": 1.0}"#).unwrap();
    let path = |steps: &[&str]| steps.iter().map(|step| Some((*step).to_owned())).collect::<Vec<_>>();
    assert_eq!(get_path(&value, &path(&["a", "1", "b"])).unwrap(), Some("\"x\""));
    assert_eq!(get_path(&value, &path(&["a", "-1"])).unwrap(), Some("null"));
    assert_eq!(get_path(&value, &path(&["a", "x"])).unwrap(), None);
    assert_eq!(plain_text("\"x\"").unwrap().as_deref(), Some("x"));
    assert_eq!(plain_text("null").unwrap(), None);
    let holds = |a: &str, b: &str| contains(&canonical(a).unwrap(), &canonical(b).unwrap()).unwrap();
    assert!(holds(r#"{"a": 1, "b": {"c": [1, 2, 3]}}"#, r#"{"b": {"c": [3, 1.0]}}"#));
    assert!(holds("[1, [2]]", "[[2]]") && holds("[1, 2]", "1") && !holds("1", "[1]"));
    assert!(!holds("[1, [2]]", "[2]") && !holds(r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#));
    assert!(is_equal("[1.0, 2]", "[1, 2.00]").unwrap() && !is_equal("[1]", "[10]").unwrap());
    assert_eq!(concat(r#"{"a": 1}"#, r#"{"a": 2, "b": 3}"#).unwrap(), r#"{"a": 2, "b": 3}"#);
    assert_eq!(concat("[1]", "2").unwrap(), "[1, 2]");
    assert_eq!(delete_key(r#"["a", "b"]"#, "a").unwrap(), r#"["b"]"#);
    assert_eq!(delete_index("[1, 2, 3]", -1).unwrap(), "[1, 2]");
    let steps = |steps: &[&str]| steps.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>();
    assert_eq!(set_path("[1, {\"a\": 2}]", &steps(&["1", "a"]), "7", true).unwrap(), "[1, {\"a\": 7}]");
    assert_eq!(set_path("{}", &steps(&["x"]), "7", false).unwrap(), "{}");
    assert_eq!(set_path("[0]", &steps(&["-5"]), "7", true).unwrap(), "[7, 0]");
    assert_eq!(delete_path("{\"a\": [1, 2]}", &steps(&["a", "0"])).unwrap(), "{\"a\": [2]}");
    assert_eq!(pretty("{\"a\": [1, {}]}").unwrap(), "{\n    \"a\": [\n        1,\n        {\n        }\n    ]\n}");
}

/// The canonical text, part by part: what the other is compared with.
fn plain_canonical(text: &str) -> weft_format::Result<String> {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    match text.as_bytes()[0] {
        b'{' => {
            let mut parts = Vec::new();
            for (key, member) in members(text)?.unwrap() {
                parts.push((key, plain_canonical(member)?));
            }
            Ok(object_text(parts))
        }
        b'[' => {
            let parts: Vec<String> =
                items(text)?.unwrap().into_iter().map(plain_canonical).collect::<weft_format::Result<_>>()?;
            Ok(array_text(parts.iter().map(String::as_str)))
        }
        b'"' => {
            let mut out = String::new();
            quote(&unquoted(text)?, &mut out);
            Ok(out)
        }
        b'-' | b'0'..=b'9' => canonical::number(text),
        _ => Ok(text.to_owned()),
    }
}

#[test]
fn random_texts_are_canonical_as_part_by_part() {
    struct Random(u64);
    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
        fn of(&mut self, choices: &[&'static str]) -> &'static str {
            choices[self.below(choices.len() as u64) as usize]
        }
        fn string(&mut self) -> String {
            let parts = [
                "",
                "a",
                "bb",
                "é",
                "\\n",
                "\\u00e9",
                "\\\"",
                "\\\\",
                "\\/",
                "\\ud83e\\uddf5",
                "\\u0000",
                "\\ud800",
                " ",
                "{",
                "]",
            ];
            let text: String = (0..self.below(4)).map(|_| self.of(&parts)).collect();
            format!("\"{text}\"")
        }
        fn value(&mut self, depth: u64) -> String {
            let blank = self.of(&["", "", " ", "\n\t"]);
            let kinds = if depth == 0 { 3 } else { 5 };
            let body = match self.below(kinds) {
                0 => self.string(),
                1 => self.of(&["true", "false", "null"]).to_owned(),
                2 => {
                    let sign = self.of(&["", "-"]);
                    let whole = self.of(&["0", "1", "10", "9876543210"]);
                    let fraction = self.of(&["", "", ".0", ".50", ".001"]);
                    let exponent = self.of(&["", "", "e2", "E-3", "e+0", "e200000"]);
                    format!("{sign}{whole}{fraction}{exponent}")
                }
                3 => {
                    let parts: Vec<String> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                    format!("[{blank}{}]", parts.join(","))
                }
                _ => {
                    let part = |random: &mut Random| format!("{}{blank}:{}", random.string(), random.value(depth - 1));
                    let parts: Vec<String> = (0..self.below(5)).map(|_| part(self)).collect();
                    format!("{{{}{blank}}}", parts.join(", "))
                }
            };
            format!("{blank}{body}{blank}")
        }
    }
    let mut random = Random(7);
    let mut whole = 0;
    for _ in 0..60_000 {
        let text = random.value(3);
        let found = canonical(&text);
        match plain_canonical(&text) {
            Ok(expected) => {
                assert_eq!(found.unwrap(), expected, "{text}");
                whole += 1;
            }
            Err(_) => assert!(found.is_err(), "{text}"),
        }
    }
    assert!(whole > 30_000, "{whole}");
    for text in ["-0.000", "[-0,-0.5,-0e5]", &"9".repeat(20_000), &format!("0.{}", "1".repeat(16_383))] {
        assert_eq!(canonical(text).unwrap(), plain_canonical(text).unwrap());
    }
    assert!(canonical(&format!("0.{}", "1".repeat(16_384))).is_err() && canonical(&"9".repeat(131_073)).is_err());
}
