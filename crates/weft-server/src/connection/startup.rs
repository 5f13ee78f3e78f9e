//! The beginning of a connection: encryption, user, password, settings.
//!
//! ```text
//!   SSLRequest ─▶ 'S', TLS      StartupMessage user=weft database=weft ─▶ SASL ... ─▶ Ok, settings, key, ReadyForQuery
//!   CancelRequest ─▶ the statement of that connection stops; no answer
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use weft::Session;
use weft_format::{Code, Error, Result};
use weft_sql::activity::Origin;
use weft_sql::roles::Login;

use super::{Connection, TOLD};
use crate::server::{Auth, Shared, Slot};
use weft_wire::auth::{Exchange, Verifier};
use weft_wire::net::{Channel, Socket, Transport, answer_tls_request};
use weft_wire::protocol::{Frontend, Startup, TransactionStatus, decode, decode_startup, violation};

/// What AuthenticationSASL and its successors are numbered.
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;
const MECHANISM: &str = "SCRAM-SHA-256";

/// Which door a client came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entrance {
    /// One that is open to everybody: clients prove who they are.
    Public,
    /// The socket that only the operating system user of the server can reach, which is proof enough.
    Owner,
}

/// Brings a new socket to the point where it runs statements, and serves it to its end.
pub(crate) fn begin(shared: &Arc<Shared>, socket: Socket, entrance: Entrance) {
    let mut channel = Channel::new(Transport::Plain(socket));
    let mut is_cancel = false;
    match negotiate(shared, &mut channel, entrance, &mut is_cancel) {
        Ok(Some(connection)) => connection(channel).run(),
        Ok(None) => {}
        Err(error) if is_cancel || error.code() == Code::Io => {}
        Err(error) => {
            shared.log().refused(&channel.socket().peer(), &error);
            shared.database().activities().note_error(error.sqlstate());
            channel.out.fatal(&error);
            // A client that is gone already is not told.
            let _ = channel.flush();
        }
    }
}

/// What is left to do once the client was let in: the connection takes the channel over.
type Admitted = Box<dyn FnOnce(Channel) -> Connection>;

/// None when the client only wanted something cancelled, or has gone.
fn negotiate(
    shared: &Arc<Shared>,
    channel: &mut Channel,
    entrance: Entrance,
    is_cancel: &mut bool,
) -> Result<Option<Admitted>> {
    let limit = shared.authentication_timeout();
    let set = channel.socket().set_read_timeout(limit);
    set.map_err(|error| Error::io("setting a time limit for reads", &error))?;
    loop {
        let Some(frame) = channel.read_startup()? else { return Ok(None) };
        match decode_startup(channel.body(&frame))? {
            Startup::Ssl => answer_tls_request(shared.tls(), channel)?,
            Startup::Gss => {
                channel.out.plain_byte(b'N');
                channel.flush()?;
            }
            Startup::Cancel { id, secret } => {
                *is_cancel = true;
                shared.cancel(id, secret);
                return Ok(None);
            }
            Startup::Session { minor, parameters } => {
                let given: HashMap<String, String> =
                    parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
                return admit(shared, channel, entrance, minor, &given).map(Some);
            }
        }
    }
}

fn admit(
    shared: &Arc<Shared>,
    channel: &mut Channel,
    entrance: Entrance,
    minor: u16,
    given: &HashMap<String, String>,
) -> Result<Admitted> {
    let unknown: Vec<&str> = given.keys().map(String::as_str).filter(|name| name.starts_with("_pq_.")).collect();
    if minor > 0 || !unknown.is_empty() {
        channel.out.negotiate(0, &unknown);
    }
    let user = given
        .get("user")
        .filter(|user| !user.is_empty())
        .ok_or_else(|| Error::new(Code::InvalidAuthorization, "no PostgreSQL user name specified in startup packet"))?;
    if shared.is_closing() {
        return Err(Error::new(Code::ShuttingDown, "the database system is shutting down"));
    }
    let slot = shared.enter(channel.socket())?;
    let login = authenticate(shared, channel, entrance, user)?;
    let database = given.get("database").unwrap_or(user);
    if database != shared.config().database_name.as_str() {
        let message = format!("database \"{database}\" does not exist");
        let hint = format!("the database is called {}", shared.config().database_name);
        return Err(Error::new(Code::UndefinedDatabase, message).hint(hint));
    }
    if !login.may_connect {
        let message = format!("permission denied for database \"{database}\"");
        return Err(Error::new(Code::InsufficientPrivilege, message).hint("User does not have CONNECT privilege."));
    }
    let mut session = shared.database().session()?;
    for (name, value) in settings_of(given)? {
        session.begin_with(&name, &value)?;
    }
    session.set_identity(user, Some(login.oid), database, slot.id().into());
    slot.serves(session.cancel_token());
    watch(shared, channel, &session, user, &slot);
    let told: Vec<(&'static str, String)> =
        TOLD.iter().filter_map(|&name| Some((name, session.settings().get(&name.to_lowercase()).ok()?))).collect();
    channel.out.authentication_ok();
    for (name, value) in &told {
        channel.out.parameter(name, value);
    }
    channel.out.parameter("is_superuser", if login.superuser { "on" } else { "off" });
    channel.out.parameter("session_authorization", user);
    let follows = session.database().kernel().is_follower();
    channel.out.parameter("in_hot_standby", if follows { "on" } else { "off" });
    channel.out.key_data(slot.id(), slot.secret());
    channel.out.ready(TransactionStatus::Idle);
    let shared = Arc::clone(shared);
    let limit = shared.authentication_timeout();
    Ok(Box::new(move |channel| Connection {
        shared,
        slot,
        channel,
        session,
        statements: HashMap::new(),
        portals: HashMap::new(),
        skips: false,
        told,
        read_timeout: limit,
        feeds: None,
    }))
}

/// Says who the session is: to `pg_stat_activity`, to those who may end it, and to the log.
fn watch(shared: &Shared, channel: &Channel, session: &Session, user: &str, slot: &Slot) {
    let (socket, pid) = (channel.socket(), slot.id());
    let address = socket.peer_socket_address();
    let application_name = session.settings().application_name.clone();
    session.activity().set_origin(pid.into(), Origin { user: user.into(), address, is_client: true, application_name });
    session.activity().set_terminate(slot.terminator());
    if shared.logs_connections() {
        let (peer, tls) = (socket.peer(), channel.is_encrypted());
        shared.log().info("connected", &[("pid", &pid), ("user", &user), ("client", &peer), ("tls", &tls)]);
    }
}

/// Settings in the startup packet: `options` has them as the words of a command line.
fn settings_of(given: &HashMap<String, String>) -> Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in given {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => settings.extend(options(value)?),
            _ if name.starts_with("_pq_.") => {}
            _ => settings.push((name.to_lowercase(), value.clone())),
        }
    }
    Ok(settings)
}

