//! The settings of a session: SET, SHOW, RESET.
//!
//! Which there are, their values and what they say: the table of [`crate::configuration`].

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_expr::{Local, Style};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::catalog::ColumnPaths;
use weft_kernel::{Durability, IsolationLevel};

use crate::configuration::{
    ACCEPTED, Changes, Configured, Definition, Kind, SETTINGS, accepted, definition, parse_bool, parse_ms, print_bytes,
    print_ms,
};
use crate::freshness::{self, Freshness};

/// Which engine statements take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// The router decides.
    Auto,
    /// The point engine, or an error.
    Point,
    /// The query engine for queries, UPDATE and DELETE, or an error.
    Query,
}

/// A session's settings. Shared by `Arc` with running statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Which engine statements take.
    pub engine: EngineChoice,
    /// When scans read column indexes in the place of their tables.
    pub column_paths: ColumnPaths,
    /// Milliseconds; 0 = none.
    pub statement_timeout_ms: u64,
    /// Milliseconds; 0 = wait without end.
    pub lock_timeout_ms: u64,
    /// How long a session may be idle inside a transaction before it is ended, milliseconds; 0 = without end.
    pub idle_in_transaction_session_timeout_ms: u64,
    /// How long a session may be idle outside of one, milliseconds; 0 = without end.
    pub idle_session_timeout_ms: u64,
    /// What statements are to see at least, on a node that follows.
    pub freshness: Freshness,
    /// Whether new transactions are read-only.
    pub read_only: bool,
    /// Whether snapshots show commits that are not durable yet.
    pub speculative_reads: bool,
    /// The method of new tables that do not say one; `heap` is `column`.
    pub table_method: String,
    /// The moment that new transactions read, as it was set; empty: what is there now.
    pub system_time: String,
    /// The isolation level of new transactions.
    pub isolation: IsolationLevel,
    /// The time zone, and how dates, times and intervals are read and written.
    pub style: Style,
    /// What was set of settings that change nothing.
    pub others: BTreeMap<&'static str, String>,
    /// Settings of applications, whose names have a point: `app.user`.
    pub custom: BTreeMap<String, String>,
    /// What the client calls itself.
    pub application_name: String,
    /// The least severity of messages that the client is sent; above `notice` notices are kept from it.
    pub client_min_messages: String,
    /// The schemas in which names without one are looked for, in this order.
    pub search_path: String,
    /// The most memory queries of the query engine take together, bytes (read only here).
    pub memory_limit_bytes: u64,
    /// Whose rights count: what `current_user` tells (read only here).
    pub user: String,
    /// Who logged in: what `session_user` tells (read only here).
    pub session_user: String,
    /// The number of `user`; none: an embedded session, which may everything (read only here).
    pub role: Option<u32>,
    /// The number of `session_user` (read only here).
    pub session_role: Option<u32>,
    /// The database's name (read only here).
    pub database: String,
    /// The session's number (read only here).
    pub backend: i64,
    /// What the server was told (read only here).
    pub server: Arc<Configured>,
}

/// The method of tables when nobody says another.
pub(crate) const TABLE_METHOD: &str = "column";

/// The search path of a new session.
pub(crate) const SEARCH_PATH: &str = "\"$user\", public";

/// So far east or west of UTC no zone is: a week.
const ZONE_SECONDS_END: i32 = 168 * 3600;

/// The moment at which a zone is looked at, seconds since 1970.
const YEAR_2000: i64 = 946_684_800;

/// The user of an embedded database, and what that is called.
pub(crate) const USER: &str = "weft";

