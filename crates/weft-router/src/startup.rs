//! The beginning of a session: encryption, password, the connection to the writer.
//!
//! ```text
//!   StartupMessage user=ann ─▶ (password in the clear, under TLS) ─▶ writer: SCRAM ─▶ Ok, its settings, own key, ready
//! ```
//!
//! 1. The writer decides who may come in. The router shows it what the client said, and forgets it with the session.
//! 2. A password is asked for only under TLS, or from this machine.
//! 3. A writer that asks for no password has not looked at the one that the client gave: nobody comes in by it.
//! 4. One time counts for all that a client says before it is let in, and it takes nobody's place meanwhile (shared 4).

use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_wire::client::{Client, ClientError};
use weft_wire::net::{Channel, Socket, Transport, answer_tls_request};
use weft_wire::protocol::{Frontend, Startup, TransactionStatus, decode, decode_startup, violation};

use crate::options::Door;
use crate::servers::Attached;
use crate::session::{Session, Who, report};
use crate::shared::{Newcomer, Shared, Slot};

/// The longest password, bytes.
const PASSWORD_BYTES_MAX: usize = 10_000;

/// Brings a new socket to the point where it sends statements, and serves it to its end.
pub(crate) fn begin(shared: &Arc<Shared>, socket: Socket) {
    let mut channel = Channel::new(Transport::Plain(socket));
    let failed = match negotiate(shared, &mut channel) {
        Ok(Some((slot, who, writer))) => return Session::new(shared, channel, slot, who, writer).run(),
        Ok(None) => return,
        Err(failed) => failed,
    };
    if let ClientError::Local(error) = &failed
        && error.code() == Code::Io
    {
        return;
    }
    shared.counters.refused.up();
    let peer = channel.socket().peer();
    shared.options.log.warn("refused", &[("client", &peer), ("message", &failed)]);
    report::refusal(&mut channel.out, &failed);
    // A client that is gone already is not told.
    let _ = channel.flush();
}

/// What a session begins with.
type Begun = (Slot, Who, (Client, Attached));

type Answer<T> = std::result::Result<T, ClientError>;

/// None when the client only wanted something cancelled, or has gone.
fn negotiate(shared: &Arc<Shared>, channel: &mut Channel) -> Answer<Option<Begun>> {
    let newcomer = shared.arrive(channel.socket());
    loop {
        let Some(frame) = channel.read_startup()? else { return Ok(None) };
        let body = channel.body(&frame).to_vec();
        match decode_startup(&body)? {
            Startup::Ssl => answer_tls_request(shared.tls.as_ref(), channel)?,
            Startup::Gss => {
                channel.out.plain_byte(b'N');
                channel.flush()?;
            }
            Startup::Cancel { id, secret } => {
                shared.cancel(id, secret);
                return Ok(None);
            }
            Startup::Session { minor, parameters } => {
                return admit((shared, newcomer), channel, minor, &parameters).map(Some);
            }
        }
    }
}

fn admit(
    (shared, newcomer): (&Arc<Shared>, Newcomer),
    channel: &mut Channel,
    minor: u16,
    parameters: &[(&str, &str)],
) -> Answer<Begun> {
    let unknown: Vec<&str> =
        parameters.iter().map(|(name, _)| *name).filter(|name| name.starts_with("_pq_.")).collect();
    if minor > 0 || !unknown.is_empty() {
        channel.out.negotiate(0, &unknown);
    }
    if shared.is_closing() {
        return Err(Error::new(Code::ShuttingDown, "the router is shutting down").into());
    }
    let mut who = Who::of(parameters, &shared.options)?;
    let address = channel.socket().peer_address();
    if shared.options.door == Door::Password {
        shared.check_attempts(address)?;
        who.password = Some(ask_password(channel)?);
    }
    // Who has said a password has a place, as long as the writer looks at it (startup 4).
    let slot = shared.enter(channel.socket())?;
    drop(newcomer);
    let connected = shared.connect_writer(&who);
    let is_wrong = |error: &ClientError| error.sqlstate().starts_with("28");
    match &connected {
        Ok(_) => shared.note_attempt(address, true),
        Err(error @ ClientError::Server(_)) if is_wrong(error) => shared.note_attempt(address, false),
        Err(_) => {}
    }
    let (writer, attached) = connected?;
    channel.out.authentication_ok();
    let mut told: Vec<(&String, &String)> = writer.parameters().iter().collect();
    told.sort();
    told.into_iter().for_each(|(name, value)| channel.out.parameter(name, value));
    channel.out.key_data(slot.entry.id, &slot.entry.secret);
    channel.out.ready(TransactionStatus::Idle);
    channel.flush()?;
    shared.counters.sessions.up();
    Ok((slot, who, (writer, attached)))
}

/// Startup 2.
fn ask_password(channel: &mut Channel) -> Result<String> {
    let is_here = channel.socket().peer_address().is_loopback();
    if !channel.is_encrypted() && !is_here {
        let message = "the router takes passwords over TLS only";
        return Err(Error::new(Code::InvalidAuthorization, message).hint("connect with sslmode=require or better"));
    }
    // AuthenticationCleartextPassword
    channel.out.authentication(3, |_| {});
    channel.flush()?;
    let gone = || Error::new(Code::Io, "the client went before it gave its password");
    let frame = channel.read_limited(PASSWORD_BYTES_MAX)?.ok_or_else(gone)?;
    match decode(frame.tag, channel.body(&frame))? {
        Frontend::Password(text) => {
            let text = text.strip_suffix(&[0]).ok_or_else(|| violation("a password ends with a zero byte"))?;
            String::from_utf8(text.to_vec()).map_err(|_| violation("a password is UTF-8"))
        }
        _ => Err(violation("expected a password message")),
    }
}
