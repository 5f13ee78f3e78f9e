//! Frames out of bytes, and one buffer of answers.
//!
//! ```text
//!   input  [ 'B' 25 ... | 'E' 9 ... | 'S' 4 ]     one read; three frames, taken one after the other
//!   output [ '2' | 'D' | 'C' | 'Z' ]              one write, when the client waits
//! ```
//!
//! 1. A length is tested before memory is taken for it: at most 1 GiB for a message, 10,000 bytes before the session
//!    begins, and the buffer grows with what has arrived, not with what is announced.
//! 2. Two sides that both send, and read only when they have sent, wait for each other once the buffers between them
//!    are full. [`Channel::flush_both`] takes in what comes while it sends.

use std::io::{self, Read, Write};
use std::ops::Range;

use weft_format::{Error, Result};

use super::transport::{ROUNDS_MAX, Socket, Transport};
use crate::protocol::{Fields, Out};

/// The largest message of a client, and the largest before the session begins, bytes.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
const STARTUP_BYTES_MAX: usize = 10_000;
/// How much waits before it is sent without being asked for.
const FLUSH_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 16 << 10;
/// What is kept of a buffer that grew.
const KEPT_BYTES_MAX: usize = 1 << 18;
/// How much is taken in while something is sent; who sends more than that, and reads nothing, waits for himself.
const TAKEN_BYTES_MAX: usize = 16 << 20;
/// What does not keep who sends from going on.
const PASSING: [io::ErrorKind; 3] =
    [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted, io::ErrorKind::UnexpectedEof];

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
    /// So many bytes of it are sent already.
    sent: usize,
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
        Channel { transport, peer, input: vec![0; READ_BYTES], arrived: 0..0, out: Out::default(), sent: 0 }
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
        // A little room at the front is not worth a move of all.
        if self.arrived.start > self.arrived.len() / 2 {
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
        let sent = self.transport.write_all(&self.out.bytes()[self.sent..]).and_then(|()| self.transport.flush());
        self.forget_out();
        sent.map_err(|error| self.write_failed(&error))
    }

    /// Sends what waits, and takes in what comes meanwhile (channel 2). It needs a socket that
    /// [writes in rounds](Socket::write_in_rounds). Bodies of frames that were taken are no more.
    pub fn flush_both(&mut self) -> Result<()> {
        self.send_rounds(None).map(drop)
    }

    /// The same; false as soon as so many bytes have come that they are to be taken before the rest is sent.
    pub fn flush_some(&mut self, most: usize) -> Result<bool> {
        self.send_rounds(Some(most))
    }

    fn send_rounds(&mut self, most: Option<usize>) -> Result<bool> {
        let mut rounds = 0;
        while !self.out.is_empty() {
            let unsent = &self.out.bytes()[self.sent..];
            let moved = match unsent {
                [] => self.transport.flush().map(|()| 0),
                unsent => self.transport.write(unsent),
            };
            let is_all = unsent.is_empty();
            match moved {
                Ok(_) if is_all => self.forget_out(),
                Ok(0) => return Err(self.broken(&io::ErrorKind::WriteZero.into())),
                Ok(n) => (self.sent, rounds) = (self.sent + n, 0),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if most.is_some_and(|most| self.arrived.len() >= most) {
                        return Ok(false);
                    }
                    rounds = if self.take_in()? { 0 } else { rounds + 1 };
                    if rounds > ROUNDS_MAX {
                        return Err(self.broken(&error));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(&error)),
            }
        }
        Ok(true)
    }

    /// Takes in what has arrived, without waiting; whether anything had.
    fn take_in(&mut self) -> Result<bool> {
        if self.arrived.len() >= TAKEN_BYTES_MAX {
            return Ok(false);
        }
        if self.arrived.end == self.input.len() {
            self.make_room();
        }
        match self.transport.read_arrived(&mut self.input[self.arrived.end..]) {
            Ok(0) => Ok(false),
            Ok(n) => {
                self.arrived.end += n;
                Ok(true)
            }
            // The end is met again by who reads.
            Err(error) if PASSING.contains(&error.kind()) => Ok(false),
            Err(error) => Err(Error::io(format!("reading from the {}", self.peer), &error)),
        }
    }

    fn forget_out(&mut self) {
        self.out.clear();
        self.sent = 0;
    }

    fn broken(&mut self, error: &io::Error) -> Error {
        self.forget_out();
        self.write_failed(error)
    }

    fn write_failed(&self, error: &io::Error) -> Error {
        Error::io(format!("writing to the {}", self.peer), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn two_sides_that_both_send_do_not_wait_for_each_other() {
        let (here, there) = UnixStream::pair().unwrap();
        let ends = [here, there].map(|stream| {
            let socket = Socket::from(stream);
            socket.write_in_rounds().unwrap();
            let mut channel = Channel::new(Transport::Plain(socket));
            for at in 0..200u32 {
                let body = [&at.to_be_bytes()[..], &[7; 20_000]].concat();
                channel.out.message(b'd', |out| out.extend_from_slice(&body));
            }
            std::thread::spawn(move || {
                channel.flush_both().unwrap();
                for at in 0..200u32 {
                    let frame = channel.read().unwrap().unwrap();
                    assert_eq!((frame.tag, &channel.body(&frame)[..4]), (b'd', &at.to_be_bytes()[..]));
                }
                channel
            })
        });
        for end in ends {
            end.join().unwrap();
        }
    }

    #[test]
    fn what_came_meanwhile_is_taken_before_the_rest_is_sent() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let socket = Socket::from(here);
        socket.write_in_rounds().unwrap();
        let mut channel = Channel::new(Transport::Plain(socket));
        channel.out.message(b'd', |out| out.extend_from_slice(&vec![7; 4 << 20]));
        there.write_all(b"Z\0\0\0\x05I").unwrap();
        assert!(!channel.flush_some(1).unwrap());
        assert_eq!(channel.read().unwrap().unwrap().tag, b'Z');
        let reads = std::thread::spawn(move || {
            let mut message = vec![0; 5 + (4 << 20)];
            there.read_exact(&mut message).unwrap();
            message[0]
        });
        assert!(channel.flush_some(1).unwrap() && channel.out.is_empty());
        assert_eq!(reads.join().unwrap(), b'd');
    }
}
