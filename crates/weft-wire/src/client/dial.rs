//! A socket to the server, in the clear or encrypted.

use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;

use weft_format::{Code, Error};

use super::report::Result;
use super::target::{Host, Target};
use super::verify;
use crate::net::{Channel, Socket, Transport};
use crate::protocol::{SSL, violation};

/// A socket to the server, with the time limit of connecting.
pub(super) fn dial(target: &Target) -> Result<Channel> {
    let failed = |error: &std::io::Error| {
        let error = Error::io(format!("could not connect to {}", target.place()), error);
        error.hint("is the server running there, and does it listen on that address?")
    };
    let socket = match (&target.host, target.socket()) {
        (_, Some(path)) => Socket::from(UnixStream::connect(path).map_err(|error| failed(&error))?),
        (Host::Tcp(host), _) => Socket::from(dial_tcp(target, host).map_err(|error| failed(&error))?),
        _ => unreachable!("what is no socket is TCP"),
    };
    let limited = socket.set_read_timeout(Some(target.connect_timeout));
    limited.map_err(|error| Error::io("setting a time limit for reads", &error))?;
    Ok(Channel::to_server(Transport::Plain(socket)))
}

fn dial_tcp(target: &Target, host: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
    for address in (host, target.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, target.connect_timeout) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether a server answers at all: it is asked for TLS, which nobody must log in for. An error: it does not within the
/// time for connecting, as a process that hangs, for which the system takes connections all the same.
pub fn answers(target: &Target) -> Result<()> {
    let mut channel = dial(target)?;
    channel.out.packet(|body| body.extend_from_slice(&SSL.to_be_bytes()));
    channel.flush()?;
    match channel.read_byte()? {
        Some(b'S' | b'N') => Ok(()),
        _ => Err(violation("the server did not answer the request for TLS").into()),
    }
}

/// How much a connection wants TLS.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    None,
    Wished,
    Demanded,
}

/// Asks for TLS and begins it.
pub(super) fn encrypt(target: &Target, mut channel: Channel, wanted: Encryption) -> Result<Channel> {
    if wanted == Encryption::None {
        return Ok(channel);
    }
    channel.out.packet(|body| body.extend_from_slice(&SSL.to_be_bytes()));
    channel.flush()?;
    match channel.read_byte()? {
        Some(b'S') => {}
        Some(b'N') if wanted == Encryption::Wished => return Ok(channel),
        Some(b'N') => {
            let message = format!("the server at {} has no TLS, which sslmode asks for", target.place());
            return Err(Error::new(Code::InvalidAuthorization, message).into());
        }
        _ => return Err(violation("the server did not answer the request for TLS").into()),
    }
    let Transport::Plain(socket) = channel.into_transport()? else {
        return Err(Error::internal("TLS was begun twice").into());
    };
    Ok(Channel::to_server(verify::begin(target, socket)?))
}
