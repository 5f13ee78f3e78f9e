//! Values of settings: read, tested, and written in one form.

use super::table::Kind;

impl Kind {
    /// A value in its one form; none when it is not allowed.
    pub(crate) fn canonical(self, value: &str) -> Option<String> {
        let value = value.trim();
        let word = value.to_lowercase();
        match self {
            Kind::Bool => parse_bool(&word).map(|on| if on { "on" } else { "off" }.to_owned()),
            Kind::Words(words) => words.contains(&word.as_str()).then_some(word),
            Kind::Count(least, most) => {
                let count = word.replace('_', "").parse().ok().filter(|count| (least..=most).contains(count));
                count.map(|count: u64| count.to_string())
            }
            Kind::Bytes(least) => parse_bytes(&word).filter(|&bytes| bytes >= least).map(print_bytes),
            Kind::MsOrOff if word == "-1" => Some(word),
            Kind::Ms | Kind::MsOrOff => parse_ms(&word).map(print_ms),
            Kind::Address if word.is_empty() || word == "none" => Some(String::new()),
            Kind::Address => value.parse::<std::net::SocketAddr>().ok().map(|address| address.to_string()),
            Kind::Text => Some(value.to_owned()),
        }
    }

    /// What is allowed, for people.
    pub(crate) fn allowed(self) -> String {
        match self {
            Kind::Bool => "on, off".into(),
            Kind::Words(words) => words.join(", "),
            Kind::Count(least, most) => format!("a number from {least} to {most}"),
            Kind::Bytes(0) => "bytes, or a number with kB, MB or GB; 0 is none".into(),
            Kind::Bytes(least) => format!("bytes, or a number with kB, MB or GB; at least {}", print_bytes(least)),
            Kind::Ms => "0 (none), milliseconds, or a number with ms, s, min or h".into(),
            Kind::MsOrOff => "-1 (off), milliseconds, or a number with ms, s, min or h".into(),
            Kind::Address => "ADDRESS:PORT, like 127.0.0.1:5432 or [::1]:5432, or nothing".into(),
            Kind::Text => "any text".into(),
        }
    }

    /// What `pg_settings.vartype` says.
    pub(super) fn vartype(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Words(_) => "enum",
            Kind::Count(..) | Kind::Bytes(_) | Kind::Ms | Kind::MsOrOff => "integer",
            Kind::Address | Kind::Text => "string",
        }
    }
}

/// A truth value by its name in lower case.
pub(crate) fn parse_bool(word: &str) -> Option<bool> {
    match word {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Milliseconds, of a text in lower case.
pub(crate) fn parse_ms(word: &str) -> Option<u64> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = word[..digits].parse().ok()?;
    let unit_ms = match word[digits..].trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.checked_mul(unit_ms)
}

/// Milliseconds as SHOW writes them.
pub(crate) fn print_ms(ms: u64) -> String {
    match ms {
        0 => "0".into(),
        ms if ms % 60_000 == 0 => format!("{}min", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

/// Bytes, of a text in lower case; units are powers of 1024.
pub(super) fn parse_bytes(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &word[digits.len()..] {
        "" | "b" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        _ => return None,
    };
    digits.trim().replace('_', "").parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Bytes as SHOW writes them.
pub(crate) fn print_bytes(bytes: u64) -> String {
    match bytes {
        0 => "0".into(),
        bytes if bytes % (1 << 20) == 0 => format!("{}MB", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{}kB", bytes >> 10),
        bytes => format!("{bytes}B"),
    }
}