impl Settings {
    /// The value of a setting, as text.
    pub fn get(&self, name: &str) -> Result<String> {
        Ok(match name {
            "application_name" => self.application_name.clone(),
            "client_min_messages" => self.client_min_messages.clone(),
            "datestyle" => self.style.date_style(),
            "intervalstyle" => self.style.intervals.to_string(),
            "timezone" => self.style.zone.name().to_owned(),
            "default_table_access_method" => self.table_method.clone(),
            "default_transaction_isolation" => self.isolation.to_string(),
            "default_transaction_read_only" => on_off(self.read_only).into(),
            "extra_float_digits" => self.others.get(name).map_or("1", String::as_str).to_owned(),
            "durability" => match self.durability {
                Durability::Full => "full".into(),
                Durability::Async => "async".into(),
            },
            "column_indexes" => match self.column_paths {
                ColumnPaths::Auto => "auto".into(),
                ColumnPaths::Off => "off".into(),
                ColumnPaths::Always => "always".into(),
            },
            "engine" => match self.engine {
                EngineChoice::Auto => "auto".into(),
                EngineChoice::Point => "point".into(),
                EngineChoice::Query => "query".into(),
            },
            "freshness" | "freshness_token" | "freshness_timeout" => self.freshness.get(name),
            "idle_in_transaction_session_timeout" => print_ms(self.idle_in_transaction_session_timeout_ms),
            "idle_session_timeout" => print_ms(self.idle_session_timeout_ms),
            "lock_timeout" => print_ms(self.lock_timeout_ms),
            "query_memory" => print_bytes(self.memory_limit_bytes),
            "search_path" => self.search_path.clone(),
            "speculative_reads" => on_off(self.speculative_reads).into(),
            "system_time" => self.system_time.clone(),
            "statement_timeout" => print_ms(self.statement_timeout_ms),
            _ => match definition(name) {
                None if accepted(name).is_some() => {
                    let known = accepted(name).ok_or_else(|| unknown(name))?;
                    self.others.get(known.name).unwrap_or(&known.default).clone()
                }
                Some(known) => self.server.current().text(known.name).to_owned(),
                None => self.custom.get(name).cloned().ok_or_else(|| unknown(name))?,
            },
        })
    }

