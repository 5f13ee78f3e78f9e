//! What the connections of a server share.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use weft::Database;
use weft::configuration::Configuration;
use weft_env::Env;
use weft_format::{Code, Error, Result};
use weft_sql::roles::Login;

use super::config::ServerConfig;
use super::slots::{Slot, Slots};
use weft_wire::Log;
use weft_wire::auth::Attempts;
use weft_wire::auth::Verifier;
use weft_wire::net::Socket;

/// The database, the configuration, and who is there.
pub(crate) struct Shared {
    database: Database,
    env: Env,
    config: ServerConfig,
    tls: Option<Arc<rustls::ServerConfig>>,
    slots: Arc<Slots>,
    attempts: Attempts,
    log_connections: AtomicBool,
    authentication_ms: AtomicU64,
    /// What answers for roles that do not exist are made from (auth 1).
    secret: [u8; 32],
    closing: AtomicBool,
}

impl Shared {
    /// What a server over a database starts with.
    pub(super) fn new(database: Database, config: ServerConfig, env: Env) -> Result<Shared> {
        let tls = config.tls.as_ref().map(|identity| identity.config()).transpose()?;
        let mut secret = [0; 32];
        secret.chunks_mut(8).for_each(|part| part.copy_from_slice(&env.rng.next_u64().to_le_bytes()));
        let log_connections = AtomicBool::new(config.log_connections);
        let authentication_ms = AtomicU64::new(config.authentication_timeout.as_millis() as u64);
        Ok(Shared {
            database,
            config,
            tls,
            slots: Arc::default(),
            attempts: Attempts::default(),
            log_connections,
            authentication_ms,
            secret,
            closing: AtomicBool::new(false),
            env,
        })
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.config
    }

    pub(crate) fn tls(&self) -> Option<&Arc<rustls::ServerConfig>> {
        self.tls.as_ref()
    }

    pub(crate) fn log(&self) -> &Log {
        &self.config.log
    }

    /// Takes what may change while the server runs.
    pub(super) fn apply(&self, configuration: &Configuration) {
        self.log().set(configuration.text("log_level"), configuration.text("log_format"));
        self.log_connections.store(configuration.is_on("log_connections"), Ordering::Relaxed);
        let limit = configuration.duration("authentication_timeout").unwrap_or_default();
        self.authentication_ms.store(limit.as_millis() as u64, Ordering::Relaxed);
        let least = configuration.duration("log_min_duration_statement");
        self.database.activities().set_observed(least.map(|least| least.as_nanos() as u64));
    }

    /// Whether connections and their ends are logged.
    pub(crate) fn logs_connections(&self) -> bool {
        self.log_connections.load(Ordering::Relaxed)
    }

    /// How long a client may take to log in; none: without end.
    pub(crate) fn authentication_timeout(&self) -> Option<Duration> {
        let ms = self.authentication_ms.load(Ordering::Relaxed);
        (ms > 0).then(|| Duration::from_millis(ms))
    }

    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The server's part of a SCRAM nonce.
    pub(crate) fn nonce(&self) -> String {
        (0..3).map(|_| format!("{:016x}", self.env.rng.next_u64())).collect()
    }

    /// Whether the server is about to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// No new connections; those there are find the end.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.slots.interrupt_all();
    }

    /// Ends what is left.
    pub(super) fn drop_all(&self) {
        self.slots.interrupt_all();
        self.slots.drop_all();
    }

    /// How many connections there are.
    pub(super) fn connections(&self) -> usize {
        self.slots.count()
    }

    /// A place for a connection.
    pub(crate) fn enter(&self, socket: &Socket) -> Result<Slot> {
        Slots::enter(&self.slots, socket, self.config.connections_max, self.env.rng.next_u64())
    }

    /// Cancels what a connection runs.
    pub(crate) fn cancel(&self, id: u32, secret: &[u8]) {
        self.slots.cancel(id, secret);
    }

    /// Ends the connections whose clients are gone while a statement of theirs runs.
    pub(super) fn end_gone(&self) {
        match self.slots.end_gone() {
            Ok(ended) => ended.iter().for_each(|id| self.log().info("client_gone", &[("connection", id)])),
            Err(error) => self.log().error("sockets", &[("message", &error)]),
        }
    }

    /// The role of a name; an error when none may log in. Asked when the password was right.
    pub(crate) fn check_role(&self, user: &str) -> Result<Login> {
        let missing = |what: &str| Error::new(Code::InvalidAuthorization, format!("role \"{user}\" {what}"));
        match self.database.login(user)? {
            None => Err(missing("does not exist")),
            Some(login) if !login.can_login => Err(missing("is not permitted to log in")),
            Some(login) => Ok(login),
        }
    }

    /// What a role's password is tested with; none when there is no such role, or no password fits it.
    pub(crate) fn verifier(&self, user: &str) -> Result<Option<Verifier>> {
        let now = self.env.clock.wall_micros();
        let is_good = |login: &Login| login.valid_until.is_none_or(|until| now < until);
        let login = self.database.login(user)?.filter(is_good);
        Ok(login.and_then(|login| login.verifier).and_then(|text| Verifier::read(&text)))
    }

    /// An error when an address has failed to log in too often.
    pub(crate) fn check_attempts(&self, address: IpAddr) -> Result<()> {
        self.attempts.check(address, self.env.clock.monotonic_nanos())
    }

    /// Notes how a login went.
    pub(crate) fn note_attempt(&self, address: IpAddr, succeeded: bool) {
        self.attempts.note(address, succeeded, self.env.clock.monotonic_nanos());
    }
}
