//! The settings of a session: SET, SHOW, RESET.
//!
//! | name | values | |
//! |---|---|---|
//! | durability | full, async | when a commit is acknowledged |
//! | engine | auto, row, column | which engine runs statements; a forced one that cannot is an error |
//! | statement_timeout | 0 = none; milliseconds, or with a unit: `250ms`, `5s`, `1min` | |
//! | default_transaction_isolation | read committed, repeatable read, serializable | level of new transactions |
//! | default_transaction_read_only | on, off | |
//! | application_name | any text | |
//! | client_min_messages | debug5 ... notice, warning, error | above notice no notices are sent |
//! | lock_timeout, idle_session_timeout, idle_in_transaction_session_timeout | as statement_timeout | |
//! | lock_timeout | as statement_timeout | |
//! | search_path | names of schemas, `"$user"` | where names without a schema are looked for |
//! | speculative_reads | on, off | whether snapshots show commits that are not durable yet |
//! | memory_limit, server_version, ... | | read only |
//! | timezone, client_encoding, datestyle, ... | one value each | accepted for clients that set them |

use weft_format::{Code, Error, Result};
use weft_kernel::{Durability, IsolationLevel};

/// Which engine statements take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// The router decides.
    Auto,
    /// The row engine, or an error.
    Row,
    /// The column engine for queries, UPDATE and DELETE, or an error.
    Column,
}

/// A session's settings. Shared by `Arc` with running statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// When a commit is acknowledged.
    pub durability: Durability,
    /// Which engine statements take.
    pub engine: EngineChoice,
    /// Milliseconds; 0 = none.
    pub statement_timeout_ms: u64,
    /// Milliseconds; 0 = wait without end.
    pub lock_timeout_ms: u64,
    /// How long a session may be idle inside a transaction before it is ended, milliseconds; 0 = without end.
    pub idle_in_transaction_session_timeout_ms: u64,
    /// How long a session may be idle outside of one, milliseconds; 0 = without end.
    pub idle_session_timeout_ms: u64,
    /// Whether new transactions are read-only.
    pub read_only: bool,
    /// Whether snapshots show commits that are not durable yet.
    pub speculative_reads: bool,
    /// The isolation level of new transactions.
    pub isolation: IsolationLevel,
    /// What the client calls itself.
    pub application_name: String,
    /// The least severity of messages that the client is sent; above `notice` notices are kept from it.
    pub client_min_messages: String,
    /// The schemas in which names without one are looked for, in this order.
    pub search_path: String,
    /// The most memory queries of the column engine take together, bytes (read only here).
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
}

/// The version of PostgreSQL whose dialect and protocol this is: what drivers and tools look at.
pub const SERVER_VERSION: &str = concat!("15.10 (Weft ", env!("CARGO_PKG_VERSION"), ")");
/// The same as a number: 10,000 times the major version, and the minor one.
pub const SERVER_VERSION_NUM: u32 = 150_010;
/// The search path of a new session.
pub(crate) const SEARCH_PATH: &str = "\"$user\", public";

/// The user of an embedded database, and what that is called.
pub(crate) const USER: &str = "weft";

/// Settings that have one value: name, value, what it says.
const FIXED: &[(&str, &str, &str)] = &[
    ("bytea_output", "hex", "How bytea is written"),
    ("client_encoding", "UTF8", "Text is UTF-8"),
    ("datestyle", "ISO, MDY", "Dates are written YYYY-MM-DD"),
    ("default_tablespace", "", "There is one place for tables: the directory of the database"),
    ("extra_float_digits", "1", "Floats are written with the digits that read back the same"),
    ("integer_datetimes", "on", "Timestamps count microseconds"),
    ("lc_collate", "C.UTF-8", "Texts are ordered by their bytes"),
    ("lc_ctype", "C.UTF-8", "Letters are those of Unicode"),
    ("intervalstyle", "postgres", "How intervals are written"),
    ("server_encoding", "UTF8", "Text is UTF-8"),
    ("standard_conforming_strings", "on", "Backslashes in '...' are ordinary characters"),
    ("timezone", "UTC", "The time zone of timestamptz"),
];

