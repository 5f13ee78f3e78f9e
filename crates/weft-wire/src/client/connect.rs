//! Connecting: password, settings, the first answers.

use std::collections::HashMap;

use weft_env::Env;
use weft_format::{Code, Error};

use super::dial::{Encryption, dial, encrypt};
use super::report::{ClientError, Report, Result};
use super::target::{SslMode, Target};
use crate::auth::Prover;
use crate::net::Channel;
use crate::protocol::{Fields, text, violation};

const MECHANISM: &str = "SCRAM-SHA-256";

/// A connection to a server.
pub struct Client {
    pub(super) channel: Channel,
    pub(super) target: Target,
    /// Number and secret of the connection.
    pub(super) key: Vec<u8>,
    pub(super) parameters: HashMap<String, String>,
    pub(super) notices: Vec<Report>,
    /// `I` idle, `T` in a transaction, `E` in a failed one.
    pub(super) status: u8,
    /// The server asked for the password, and took it.
    pub(super) gave_password: bool,
    /// The protocol broke: nothing more is read or written (client 3).
    pub(super) broken: bool,
}

impl Client {
    /// Connects and logs in.
    pub fn connect(target: &Target) -> Result<Client> {
        let channel = dial(target)?;
        let wanted = match (target.ssl_mode, target.socket()) {
            // As libpq: a unix socket needs no TLS.
            (SslMode::Disable, _) | (SslMode::Prefer, Some(_)) => Encryption::None,
            (SslMode::Prefer, None) => Encryption::Wished,
            _ => Encryption::Demanded,
        };
        let mut client = Client {
            channel: encrypt(target, channel, wanted)?,
            target: target.clone(),
            key: Vec::new(),
            parameters: HashMap::new(),
            notices: Vec::new(),
            status: b'I',
            gave_password: false,
            broken: false,
        };
        client.begin_session()?;
        client.authenticate()?;
        client.until_ready()?;
        let unlimited = client.channel.socket().set_read_timeout(None);
        unlimited.map_err(|error| Error::io("taking the time limit from reads", &error))?;
        Ok(client)
    }

    /// What the server says of a setting: `server_version`, `client_encoding`, ...
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Notices that nobody has taken yet: those of [`Client::query`], of COPY and of connecting.
    pub fn take_notices(&mut self) -> Vec<Report> {
        std::mem::take(&mut self.notices)
    }

    /// The number of the connection on the server, which `pg_cancel_backend` takes.
    pub fn backend(&self) -> u32 {
        Fields::new(&self.key).u32().unwrap_or(0)
    }

    /// Whether a transaction is open (failed or not).
    pub fn in_transaction(&self) -> bool {
        self.status != b'I'
    }

    /// Notes what a ReadyForQuery said that was read from the [channel](Client::channel).
    pub fn note_status(&mut self, status: u8) {
        self.status = status;
    }

    /// Whether the open transaction has failed.
    pub fn is_failed(&self) -> bool {
        self.status == b'E'
    }

