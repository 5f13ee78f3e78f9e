//! The table of settings.

use Changes::{Engine, Fixed, Ignored, Reload, Session, Start};
use Kind::{Address, Bool, Bytes, Count, Ms, MsOrOff, Text, Words};

/// What values a setting has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `on` or `off`.
    Bool,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number within bounds.
    Count(u64, u64),
    /// Bytes, or a number with kB, MB or GB; at least so many.
    Bytes(u64),
    /// Milliseconds, or a number with ms, s, min or h; 0 is none.
    Ms,
    /// The same, and -1 is off.
    MsOrOff,
    /// `ADDRESS:PORT`, or nothing.
    Address,
    /// Any text.
    Text,
}

/// When a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Never: it is told for clients that ask.
    Fixed,
    /// By anyone, to anything: it is a setting of PostgreSQL that means nothing here.
    Ignored,
    /// When the server starts.
    Start,
    /// While the server runs: SIGHUP or `pg_reload_conf()` reads the file again.
    Reload,
    /// By SET of a superuser, at once for the whole engine, until it ends; a file gives what it begins with.
    Engine,
    /// By SET, for one session; a file gives what new sessions begin with.
    Session,
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name in files and in SQL; a flag has dashes for the underscores.
    pub name: &'static str,
    /// Its values.
    pub kind: Kind,
    /// What it is when nobody says.
    pub default: &'static str,
    /// When it may change.
    pub changes: Changes,
    /// What it says.
    pub meaning: &'static str,
}

const fn setting(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    changes: Changes,
    meaning: &'static str,
) -> Definition {
    Definition { name, kind, default, changes, meaning }
}

const COUNT_MAX: u64 = 1_000_000;

/// Severities of messages, from the least on.
const SEVERITIES: &[&str] =
    &["debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning", "error"];