/// Severities of messages, from the least on.
const SEVERITIES: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error"];
/// Settings of PostgreSQL that mean nothing here, whatever their value; what SHOW says.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("check_function_bodies", "on"),
    ("client_min_messages", "notice"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    ("default_with_oids", "off"),
    ("row_security", "on"),
    ("synchronize_seqscans", "on"),
    ("transaction_timeout", "0"),
    ("xmloption", "content"),
];

const VARIABLE: &[(&str, &str)] = &[
    ("application_name", "What the client calls itself"),
    ("client_min_messages", "The least severity of messages that the client is sent"),
    ("default_transaction_isolation", "The isolation level of new transactions"),
    ("default_transaction_read_only", "Whether new transactions are read-only"),
    ("durability", "When a commit is acknowledged: full = on disk, async = in the log's buffer"),
    ("engine", "Which engine runs statements: auto, row or column"),
    ("idle_in_transaction_session_timeout", "How long a connection may be idle in a transaction; 0 = without end"),
    ("idle_session_timeout", "How long a connection may be idle outside of a transaction; 0 = without end"),
    ("lock_timeout", "How long a statement waits for a lock; 0 = without end"),
    ("memory_limit", "Memory of the column engine's queries (set when the database is opened)"),
    ("search_path", "The schemas in which names without one are looked for, in this order"),
    ("server_version", "The version of PostgreSQL whose dialect this is, and of Weft"),
    ("server_version_num", "The same version of PostgreSQL as a number"),
    ("speculative_reads", "Whether snapshots show commits that are not durable yet; COMMIT waits for those seen"),
    ("statement_timeout", "How long a statement may run"),
];