    /// Whether what is sent is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.channel.is_encrypted()
    }

    /// Whether the server asked for the password, and took it; one that trusts everybody does not ask.
    pub fn gave_password(&self) -> bool {
        self.gave_password
    }

    /// Where this is a connection to.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Settings that the server has told, by name.
    pub fn parameters(&self) -> &HashMap<String, String> {
        &self.parameters
    }

    /// The connection below, for who relays messages; between two statements of its own it is as it was left.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Notes that the connection cannot be used again: nothing is sent to the server any more (client 3).
    pub fn abandon(&mut self) {
        self.broken = true;
    }

    /// Whether the connection cannot be used again.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Says farewell.
    pub fn close(self) {}

    fn begin_session(&mut self) -> Result<()> {
        let target = &self.target;
        self.channel.out.packet(|body| {
            body.extend_from_slice(&(3u32 << 16).to_be_bytes());
            let own = [("user", target.user.as_str()), ("database", &target.database), ("client_encoding", "UTF8")];
            let given = target.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            for (name, value) in own.into_iter().chain(given) {
                text(body, name);
                text(body, value);
            }
            body.push(0);
        });
        Ok(self.channel.flush()?)
    }

    fn authenticate(&mut self) -> Result<()> {
        let mut prover: Option<Prover> = None;
        let mut proved = false;
        loop {
            let (tag, body) = self.receive()?;
            if tag != b'R' {
                return Err(unexpected(tag).into());
            }
            let mut fields = Fields::new(&body);
            let kind = fields.u32()?;
            let data = fields.bytes(fields.len())?;
            match (kind, &mut prover) {
                (0, Some(_)) if !proved => {
                    let message = "the server let the client in without proving that it knows the password's verifier";
                    return Err(Error::new(Code::InvalidAuthorization, message).into());
                }
                (0, _) => return Ok(()),
                (3, None) => {
                    self.send_cleartext()?;
                    self.gave_password = true;
                }
                (10, None) => prover = Some(self.begin_scram(data)?),
                (11, Some(prover)) => {
                    let last = prover.prove(data)?;
                    self.answer(|body| body.extend_from_slice(last.as_bytes()))?;
                }
                (12, Some(prover)) => {
                    prover.verify(data)?;
                    (proved, self.gave_password) = (true, true);
                }
                (5, _) => {
                    let error = Error::new(Code::FeatureNotSupported, "the server asks for an MD5 password");
                    return Err(error.hint("give the role a SCRAM-SHA-256 password").into());
                }
                (kind, _) => {
                    let message = format!("the server asks for an authentication that is not known: {kind}");
                    return Err(Error::new(Code::FeatureNotSupported, message).into());
                }
            }
        }
    }

    fn password(&self) -> Result<&str> {
        self.target.password.as_deref().ok_or_else(|| {
            let message = format!("the server asks for the password of \"{}\", and none was given", self.target.user);
            Error::new(Code::InvalidPassword, message).hint("write it as postgres://user:password@host/").into()
        })
    }

    /// Client 1.
    fn send_cleartext(&mut self) -> Result<()> {
        if !self.channel.is_encrypted() && self.target.socket().is_none() {
            let message = "the server asks for the password in the clear over a connection without TLS";
            return Err(Error::new(Code::InvalidAuthorization, message).hint("use sslmode=require or better").into());
        }
        let password = self.password()?.to_owned();
        self.answer(|body| text(body, &password))
    }

    fn begin_scram(&mut self, offered: &[u8]) -> Result<Prover> {
        let mut fields = Fields::new(offered);
        let mut found = false;
        while let Ok(name @ [_, ..]) = fields.text().map(str::as_bytes) {
            found |= name == MECHANISM.as_bytes();
        }
        if !found {
            let message = "the server offers no way to log in that is known here";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("SCRAM-SHA-256 is").into());
        }
        let rng = Env::real().rng;
        let nonce = format!("{:016x}{:016x}", rng.next_u64(), rng.next_u64());
        let prover = Prover::new(self.password()?, &nonce);
        let first = prover.first();
        self.answer(|body| {
            text(body, MECHANISM);
            body.extend_from_slice(&(first.len() as u32).to_be_bytes());
            body.extend_from_slice(first.as_bytes());
        })?;
        Ok(prover)
    }

    fn answer(&mut self, body: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.channel.out.message(b'p', body);
        Ok(self.channel.flush()?)
    }

    fn until_ready(&mut self) -> Result<()> {
        loop {
            let (tag, body) = self.receive()?;
            match tag {
                b'K' => self.key = body,
                b'Z' => {
                    self.status = body.first().copied().unwrap_or(b'I');
                    return Ok(());
                }
                b'v' => {}
                _ => return Err(unexpected(tag).into()),
            }
        }
    }

    /// The next message that is not about settings or notices; an error of the server ends what goes on.
    fn receive(&mut self) -> Result<(u8, Vec<u8>)> {
        loop {
            let (tag, body) = self.message()?;
            match tag {
                b'E' => return Err(ClientError::Server(Box::new(Report::read(&body)))),
                b'N' => self.notices.push(Report::read(&body)),
                _ => return Ok((tag, body)),
            }
        }
    }

    /// The next message but ParameterStatus and notifications.
    pub(super) fn message(&mut self) -> Result<(u8, Vec<u8>)> {
        loop {
            let frame = match self.channel.read() {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    self.broken = true;
                    let message = format!("the server at {} ended the connection", self.target.place());
                    return Err(Error::new(Code::Io, message).hint("connect again").into());
                }
                Err(error) => {
                    self.broken = true;
                    return Err(error.into());
                }
            };
            let body = self.channel.body(&frame);
            match frame.tag {
                b'S' => {
                    let mut fields = Fields::new(body);
                    let (name, value) = (fields.text()?.to_owned(), fields.text()?.to_owned());
                    self.parameters.insert(name, value);
                }
                b'A' => {}
                tag => return Ok((tag, body.to_vec())),
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.broken {
            self.channel.out.empty(b'X');
            // A server that is gone needs no farewell.
            let _ = self.channel.flush();
        }
    }
}

pub(super) fn unexpected(tag: u8) -> Error {
    violation(format!("the server sent a message of type {:?} where it cannot stand", char::from(tag)))
}
