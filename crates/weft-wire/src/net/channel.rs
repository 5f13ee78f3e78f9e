//! Frames out of bytes, and one buffer of answers.
//!
//! ```text
//!   input  [ 'B' 25 ... | 'E' 9 ... | 'S' 4 ]     one read; three frames, taken one after the other
//!   output [ '2' | 'D' | 'C' | 'Z' ]              one write, when the client waits
//! ```
//!
//! 1. A length is tested before memory is taken for it: at most 1 GiB for a message, 10,000 bytes before the session
//!    begins, and the buffer grows with what has arrived, not with what is announced.

use std::io::{self, Read, Write};
use std::ops::Range;

use weft_format::{Error, Result};

use super::transport::{Socket, Transport};
use crate::protocol::{Fields, Out};

/// The largest message of a client, and the largest before the session begins, bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
const STARTUP_BYTES_MAX: usize = 10_000;
/// How much waits before it is sent without being asked for.
const FLUSH_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 16 << 10;
/// What is kept of a buffer that grew.
const KEPT_BYTES_MAX: usize = 1 << 18;

/// A connection's bytes in both directions.
pub struct Channel {
    transport: Transport,
    /// What errors call the other side.
    peer: &'static str,
    input: Vec<u8>,
    /// Bytes of `input` that have arrived and are not taken yet.
    arrived: Range<usize>,
    /// What waits to be sent.
    pub out: Out,
}

/// A message: its tag, and where its body lies in the channel's input until the next is taken.
pub struct Frame {
    /// Its tag; 0 of a first packet, which has none.
    pub tag: u8,
    body: Range<usize>,
}

impl Channel {
    /// A channel over a new socket of a client.
    pub fn new(transport: Transport) -> Channel {
        Channel::to("client", transport)
    }

    /// A channel over a socket that was connected to a server.
    pub fn to_server(transport: Transport) -> Channel {
        Channel::to("server", transport)
    }

    fn to(peer: &'static str, transport: Transport) -> Channel {
        Channel { transport, peer, input: vec![0; READ_BYTES], arrived: 0..0, out: Out::default() }
    }

    /// The socket below.
    pub fn socket(&self) -> &Socket {
        self.transport.socket()
    }

    /// Whether what is sent is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.transport.is_encrypted()
    }

    /// The transport, when nothing has arrived that was not taken: what came in the clear must not count under TLS.
    pub fn into_transport(self) -> Result<Transport> {
        if self.arrived.is_empty() {
            return Ok(self.transport);
        }
        Err(crate::protocol::violation("received unencrypted data after the request for TLS"))
    }

    /// The body of a frame that was just taken.
    pub fn body(&self, frame: &Frame) -> &[u8] {
        &self.input[frame.body.clone()]
    }

    /// The next message; none when the client has gone between two messages.
    pub fn read(&mut self) -> Result<Option<Frame>> {
        self.read_limited(MESSAGE_BYTES_MAX)
    }

    /// The next message, of at most so many bytes.
    pub fn read_limited(&mut self, most: usize) -> Result<Option<Frame>> {
        if !self.arrive(5, true)? {
            return Ok(None);
        }
        let at = self.arrived.start;
        let tag = self.input[at];
        let length = self.length(at + 1, most)?;
        self.arrive(1 + length, false)?;
        Ok(Some(self.take(tag, 5, 1 + length)))
    }

    /// The first packet, which has no tag; none when the client has gone.
    pub fn read_startup(&mut self) -> Result<Option<Frame>> {
        if !self.arrive(4, true)? {
            return Ok(None);
        }
        let length = self.length(self.arrived.start, STARTUP_BYTES_MAX)?;
        self.arrive(length, false)?;
        Ok(Some(self.take(0, 4, length)))
    }

    /// One byte outside of any message: the answer to a request for encryption; none when the other side has gone.
    pub fn read_byte(&mut self) -> Result<Option<u8>> {
        if !self.arrive(1, true)? {
            return Ok(None);
        }
        let byte = self.input[self.arrived.start];
        self.arrived.start += 1;
        Ok(Some(byte))
    }

    /// The tag of the message after the one that was taken, if it has arrived.
    pub fn next_tag(&self) -> Option<u8> {
        (self.arrived.len() >= 5).then(|| self.input[self.arrived.start])
    }

    fn length(&self, at: usize, most: usize) -> Result<usize> {
        let length = Fields::new(&self.input[at..at + 4]).u32()? as usize;
        if (4..=most).contains(&length) {
            return Ok(length);
        }
        Err(crate::protocol::violation(format!("invalid length of a message: {length}")))
    }

    /// Takes `length` bytes, whose first `head` are no body.
    fn take(&mut self, tag: u8, head: usize, length: usize) -> Frame {
        let start = self.arrived.start;
        // From here on `arrived` begins behind the frame; its body stays where it is until the next read.
        self.arrived.start += length;
        Frame { tag, body: start + head..start + length }
    }

    /// Reads until `count` bytes are there; false when the client went before the first of them, if that `may_end`.
    fn arrive(&mut self, count: usize, may_end: bool) -> Result<bool> {
        if self.arrived.is_empty() {
            self.arrived = 0..0;
            if self.input.len() > KEPT_BYTES_MAX && count <= READ_BYTES {
                self.input = vec![0; READ_BYTES];
            }
        }
        while self.arrived.len() < count {
            if self.arrived.end == self.input.len() {
                self.make_room();
            }
            let read = self.transport.read(&mut self.input[self.arrived.end..]);
            match read {
                Ok(0) if may_end && self.arrived.is_empty() => return Ok(false),
                Ok(0) => {
                    return Err(crate::protocol::violation(format!(
                        "the {} went in the middle of a message",
                        self.peer
                    )));
                }
                Ok(n) => self.arrived.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(format!("reading from the {}", self.peer), &error)),
            }
        }
        Ok(true)
    }

    /// Moves what has arrived to the front, or doubles the buffer when it is full (channel 1).
    fn make_room(&mut self) {
        if self.arrived.start > 0 {
            self.input.copy_within(self.arrived.clone(), 0);
            self.arrived = 0..self.arrived.len();
        } else {
            self.input.resize(self.input.len() * 2, 0);
        }
    }

    /// Whether so much waits to be sent that it is sent before more is written.
    pub fn wants_flush(&self) -> bool {
        self.out.len() >= FLUSH_BYTES
    }

    /// Sends what waits.
    pub fn flush(&mut self) -> Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let sent = self.transport.write_all(self.out.bytes()).and_then(|()| self.transport.flush());
        self.out.clear();
        sent.map_err(|error| Error::io(format!("writing to the {}", self.peer), &error))
    }
}