impl Settings {
    /// The value of a setting, as text.
    pub fn get(&self, name: &str) -> Result<String> {
        Ok(match name {
            "application_name" => self.application_name.clone(),
            "client_min_messages" => self.client_min_messages.clone(),
            "default_transaction_isolation" => self.isolation.to_string(),
            "default_transaction_read_only" => on_off(self.read_only).into(),
            "durability" => match self.durability {
                Durability::Full => "full".into(),
                Durability::Async => "async".into(),
            },
            "engine" => match self.engine {
                EngineChoice::Auto => "auto".into(),
                EngineChoice::Row => "row".into(),
                EngineChoice::Column => "column".into(),
            },
            "idle_in_transaction_session_timeout" => print_ms(self.idle_in_transaction_session_timeout_ms),
            "idle_session_timeout" => print_ms(self.idle_session_timeout_ms),
            "lock_timeout" => print_ms(self.lock_timeout_ms),
            "memory_limit" => print_bytes(self.memory_limit_bytes),
            "search_path" => self.search_path.clone(),
            "server_version" => SERVER_VERSION.into(),
            "server_version_num" => SERVER_VERSION_NUM.to_string(),
            "speculative_reads" => on_off(self.speculative_reads).into(),
            "statement_timeout" => print_ms(self.statement_timeout_ms),
            _ => {
                let fixed = FIXED.iter().map(|(known, value, _)| (*known, *value));
                match fixed.chain(WITHOUT_EFFECT.iter().copied()).find(|(known, _)| *known == name) {
                    Some((_, value)) => value.into(),
                    None => return Err(unknown(name)),
                }
            }
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
                if !SEVERITIES.contains(&word.as_str()) {
                    return Err(bad(&SEVERITIES.join(", ")));
                }
                self.client_min_messages = word;
            }
            "search_path" => self.search_path = value.into(),
            "default_transaction_isolation" => {
                let allowed = "read committed, repeatable read, serializable";
                self.isolation = parse_isolation(&word).ok_or_else(|| bad(allowed))?;
            }
            "default_transaction_read_only" => {
                self.read_only = parse_bool(&word).ok_or_else(|| bad("on, off"))?;
            }
            "speculative_reads" => {
                self.speculative_reads = parse_bool(&word).ok_or_else(|| bad("on, off"))?;
            }
            "durability" => {
                self.durability = match word.as_str() {
                    "full" => Durability::Full,
                    "async" => Durability::Async,
                    _ => return Err(bad("full, async")),
                }
            }
            "engine" => {
                self.engine = match word.as_str() {
                    "auto" => EngineChoice::Auto,
                    "row" => EngineChoice::Row,
                    "column" => EngineChoice::Column,
                    _ => return Err(bad("auto, row, column")),
                }
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
            "memory_limit" | "server_version" | "server_version_num" => {
                return Err(Error::new(
                    Code::InvalidParameterValue,
                    format!("parameter \"{name}\" cannot be changed now"),
                )
                .hint("it is set when the database is opened"));
            }
            _ => return set_fixed(name, &word, bad),
        }
        Ok(())
    }

    /// Whether notices are sent to the client.
    pub fn sends_notices(&self) -> bool {
        !matches!(self.client_min_messages.as_str(), "warning" | "error")
    }

    /// Sets a setting back to what `defaults` says.
    pub fn reset(&mut self, name: &str, defaults: &Settings) -> Result<()> {
        if FIXED.iter().any(|(known, ..)| *known == name) || WITHOUT_EFFECT.iter().any(|(known, _)| *known == name) {
            return Ok(());
        }
        let value = defaults.get(name)?;
        match name {
            "memory_limit" | "server_version" | "server_version_num" => Ok(()),
            _ => self.set(name, &value),
        }
    }

    /// Name, value and meaning of every setting, by name.
    pub fn all(&self) -> Vec<(String, String, String)> {
        let variable = VARIABLE.iter().map(|(name, meaning)| {
            let value = self.get(name).expect("every variable setting has a value");
            ((*name).into(), value, (*meaning).into())
        });
        let fixed = FIXED.iter().map(|(name, value, meaning)| ((*name).into(), (*value).into(), (*meaning).into()));
        let mut all: Vec<(String, String, String)> = variable.chain(fixed).collect();
        all.sort();
        all
    }
}

fn set_fixed(name: &str, word: &str, bad: impl Fn(&str) -> Error) -> Result<()> {
    if WITHOUT_EFFECT.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    let Some((_, value, _)) = FIXED.iter().find(|(known, ..)| *known == name) else { return Err(unknown(name)) };
    let same = match name {
        "client_encoding" | "server_encoding" => matches!(word, "utf8" | "utf-8" | "unicode"),
        "datestyle" => word.split(',').next().map(str::trim) == Some("iso"),
        "timezone" => matches!(word, "utc" | "gmt" | "etc/utc" | "z" | "0" | "+00" | "+00:00"),
        "extra_float_digits" => matches!(word, "1" | "2" | "3"),
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

fn parse_bool(word: &str) -> Option<bool> {
    match word {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
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

fn parse_ms(word: &str) -> Option<u64> {
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

fn print_ms(ms: u64) -> String {
    match ms {
        0 => "0".into(),
        ms if ms % 60_000 == 0 => format!("{}min", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

fn print_bytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes % (1 << 20) == 0 => format!("{}MB", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{}kB", bytes >> 10),
        bytes => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            durability: Durability::Full,
            engine: EngineChoice::Auto,
            statement_timeout_ms: 0,
            lock_timeout_ms: 10_000,
            idle_in_transaction_session_timeout_ms: 0,
            idle_session_timeout_ms: 0,
            search_path: SEARCH_PATH.into(),
            read_only: false,
            speculative_reads: false,
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
        }
    }

    #[test]
    fn values_are_read_and_written() {
        let mut s = settings();
        s.set("durability", "ASYNC").unwrap();
        s.set("statement_timeout", "90s").unwrap();
        s.set("engine", "row").unwrap();
        s.set("speculative_reads", "on").unwrap();
        assert!(s.speculative_reads);
        assert_eq!(s.durability, Durability::Async);
        assert_eq!(s.get("statement_timeout").unwrap(), "90s");
        assert_eq!(s.get("memory_limit").unwrap(), "1024MB");
        s.reset("engine", &settings()).unwrap();
        assert_eq!(s.engine, EngineChoice::Auto);
        assert_eq!(s.all().len(), FIXED.len() + VARIABLE.len());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut s = settings();
        for (name, value, code) in [
            ("engine", "gpu", Code::InvalidParameterValue),
            ("client_min_messages", "loud", Code::InvalidParameterValue),
            ("timezone", "Europe/Berlin", Code::InvalidParameterValue),
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