/// Every setting, by name.
pub const SETTINGS: &[Definition] = &[
    setting("admission_timeout", Ms, "30s", Start, "How long a transaction or a query waits for its slot"),
    setting("application_name", Text, "", Session, "What the client calls itself"),
    setting(
        "archive",
        Text,
        "",
        Start,
        "Where the log is shipped to, s3://bucket/prefix or file:///dir; empty = nowhere",
    ),
    setting("archive_interval", Ms, "1s", Start, "How often: so much is lost at most when the machine is"),
    setting(
        "archive_keep_size",
        Bytes(0),
        "4GB",
        Start,
        "Log that the archive lacks, and as much of files, that are kept at most",
    ),
    setting("archive_keep_time", Ms, "24h", Start, "Any moment of so long ago can be restored from the archive"),
    setting(
        "archive_nodes",
        Bool,
        "off",
        Start,
        "Nodes may follow the archive: it gets every file that background jobs write",
    ),
    setting("auth", Words(&["scram", "trust"]), "scram", Start, "How clients prove who they are; trust needs loopback"),
    setting("authentication_timeout", Ms, "1min", Reload, "How long a client may take to log in"),
    setting("bytea_output", Text, "hex", Fixed, "How bytea is written"),
    setting("cache_size", Bytes(0), "512MB", Start, "Memory for blocks of column tables and indexes"),
    setting("checkpoint_log_size", Bytes(4096), "64MB", Start, "How much log is kept before a checkpoint lets it go"),
    setting("client_encoding", Text, "UTF8", Fixed, "Text is UTF-8"),
    setting(
        "client_min_messages",
        Words(SEVERITIES),
        "notice",
        Session,
        "The least severity of messages that the client is sent",
    ),
    setting(
        "column_indexes",
        Words(&["auto", "off", "always"]),
        "auto",
        Session,
        "When scans read column indexes in the place of their tables",
    ),
    setting(
        "datestyle",
        Text,
        "ISO, MDY",
        Session,
        "How dates are written: ISO, SQL, Postgres or German; MDY, DMY or YMD",
    ),
    setting(
        "default_table_access_method",
        Text,
        "column",
        Session,
        "The method of new tables that do not say one: column, lineage or row; heap is column",
    ),
    setting(
        "default_transaction_isolation",
        Words(&["read committed", "repeatable read", "serializable"]),
        "read committed",
        Session,
        "The isolation level of new transactions",
    ),
    setting("default_transaction_read_only", Bool, "off", Session, "Whether new transactions are read-only"),
    setting("default_with_oids", Text, "off", Ignored, "Rows have no OIDs"),
    setting(
        "durability",
        Words(&["full", "async"]),
        "full",
        Session,
        "When a commit is acknowledged: full = on disk, async = in the log's buffer",
    ),
    setting(
        "engine",
        Words(&["auto", "point", "query"]),
        "auto",
        Session,
        "Which engine runs statements; a forced one that cannot is an error",
    ),
    setting(
        "extra_float_digits",
        Count(1, 3),
        "1",
        Session,
        "Floats are written with the digits that read back the same",
    ),
    setting(
        "freshness",
        Text,
        "none",
        Session,
        "What a node shows at least: none, own writes, latest, or what was committed so many ms ago",
    ),
    setting("freshness_timeout", Ms, "10s", Session, "How long a statement waits for what it is to see on a node"),
    setting(
        "freshness_token",
        Text,
        "0",
        Session,
        "The commit that a node shows at least: weft_last_commit() tells it",
    ),
    setting(
        "idle_in_transaction_session_timeout",
        Ms,
        "0",
        Session,
        "How long a connection may be idle in a transaction; 0 = without end",
    ),
    setting("idle_session_timeout", Ms, "0", Session, "How long a connection may be idle outside of a transaction"),
    setting("integer_datetimes", Text, "on", Fixed, "Timestamps count microseconds"),
    setting(
        "intervalstyle",
        Words(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        Session,
        "How intervals are written",
    ),
    setting("lc_collate", Text, "C.UTF-8", Fixed, "Texts are ordered by their bytes"),
    setting("lc_ctype", Text, "C.UTF-8", Fixed, "Letters are those of Unicode"),
    setting("listen", Address, "127.0.0.1:5432", Start, "Where the server listens; empty = on the unix socket only"),
    setting("lock_timeout", Ms, "10s", Session, "How long a statement waits for a lock; 0 = without end"),
    setting("log_connections", Bool, "on", Reload, "Whether connections and their ends are logged"),
    setting("log_file", Text, "", Start, "The file of the log, opened again at SIGHUP; empty = standard error"),
    setting("log_format", Words(&["text", "json"]), "text", Reload, "How lines of the log look"),
    setting(
        "log_level",
        Words(&["debug", "info", "warn", "error"]),
        "info",
        Reload,
        "The least level that is logged; errors of statements are warn, internal ones error",
    ),
    setting(
        "log_min_duration_statement",
        MsOrOff,
        "-1",
        Reload,
        "Statements that take as long are logged; 0 = all, -1 = none",
    ),
    setting("log_segment_size", Bytes(4096), "16MB", Start, "Size of a file of the write-ahead log"),
    setting("max_connections", Count(1, COUNT_MAX), "1000", Start, "The most connections at a time"),
    setting(
        "memory_limit",
        Bytes(0),
        "0",
        Start,
        "All memory: row_memory, cache_size and query_memory are parts of it",
    ),
    setting("metrics", Address, "", Start, "Where /metrics and /health are; empty = nowhere. Keep it on loopback"),
    setting("node_join_timeout", Ms, "1min", Start, "How long a node that starts may take to join"),
    setting(
        "node_keep_size",
        Bytes(0),
        "1GB",
        Start,
        "Log, and as much of files, that are kept for nodes which are behind",
    ),
    setting("node_keep_time", Ms, "10min", Start, "How long they are kept"),
    setting("node_name", Text, "", Start, "What a node is called that follows; empty = a random name"),
    setting("nodes", Bool, "on", Start, "Whether nodes may follow: the log is announced to them"),
    setting("query_memory", Bytes(1 << 20), "1GB", Start, "Memory of the query engine's queries; above it they spill"),
    setting("query_slots", Count(1, COUNT_MAX), "64", Start, "How many queries of the query engine run at once"),
    setting("row_memory", Bytes(1 << 20), "256MB", Start, "Memory of row tables; writers wait before it is reached"),
    setting("row_table_size", Bytes(1), "4MB", Start, "How large a row table grows before it becomes column tables"),
    setting(
        "scheduler",
        Words(&["cost", "greedy", "off"]),
        "cost",
        Engine,
        "When background jobs start: where queries are expected to leave cores idle; at once; only when they must",
    ),
    setting("search_path", Text, "\"$user\", public", Session, "The schemas in which names without one are looked for"),
    setting("server_encoding", Text, "UTF8", Fixed, "Text is UTF-8"),
    setting(
        "server_version",
        Text,
        crate::version::SERVER_VERSION,
        Fixed,
        "PostgreSQL's version whose dialect this is",
    ),
    setting("server_version_num", Text, "150010", Fixed, "The same version of PostgreSQL as a number"),
    setting(
        "socket_dir",
        Text,
        "",
        Start,
        "The directory of the unix socket; empty = the database's, none = no socket",
    ),
    setting(
        "speculative_reads",
        Bool,
        "off",
        Session,
        "Whether snapshots show commits that are not durable yet; COMMIT waits for those seen",
    ),
    setting("standard_conforming_strings", Text, "on", Fixed, "Backslashes in '...' are ordinary characters"),
    setting("statement_timeout", Ms, "0", Session, "How long a statement may run; 0 = without end"),
    setting(
        "store_ack",
        Ms,
        "0",
        Start,
        "A commit waits so long until the archive has it, then fails though it is made; 0 = it does not wait",
    ),
    setting(
        "system_time",
        Text,
        "",
        Session,
        "The moment of the past that new transactions read, read-only: a timestamptz; empty = now",
    ),
    setting("timezone", Text, "UTC", Session, "The time zone in which timestamptz is read and written"),
    setting(
        "tls",
        Words(&["auto", "off"]),
        "auto",
        Start,
        "Whether TLS is offered; auto makes a certificate if need be",
    ),
    setting(
        "tls_cert",
        Text,
        "",
        Start,
        "The PEM file of the server's certificate; empty = server.crt, made if need be",
    ),
    setting("tls_key", Text, "", Start, "The PEM file of its key"),
    setting("transaction_slots", Count(1, COUNT_MAX), "1024", Start, "How many transactions may be open at once"),
    setting("transaction_timeout", Text, "0", Ignored, "Transactions end with their sessions' timeouts"),
    setting("workers", Count(0, 64), "2", Start, "Threads for background jobs; with 0 they run at CHECKPOINT only"),
];

/// A setting by its name in lower case.
pub fn definition(name: &str) -> Option<&'static Definition> {
    SETTINGS.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &SETTINGS[at])
}

impl Definition {
    /// `--max-connections`
    pub fn flag(&self) -> String {
        format!("--{}", self.name.replace('_', "-"))
    }

    /// `WEFT_MAX_CONNECTIONS`
    pub fn variable(&self) -> String {
        format!("WEFT_{}", self.name.to_uppercase())
    }

    /// Whether files, the environment and flags may give it.
    pub fn is_configurable(&self) -> bool {
        !matches!(self.changes, Fixed | Ignored) && self.name != "application_name"
    }
}