    /// Sets a setting from text.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let bad = |allowed: &str| {
            Error::new(Code::InvalidParameterValue, format!("invalid value for parameter \"{name}\": \"{value}\""))
                .hint(format!("allowed: {allowed}"))
        };
        let word = value.trim().to_lowercase();
        match name {
            "application_name" => self.application_name = value.into(),
            "client_min_messages" => {
                if let Some(Kind::Words(words)) = definition(name).map(|known| known.kind)
                    && !words.contains(&word.as_str())
                {
                    return Err(bad(&words.join(", ")));
                }
                self.client_min_messages = word;
            }
            "search_path" => self.search_path = value.into(),
            "default_table_access_method" => self.table_method = word,
            "timezone" | "datestyle" | "intervalstyle" | "system_time" => self.set_time(name, value)?,
            "extra_float_digits" => {
                let digits = word.parse().ok().filter(|digits: &i64| (1..=3).contains(digits));
                let digits = digits.ok_or_else(|| bad("1, 2, 3: floats are written with all their digits"))?;
                match digits {
                    1 => drop(self.others.remove("extra_float_digits")),
                    digits => drop(self.others.insert("extra_float_digits", digits.to_string())),
                }
            }
            "default_transaction_isolation" => {
                let allowed = "read committed, repeatable read, serializable";
                self.isolation = parse_isolation(&word).ok_or_else(|| bad(allowed))?;
            }
            "default_transaction_read_only" | "speculative_reads" => {
                let on = parse_bool(&word).ok_or_else(|| bad("on, off"))?;
                *if name == "speculative_reads" { &mut self.speculative_reads } else { &mut self.read_only } = on;
            }
            "durability" => {
                self.durability = durability(&word).ok_or_else(|| bad("full, async"))?;
            }
            "column_indexes" => {
                self.column_paths = column_paths(&word).ok_or_else(|| bad("auto, off, always"))?;
            }
            "engine" => self.engine = engine(&word).ok_or_else(|| bad("auto, point, query"))?,
            "freshness" | "freshness_token" | "freshness_timeout" => {
                self.freshness.set(name, &word).ok_or_else(|| bad(freshness::allowed(name)))?;
            }
            "statement_timeout" | "lock_timeout" | "idle_session_timeout" | "idle_in_transaction_session_timeout" => {
                let allowed = "0 (none), milliseconds, or a number with ms, s, min or h";
                let ms = parse_ms(&word).ok_or_else(|| bad(allowed))?;
                *match name {
                    "statement_timeout" => &mut self.statement_timeout_ms,
                    "lock_timeout" => &mut self.lock_timeout_ms,
                    "idle_session_timeout" => &mut self.idle_session_timeout_ms,
                    _ => &mut self.idle_in_transaction_session_timeout_ms,
                } = ms;
            }
            _ => return self.set_other(name, value, &word, bad),
        }
        Ok(())
    }

    /// A setting that is taken without effect, one of an application, or one that does not change.
    fn set_other(&mut self, name: &str, value: &str, word: &str, bad: impl Fn(&str) -> Error) -> Result<()> {
        match accepted(name) {
            Some(known) => {
                self.others.insert(known.name, known.canonical(value)?);
            }
            None if definition(name).is_none() && is_custom(name) => {
                self.custom.insert(name.to_owned(), value.to_owned());
            }
            None => return set_fixed(name, word, bad),
        }
        Ok(())
    }

    /// What has to do with time.
    fn set_time(&mut self, name: &str, value: &str) -> Result<()> {
        if name != "system_time" {
            return self.set_style(name, value);
        }
        let text = value.trim();
        let is_moment = || weft_expr::text::parse(text, DataType::TimestampTz, &self.local(0)).is_ok();
        if !text.is_empty() && text.parse::<u64>().is_err() && !is_moment() {
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            let error = Error::new(Code::InvalidParameterValue, message);
            return Err(error.hint("allowed: a timestamptz, the number of a commit, or nothing"));
        }
        self.system_time = text.into();
        Ok(())
    }

    fn set_style(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "timezone" => {
                let hint = "a name like Europe/Berlin (pg_timezone_names), or hours east of UTC";
                let mut style = self.style.clone();
                style.set_zone(value).ok_or_else(|| invalid("TimeZone", value).hint(hint))?;
                let east_seconds = style.zone.at(YEAR_2000).east_seconds;
                if east_seconds.abs() >= ZONE_SECONDS_END {
                    let error = invalid("TimeZone", value).detail("UTC timezone offset is out of range.");
                    return Err(error.hint(hint));
                }
                if east_seconds % 60 != 0 && is_zone_name(value) {
                    let message = format!("time zone \"{value}\" appears to use leap seconds");
                    let error = Error::new(Code::InvalidParameterValue, message);
                    return Err(error.detail("PostgreSQL does not support leap seconds.").hint(hint));
                }
                self.style = style;
                Ok(())
            }
            "datestyle" => {
                let set = self.style.set_date_style(value);
                set.map_err(|why| invalid("DateStyle", value).detail(why))
            }
            _ => self.style.set_interval_style(value.trim().to_lowercase().as_str()).ok_or_else(|| {
                let hint = "Available values: postgres, postgres_verbose, sql_standard, iso_8601.";
                invalid("IntervalStyle", value).hint(hint)
            }),
        }
    }

    /// The zone and styles, with a time.
    pub(crate) fn local(&self, now_micros: i64) -> Local {
        Local::new(self.style.clone(), now_micros)
    }

    /// Whether notices are sent to the client.
    pub fn sends_notices(&self) -> bool {
        !matches!(self.client_min_messages.as_str(), "warning" | "error")
    }

    /// Sets a setting back to what `defaults` says.
    pub fn reset(&mut self, name: &str, defaults: &Settings) -> Result<()> {
        if let (Some(value), false) = (self.custom.get_mut(name), defaults.custom.contains_key(name)) {
            value.clear();
            return Ok(());
        }
        let value = defaults.get(name)?;
        match definition(name) {
            Some(known) if known.changes != Changes::Session => Ok(()),
            _ => self.set(name, &value),
        }
    }

    /// Name, value and meaning of every setting, by name.
    pub fn all(&self) -> Vec<(String, String, String)> {
        let value = |known: &Definition| {
            let value = self.get(known.name).expect("every setting has a value");
            (shown_name(known.name).into(), value, known.meaning.into())
        };
        let mut all: Vec<(String, String, String)> = SETTINGS.iter().map(value).collect();
        all.extend(ACCEPTED.iter().map(|known| {
            let value = self.others.get(known.name).unwrap_or(&known.default).clone();
            (known.name.into(), value, known.meaning.into())
        }));
        all.extend(self.custom.iter().map(|(name, value)| (name.clone(), value.clone(), String::new())));
        all.sort_by_key(|(name, ..)| name.to_lowercase());
        all
    }
}