/// `-c name=value`, `-cname=value` and `--name=value`; a backslash keeps the next character.
fn options(text: &str) -> Result<Vec<(String, String)>> {
    let mut words = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => words.last_mut().expect("there is always a word").extend(characters.next()),
            c if c.is_whitespace() => words.push(String::new()),
            c => words.last_mut().expect("there is always a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let assignment = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") => words.next(),
            Some(rest) => Some(rest.to_owned()),
            None => None,
        };
        let parts = assignment.as_deref().and_then(|assignment| assignment.split_once('='));
        let (name, value) = parts.ok_or_else(|| violation(format!("invalid command-line argument: {word}")))?;
        settings.push((name.replace('-', "_").to_lowercase(), value.to_owned()));
    }
    Ok(settings)
}

fn authenticate(shared: &Arc<Shared>, channel: &mut Channel, entrance: Entrance, user: &str) -> Result<Login> {
    if entrance == Entrance::Owner || shared.config().auth == Auth::Trust {
        return shared.check_role(user);
    }
    let peer = channel.socket().peer_address();
    shared.check_attempts(peer)?;
    let result = scram(shared, channel, user);
    shared.note_attempt(peer, result.is_ok());
    let login = result.map_err(|error| match error.code() {
        Code::InvalidPassword => {
            Error::new(Code::InvalidPassword, format!("password authentication failed for user \"{user}\""))
        }
        _ => error,
    });
    login.and_then(|()| shared.check_role(user))
}

fn scram(shared: &Arc<Shared>, channel: &mut Channel, user: &str) -> Result<()> {
    let verifier = shared.verifier(user)?.unwrap_or_else(|| Verifier::of_nobody(user, shared.secret()));
    channel.out.authentication(SASL, |body| {
        body.extend_from_slice(MECHANISM.as_bytes());
        body.extend_from_slice(&[0, 0]);
    });
    let first = password_message(channel)?;
    let (mechanism, data) = initial_response(&first)?;
    if mechanism != MECHANISM {
        return Err(violation("client selected an invalid SASL authentication mechanism"));
    }
    let exchange = Exchange::begin(verifier, data, &shared.nonce())?;
    channel.out.authentication(SASL_CONTINUE, |body| body.extend_from_slice(exchange.server_first().as_bytes()));
    let last = password_message(channel)?;
    let signature = exchange.finish(&last)?;
    channel.out.authentication(SASL_FINAL, |body| body.extend_from_slice(signature.as_bytes()));
    Ok(())
}

/// SASLInitialResponse: the mechanism, and the data behind its length.
fn initial_response(body: &[u8]) -> Result<(&str, &[u8])> {
    let mut fields = weft_wire::protocol::Fields::new(body);
    let mechanism = fields.text()?;
    let length = usize::try_from(fields.i32()?).map_err(|_| violation("a SASL response without data"))?;
    let data = fields.bytes(length)?;
    fields.end()?;
    Ok((mechanism, data))
}

/// The longest answer to an authentication request, bytes.
const PASSWORD_BYTES_MAX: usize = 10_000;

fn password_message(channel: &mut Channel) -> Result<Vec<u8>> {
    channel.flush()?;
    let gone = || Error::new(Code::Io, "the client went before it gave its password");
    let frame = channel.read_limited(PASSWORD_BYTES_MAX)?.ok_or_else(gone)?;
    match decode(frame.tag, channel.body(&frame))? {
        Frontend::Password(data) => Ok(data.to_vec()),
        _ => Err(violation("expected a password message")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_of_a_command_line() {
        let read = options("-c a=1 --search-path=x\\ y -cstatement_timeout=5s").unwrap();
        let wanted = [("a", "1"), ("search_path", "x y"), ("statement_timeout", "5s")];
        assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for wrong in ["a=1", "-c", "-c a", "--x"] {
            assert!(options(wrong).is_err(), "{wrong}");
        }
    }
}
