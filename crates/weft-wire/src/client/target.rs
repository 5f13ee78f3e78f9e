//! Where a server is and who wants in: `postgres://user:password@host:port/database?name=value&...`.
//!
//! ```text
//!   postgres://ann:p%40ss@[::1]:5433/shop?sslmode=require    ann, p@ss, ::1, 5433, shop
//!   postgres:///shop?host=/var/run/weft                      the unix socket /var/run/weft/.s.PGSQL.5432
//!   /data/shop/.s.PGSQL.5432    /data/shop                   a unix socket by its path, or by its directory
//! ```
//!
//! As in libpq, the database's name is the user's when none is given; the user is `weft`. In an URL every part may have
//! `%` and two hexadecimal digits in the place of a byte.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weft_format::{Code, Error, Result};

/// The role and the database that every new directory has.
const FIRST: &str = "weft";
const PORT: u16 = 5432;

/// How much TLS a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// None.
    Disable,
    /// If the server has it; whoever it is.
    Prefer,
    /// Encrypted, whoever the server is.
    Require,
    /// The server's certificate leads to a trusted one.
    VerifyCa,
    /// And it is for the host that was named.
    VerifyFull,
}

/// The machine, or the socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address.
    Tcp(String),
    /// The directory of a unix socket `.s.PGSQL.<port>`.
    SocketDir(PathBuf),
    /// A unix socket.
    Socket(PathBuf),
}

/// A server, a user and a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// Where.
    pub host: Host,
    /// The port; also part of the name of a unix socket.
    pub port: u16,
    /// Who.
    pub user: String,
    /// What proves it.
    pub password: Option<String>,
    /// What is wanted.
    pub database: String,
    /// How much TLS.
    pub ssl_mode: SslMode,
    /// A PEM file of trusted certificates; `system` are those of the system. Without it `verify-ca` and `verify-full`
    /// take those of the system.
    pub ssl_root: Option<PathBuf>,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// Settings that the session begins with.
    pub settings: Vec<(String, String)>,
}

impl fmt::Debug for Target {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({} as {} to {})", self.place(), self.user, self.database)
    }
}

impl Target {
    /// Whether a word is for [`Target::parse`], and not the directory of a database.
    pub fn is_url(word: &str) -> bool {
        word.starts_with("postgres://") || word.starts_with("postgresql://")
    }