/// Whether a name is that of a setting of an application: names of plain letters, digits and `_`, with points between.
fn is_custom(name: &str) -> bool {
    let is_plain = |part: &str| {
        part.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && part.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$'))
    };
    name.contains('.') && name.split('.').all(is_plain)
}

/// Whether a time zone is given by a name, not by hours or an interval.
fn is_zone_name(text: &str) -> bool {
    let is_interval = text.get(..8).is_some_and(|word| word.eq_ignore_ascii_case("interval"));
    !is_interval && text.trim().parse::<f64>().is_err()
}

/// A setting's name as PostgreSQL writes it: a few have capitals.
pub(crate) fn shown_name(name: &str) -> &str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        name => name,
    }
}

fn invalid(name: &str, value: &str) -> Error {
    Error::new(Code::InvalidParameterValue, format!("invalid value for parameter \"{name}\": \"{value}\""))
}

fn set_fixed(name: &str, word: &str, bad: impl Fn(&str) -> Error) -> Result<()> {
    let known = definition(name).ok_or_else(|| unknown(name))?;
    let value = known.default;
    let cannot = |hint: &str| {
        let message = format!("parameter \"{name}\" cannot be changed now");
        Err(Error::new(Code::InvalidParameterValue, message).hint(hint))
    };
    match known.changes {
        Changes::Start => return cannot("it is set when the server is started"),
        Changes::Ignored => return Ok(()),
        Changes::Engine => return cannot("it holds for the whole engine: SET it outside of a session's settings"),
        Changes::Reload => return cannot("change it in weft.conf, then SELECT pg_reload_conf()"),
        _ if name.starts_with("server_version") => return cannot("it is the server's"),
        _ => {}
    }
    let same = match name {
        "client_encoding" | "server_encoding" => matches!(word, "utf8" | "utf-8" | "unicode"),
        _ => word == value.to_lowercase(),
    };
    if same { Ok(()) } else { Err(bad(value)) }
}

fn unknown(name: &str) -> Error {
    Error::new(Code::UndefinedObject, format!("unrecognized configuration parameter \"{name}\""))
        .hint("SHOW ALL lists them")
}

fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

/// An isolation level by its name in lower case.
pub(crate) fn parse_isolation(word: &str) -> Option<IsolationLevel> {
    match word {
        "read uncommitted" | "read committed" => Some(IsolationLevel::ReadCommitted),
        "repeatable read" => Some(IsolationLevel::RepeatableRead),
        "serializable" => Some(IsolationLevel::Serializable),
        _ => None,
    }
}

fn durability(word: &str) -> Option<Durability> {
    match word {
        "full" => Some(Durability::Full),
        "async" => Some(Durability::Async),
        _ => None,
    }
}

fn engine(word: &str) -> Option<EngineChoice> {
    match word {
        "auto" => Some(EngineChoice::Auto),
        "point" => Some(EngineChoice::Point),
        "query" => Some(EngineChoice::Query),
        _ => None,
    }
}

