//! A socket, in the clear or under TLS.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use weft_env::{has_ended_silently, keep_asking, receive_arrived};

/// How often a thread that waits for bytes gives its core away before it sleeps. Measured in docs/benchmarks/server.md.
const YIELDS: usize = 2;

/// How long a write in rounds waits before its thread looks at what has come.
const ROUND: Duration = Duration::from_millis(10);
/// So many rounds in which nothing moved, and the other side is taken for gone: ten minutes.
pub(super) const ROUNDS_MAX: usize = 60_000;

/// A connected socket. Clones are the same socket, and the same file descriptor.
#[derive(Clone, Debug)]
pub enum Socket {
    /// Of TCP.
    Tcp(Arc<TcpStream>),
    /// Of this machine.
    Unix(Arc<UnixStream>),
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket::Tcp(Arc::new(stream))
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Socket {
        Socket::Unix(Arc::new(stream))
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Socket {
    /// Makes the system find out when the other machine is gone without a word.
    pub fn keep_asking(&self, idle: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => keep_asking(&**stream, idle),
            // The other side is this machine.
            Socket::Unix(_) => Ok(()),
        }
    }

    /// Whether the other side has ended without a word.
    pub fn has_ended_silently(&self) -> bool {
        has_ended_silently(self)
    }

    /// Ends it in both directions, from any thread.
    pub fn shutdown(&self) {
        // A socket whose other side is gone cannot be shut down, and need not.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Makes reads, also those that wait, find the end; what is written still reaches the client.
    pub fn end_reads(&self) {
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Read),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Read),
        };
    }

    /// The client's address; a client on the unix socket is this machine.
    pub fn peer_address(&self) -> IpAddr {
        match self {
            Socket::Tcp(stream) => stream.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |addr| addr.ip()),
            Socket::Unix(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        }
    }

    /// The client's address and port; none on the unix socket.
    pub fn peer_socket_address(&self) -> Option<SocketAddr> {
        match self {
            Socket::Tcp(stream) => stream.peer_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// How long a read waits; none: without end.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Lets a write that cannot go on give up soon, so that its thread can look at what comes meanwhile
    /// ([`Channel::flush_both`](super::Channel::flush_both)).
    pub fn write_in_rounds(&self) -> io::Result<()> {
        self.set_write_timeout(Some(ROUND))
    }

    /// How long a write waits for a client that does not read; none: without end.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_write_timeout(timeout),
            Socket::Unix(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// The client's address, as logs and views tell it.
    pub fn peer(&self) -> String {
        match self {
            Socket::Tcp(stream) => stream.peer_addr().map_or_else(|_| "gone".into(), |addr| addr.to_string()),
            Socket::Unix(_) => "local".into(),
        }
    }

    /// Reads what has arrived; [`io::ErrorKind::WouldBlock`] when nothing has.
    fn receive_arrived(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => receive_arrived(&**stream, buffer),
            Socket::Unix(stream) => receive_arrived(&**stream, buffer),
        }
    }
}

impl Read for Socket {
    /// Waits for bytes, and gives the core away a few times before it sleeps: a client that sends meanwhile need not
    /// wake the thread, and to wake one costs more than a short statement.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for _ in 0..YIELDS {
            match self.receive_arrived(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                read => return read,
            }
        }
        match self {
            Socket::Tcp(stream) => (&**stream).read(buffer),
            Socket::Unix(stream) => (&**stream).read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&**stream).write(bytes),
            Socket::Unix(stream) => (&**stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What messages go through.
pub enum Transport {
    /// In the clear.
    Plain(Socket),
    /// TLS where this program is the server.
    Tls(Box<rustls::StreamOwned<rustls::ServerConnection, Socket>>),
    /// TLS where this program is the client.
    TlsClient(Box<rustls::StreamOwned<rustls::ClientConnection, Socket>>),
}

impl Transport {
    /// The socket below.
    pub fn socket(&self) -> &Socket {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => &stream.sock,
            Transport::TlsClient(stream) => &stream.sock,
        }
    }

    /// Whether what is sent is encrypted.
    pub fn is_encrypted(&self) -> bool {
        !matches!(self, Transport::Plain(_))
    }

    /// Reads what has arrived; [`io::ErrorKind::WouldBlock`] when nothing has.
    pub(super) fn read_arrived(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.receive_arrived(buffer),
            Transport::Tls(stream) => decrypt_arrived(&mut stream.conn, &stream.sock, buffer),
            Transport::TlsClient(stream) => decrypt_arrived(&mut stream.conn, &stream.sock, buffer),
        }
    }
}

/// The socket as who reads only what has arrived.
struct Arrived<'a>(&'a Socket);

impl Read for Arrived<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive_arrived(buffer)
    }
}

fn decrypt_arrived<Data>(
    session: &mut rustls::ConnectionCommon<Data>,
    socket: &Socket,
    buffer: &mut [u8],
) -> io::Result<usize> {
    match session.reader().read(buffer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        read => return read,
    }
    session.read_tls(&mut Arrived(socket))?;
    session.process_new_packets().map_err(io::Error::other)?;
    session.reader().read(buffer)
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(buffer),
            Transport::Tls(stream) => stream.read(buffer),
            Transport::TlsClient(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.write(bytes),
            Transport::Tls(stream) => stream.write(bytes),
            Transport::TlsClient(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Plain(socket) => socket.flush(),
            Transport::Tls(stream) => stream.flush(),
            Transport::TlsClient(stream) => stream.flush(),
        }
    }
}