    /// Reads an URL or the path of a unix socket; an error names the part that is wrong.
    pub fn parse(text: &str) -> Result<Target> {
        if text.starts_with('/') {
            return Ok(Target::of_socket(Path::new(text)));
        }
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| wrong("beginning", "it is postgres:// or, for a unix socket, a path from /"))?;
        if rest.contains('#') {
            return Err(wrong("character #", "write it as %23"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(decode("password", password)?)),
            None => (who, None),
        };
        let user = decode("user", user)?;
        let user = if user.is_empty() { FIRST.to_owned() } else { user };
        let (host, port) = place_of(place)?;
        let mut target = Target::new(host, port, user);
        target.password = password;
        let database = decode("database", database)?;
        let mut named = (!database.is_empty()).then_some(database);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| wrong("parameter", "it is name=value"))?;
            let (name, value) = (decode("parameter", name)?, decode("parameter", value)?);
            match name.as_str() {
                "dbname" => named = Some(value),
                _ => target.parameter(&name, value)?,
            }
        }
        target.database = named.unwrap_or_else(|| target.user.clone());
        Ok(target)
    }

    /// The server behind a unix socket, or behind the one in a directory; user and database are `weft`.
    pub fn of_socket(path: &Path) -> Target {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let host = match name.starts_with(".s.PGSQL.") {
            true => Host::Socket(path.to_owned()),
            false => Host::SocketDir(path.to_owned()),
        };
        Target::new(host, PORT, FIRST.into())
    }

    /// A user at a host; the database has the user's name.
    pub fn new(host: Host, port: u16, user: String) -> Target {
        Target {
            host,
            port,
            database: user.clone(),
            user,
            password: None,
            ssl_mode: SslMode::Prefer,
            ssl_root: None,
            connect_timeout: Duration::from_secs(30),
            settings: Vec::new(),
        }
    }

    fn parameter(&mut self, name: &str, value: String) -> Result<()> {
        let bad = |allowed: &str| wrong(&format!("parameter {name}={value}"), &format!("allowed: {allowed}"));
        match name {
            "sslmode" => {
                self.ssl_mode = match value.as_str() {
                    "disable" => SslMode::Disable,
                    "allow" | "prefer" => SslMode::Prefer,
                    "require" => SslMode::Require,
                    "verify-ca" => SslMode::VerifyCa,
                    "verify-full" => SslMode::VerifyFull,
                    _ => return Err(bad("disable, prefer, require, verify-ca, verify-full")),
                }
            }
            "sslrootcert" => self.ssl_root = Some(value.into()),
            "host" if value.starts_with('/') => self.host = Host::SocketDir(value.into()),
            "host" => self.host = Host::Tcp(value),
            "port" => self.port = value.parse().map_err(|_| bad("1 to 65535"))?,
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "connect_timeout" => {
                let seconds = value.parse().map_err(|_| bad("seconds; 0 is without end"))?;
                let without_end = Duration::from_secs(u64::from(u32::MAX));
                self.connect_timeout = if seconds == 0 { without_end } else { Duration::from_secs(seconds) };
            }
            "application_name" | "options" => self.settings.push((name.to_owned(), value)),
            // SCRAM without a binding to the channel is all there is.
            "channel_binding" if matches!(value.as_str(), "disable" | "prefer") => {}
            "channel_binding" => return Err(bad("disable, prefer")),
            _ => {
                let known = "host, port, user, password, dbname, sslmode, sslrootcert, connect_timeout, \
                             application_name, options";
                return Err(wrong(&format!("parameter {name}"), &format!("the parameters are {known}")));
            }
        }
        Ok(())
    }

    /// Where the server is, for people.
    pub fn place(&self) -> String {
        match &self.host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]:{}", self.port),
            Host::Tcp(host) => format!("{host}:{}", self.port),
            Host::SocketDir(_) | Host::Socket(_) => self.socket().unwrap_or_default().display().to_string(),
        }
    }

    /// The unix socket; none over TCP.
    pub fn socket(&self) -> Option<PathBuf> {
        match &self.host {
            Host::Tcp(_) => None,
            Host::SocketDir(dir) => Some(dir.join(format!(".s.PGSQL.{}", self.port))),
            Host::Socket(path) => Some(path.clone()),
        }
    }
}

/// Host and port: `host`, `host:port`, `[::1]:port`, or a socket's directory with its slashes as %2F.
fn place_of(place: &str) -> Result<(Host, u16)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or_else(|| wrong("host", "an IPv6 address is [::1]"))?;
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(wrong("host", "between [ and ] stands an IPv6 address"));
            }
            (address.to_owned(), port.strip_prefix(':').or(port.is_empty().then_some("")).map(str::to_owned))
        }
        None => match place.split_once(':') {
            Some((host, port)) => (decode("host", host)?, Some(port.to_owned())),
            None => (decode("host", place)?, Some(String::new())),
        },
    };
    let port = match port.as_deref() {
        Some("") => Some(PORT),
        Some(port) => port.parse().ok().filter(|&port| port > 0),
        None => None,
    };
    let port = port.ok_or_else(|| wrong("port", "it is a number from 1 to 65535; an IPv6 address stands in [ ]"))?;
    Ok(match host.as_str() {
        "" => (Host::Tcp("localhost".into()), port),
        dir if dir.starts_with('/') => (Host::SocketDir(dir.into()), port),
        _ => (Host::Tcp(host), port),
    })
}

fn decode(part: &str, text: &str) -> Result<String> {
    let bad = || wrong(part, "% is followed by two hexadecimal digits; the bytes are UTF-8 without zero");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        bytes.push(u8::from_str_radix(digits.ok_or_else(bad)?, 16).map_err(|_| bad())?);
        rest = after;
    }
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    if text.contains('\0') { Err(bad()) } else { Ok(text) }
}

/// The text itself is not repeated: it may have a password.
fn wrong(part: &str, hint: &str) -> Error {
    Error::new(Code::InvalidParameterValue, format!("the URL of the server has a wrong {part}")).hint(hint)
}