fn column_paths(word: &str) -> Option<ColumnPaths> {
    match word {
        "auto" => Some(ColumnPaths::Auto),
        "off" => Some(ColumnPaths::Off),
        "always" => Some(ColumnPaths::Always),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            system_time: String::new(),
            durability: Durability::Full,
            freshness: Freshness::default(),
            engine: EngineChoice::Auto,
            column_paths: ColumnPaths::Auto,
            statement_timeout_ms: 0,
            lock_timeout_ms: 10_000,
            idle_in_transaction_session_timeout_ms: 0,
            idle_session_timeout_ms: 0,
            search_path: SEARCH_PATH.into(),
            style: Style::default(),
            others: BTreeMap::new(),
            custom: BTreeMap::new(),
            read_only: false,
            speculative_reads: false,
            table_method: TABLE_METHOD.to_owned(),
            isolation: IsolationLevel::ReadCommitted,
            application_name: String::new(),
            client_min_messages: "notice".into(),
            memory_limit_bytes: 1 << 30,
            user: USER.to_owned(),
            session_user: USER.to_owned(),
            role: None,
            session_role: None,
            database: USER.to_owned(),
            backend: 0,
            server: server(),
        }
    }

    /// One for all: settings are equal when the server's are the same.
    fn server() -> Arc<Configured> {
        static SERVER: std::sync::OnceLock<Arc<Configured>> = std::sync::OnceLock::new();
        Arc::clone(SERVER.get_or_init(Arc::default))
    }

    #[test]
    fn values_are_read_and_written() {
        let mut s = settings();
        s.set("durability", "ASYNC").unwrap();
        s.set("statement_timeout", "90s").unwrap();
        s.set("engine", "point").unwrap();
        s.set("speculative_reads", "on").unwrap();
        assert!(s.speculative_reads);
        assert_eq!(s.durability, Durability::Async);
        assert_eq!(s.get("statement_timeout").unwrap(), "90s");
        assert_eq!(s.get("query_memory").unwrap(), "1024MB");
        s.reset("engine", &settings()).unwrap();
        assert_eq!(s.engine, EngineChoice::Auto);
        assert_eq!(s.all().len(), SETTINGS.len() + ACCEPTED.len());
    }

    #[test]
    fn settings_are_told_as_they_were_set() {
        let mut s = settings();
        s.set("extra_float_digits", "3").unwrap();
        assert_eq!(s.get("extra_float_digits").unwrap(), "3");
        s.reset("extra_float_digits", &settings()).unwrap();
        assert_eq!(s.get("extra_float_digits").unwrap(), "1");
        for (zone, shown) in
            [("167", "<+167>-167"), ("05:30", "05:30"), ("interval '00:00:30'", "<+00:00:30>-00:00:30")]
        {
            s.set("timezone", zone).unwrap();
            assert_eq!(s.get("timezone").unwrap(), shown);
        }
        let names: Vec<String> = s.all().into_iter().map(|(name, ..)| name).collect();
        assert!(["DateStyle", "IntervalStyle", "TimeZone"].iter().all(|name| names.iter().any(|known| known == name)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut s = settings();
        for (name, value, code) in [
            ("engine", "gpu", Code::InvalidParameterValue),
            ("client_min_messages", "loud", Code::InvalidParameterValue),
            ("timezone", "Europe/Atlantis", Code::InvalidParameterValue),
            ("timezone", "168", Code::InvalidParameterValue),
            ("timezone", "-168", Code::InvalidParameterValue),
            ("timezone", "15:59:59", Code::InvalidParameterValue),
            ("timezone", "default", Code::InvalidParameterValue),
            ("extra_float_digits", "4", Code::InvalidParameterValue),
            ("extra_float_digits", "0", Code::InvalidParameterValue),
            ("client_encoding", "latin1", Code::InvalidParameterValue),
            ("default_transaction_isolation", "snapshot", Code::InvalidParameterValue),
            ("memory_limit", "1GB", Code::InvalidParameterValue),
            ("no_such", "1", Code::UndefinedObject),
        ] {
            assert_eq!(s.set(name, value).unwrap_err().code(), code, "{name}");
        }
        assert_eq!(s, settings());
    }
}
