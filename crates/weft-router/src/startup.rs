//! The beginning of a session: encryption, password, the connection to the writer.
//!
//! ```text
//!   StartupMessage user=ann ─▶ (password in the clear, under TLS) ─▶ writer: SCRAM ─▶ Ok, its settings, own key, ready
//! ```
//!
//! 1. The writer decides who may come in. The router shows it what the client said, and forgets it with the session.
//! 2. A password is asked for only under TLS, or from this machine.
//! 3. A writer that asks for no password has not looked at the one that the client gave: nobody comes in by it.

use std::sync::Arc;

use weft_format::{Code, Error, Result};
use weft_wire::client::{Client, ClientError};
use weft_wire::net::{Channel, Socket, Transport, answer_tls_request};
use weft_wire::protocol::{Frontend, Startup, TransactionStatus, decode, decode_startup, violation};

use crate::options::Door;
use crate::session::{Session, Who, report};
use crate::shared::{Shared, Slot};

/// The longest password, bytes.
const PASSWORD_BYTES_MAX: usize = 10_000;

/// Brings a new socket to the point where it sends statements, and serves it to its end.
pub(crate) fn begin(shared: &Arc<Shared>, socket: Socket) {
    let mut channel = Channel::new(Transport::Plain(socket));
    let failed = match negotiate(shared, &mut channel) {
        Ok(Some(begun)) => return Session::new(shared, channel, begun.slot, begun.who, begun.writer).run(),
        Ok(None) => return,
        Err(failed) => failed,
    };
    if let ClientError::Local(error) = &failed
        && error.code() == Code::Io
    {
        return;
    }
    let peer = channel.socket().peer();
    shared.options.log.warn("refused", &[("client", &peer), ("message", &failed)]);
    report::refusal(&mut channel.out, &failed);
    // A client that is gone already is not told.
    let _ = channel.flush();
}

/// What a session begins with.
struct Begun {
    slot: Slot,
    who: Who,
    writer: Client,
}

type Answer<T> = std::result::Result<T, ClientError>;

/// None when the client only wanted something cancelled, or has gone.
fn negotiate(shared: &Arc<Shared>, channel: &mut Channel) -> Answer<Option<Begun>> {
    let limited = channel.socket().set_read_timeout(Some(shared.options.authentication_timeout));
    limited.map_err(|error| Error::io("setting a time limit for reads", &error))?;
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
                let begun = admit(shared, channel, minor, &parameters)?;
                let unlimited = channel.socket().set_read_timeout(None);
                unlimited.map_err(|error| Error::io("taking the time limit from reads", &error))?;
                return Ok(Some(begun));
            }
        }
    }
}

fn admit(shared: &Arc<Shared>, channel: &mut Channel, minor: u16, parameters: &[(&str, &str)]) -> Answer<Begun> {
    let unknown: Vec<&str> =
        parameters.iter().map(|(name, _)| *name).filter(|name| name.starts_with("_pq_.")).collect();
    if minor > 0 || !unknown.is_empty() {
        channel.out.negotiate(0, &unknown);
    }
    if shared.is_closing() {
        return Err(Error::new(Code::ShuttingDown, "the router is shutting down").into());
    }
    let mut who = Who::of(parameters, &shared.options)?;
    let slot = shared.enter(channel.socket())?;
    let address = channel.socket().peer_address();
    if shared.options.door == Door::Password {
        shared.check_attempts(address)?;
        who.password = Some(ask_password(channel)?);
    }
    let connected = Client::connect(&who.target(&shared.options.writer, &shared.options));
    let is_wrong = |error: &ClientError| error.sqlstate().starts_with("28");
    match &connected {
        Ok(writer) if shared.options.door == Door::Trust || writer.gave_password() => {
            shared.note_attempt(address, true);
        }
        Err(error) if is_wrong(error) => shared.note_attempt(address, false),
        _ => {}
    }
    let writer = connected.map_err(|error| match error {
        ClientError::Local(error) if !error.sqlstate().starts_with("28") => {
            let message = format!("the writer at {} cannot be reached: {}", shared.options.writer, error.message());
            Error::new(Code::CannotConnectNow, message).hint("try again when it is there").into()
        }
        error => error,
    })?;
    if shared.options.door == Door::Password && !writer.gave_password() {
        let message = format!("the writer at {} trusts everybody: it asked for no password", shared.options.writer);
        let hint = "start it with --auth scram, or the router with --auth trust";
        return Err(Error::new(Code::InvalidAuthorization, message).hint(hint).into());
    }
    channel.out.authentication_ok();
    let mut told: Vec<(&String, &String)> = writer.parameters().iter().collect();
    told.sort();
    told.into_iter().for_each(|(name, value)| channel.out.parameter(name, value));
    channel.out.key_data(slot.entry.id, &slot.entry.secret);
    channel.out.ready(TransactionStatus::Idle);
    channel.flush()?;
    Ok(Begun { slot, who, writer })
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
