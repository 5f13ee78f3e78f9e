//! Messages between a node and the server that feeds it: CopyData, both ways.

use std::io;

use weft::Link;
use weft_env::OBJECT_BYTES_MAX;

use weft_wire::net::{Channel, Socket};

/// The longest message: an object, its name, and what stands around them.
const MESSAGE_BYTES_MAX: usize = OBJECT_BYTES_MAX + (1 << 16);

/// The messages of a connection, as a node and its server exchange them.
pub(super) struct Messages(pub(super) Channel);

impl Link for Messages {
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        send(&mut self.0, message)
    }

    fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        receive(&mut self.0)
    }

    fn cutter(&self) -> Box<dyn Fn() + Send + Sync> {
        cutter(&self.0)
    }
}

/// Sends a message of either side.
pub(crate) fn send(channel: &mut Channel, message: &[u8]) -> io::Result<()> {
    channel.out.copy_data(message);
    channel.flush().map_err(|error| io::Error::other(error.message().to_owned()))
}

/// The next message of the other side; none: it has ended.
pub(crate) fn receive(channel: &mut Channel) -> io::Result<Option<Vec<u8>>> {
    let read = channel.read_limited(MESSAGE_BYTES_MAX).map_err(|error| io::Error::other(error.message().to_owned()))?;
    let Some(frame) = read else { return Ok(None) };
    // CopyDone, CopyFail, Terminate, or an error that a server tells at its end.
    Ok((frame.tag == b'd').then(|| channel.body(&frame).to_vec()))
}

/// What ends a connection, from any thread.
pub(crate) fn cutter(channel: &Channel) -> Box<dyn Fn() + Send + Sync> {
    let socket: Socket = channel.socket().clone();
    Box::new(move || socket.shutdown())
}
