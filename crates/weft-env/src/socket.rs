//! What can be known of a socket without waiting: the bytes that have arrived, and whether the other side is there.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Whether a socket's other side has ended without a word: nothing that it sent is left to be read. It takes nothing.
pub fn has_ended_silently(socket: &impl AsFd) -> bool {
    let mut byte = [0u8; 1];
    let flags = libc::MSG_DONTWAIT | libc::MSG_PEEK;
    // SAFETY: the pointer and the length are those of a buffer that this function may write to.
    let read = unsafe { libc::recv(socket.as_fd().as_raw_fd(), byte.as_mut_ptr().cast(), byte.len(), flags) };
    let passes = || matches!(io::Error::last_os_error().kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
    read == 0 || (read < 0 && !passes())
}

/// Reads what has arrived at a connected stream socket, at most a buffer full; `Ok(0)` when the other side has ended.
///
/// # Errors
///
/// [`io::ErrorKind::WouldBlock`] when nothing has arrived, else what the system says of the socket.
pub fn receive_arrived(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the pointer and the length are those of a buffer that this function may write to.
    let read = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Whose other side sends nothing more: it has closed the connection or its half of it, or is gone. Bytes that have
/// arrived stay where they are. One answer per socket.
///
/// # Errors
///
/// What the system says when it cannot look, which is about none of the sockets.
pub fn have_ended(sockets: &[BorrowedFd<'_>]) -> io::Result<Vec<bool>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const ENDED: libc::c_short = libc::POLLRDHUP;
    // Elsewhere it is seen once both halves are closed.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const ENDED: libc::c_short = 0;
    let asked = |socket: &BorrowedFd<'_>| libc::pollfd { fd: socket.as_raw_fd(), events: ENDED, revents: 0 };
    let mut polled: Vec<libc::pollfd> = sockets.iter().map(asked).collect();
    // SAFETY: the pointer and the count are those of a vector that this function may write to; the descriptors are
    // borrowed, so they are open.
    let seen = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 0) };
    if seen < 0 {
        return Err(io::Error::last_os_error());
    }
    let ended = ENDED | libc::POLLHUP | libc::POLLERR;
    Ok(polled.iter().map(|polled| polled.revents & ended != 0).collect())
}

/// Makes the system ask a TCP connection on which nothing comes, after `idle`, then every `idle / 4`, whether the other
/// side is still there; after four questions without an answer, or as long without one to what was sent, the connection
/// has ended.
///
/// # Errors
///
/// What the system says of the socket.
pub fn keep_asking(socket: &impl AsFd, idle: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(idle.as_secs()).unwrap_or(libc::c_int::MAX);
    set_option(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        set_option(socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds)?;
        set_option(socket, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, (seconds / 4).max(1))?;
        set_option(socket, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4)?;
        set_option(socket, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, seconds.saturating_mul(2000))?;
    }
    Ok(())
}

fn set_option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    let bytes = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of an integer that lives through the call.
    let set = unsafe { libc::setsockopt(socket, level, name, (&raw const value).cast(), bytes) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn only_what_has_arrived_is_read() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let mut buffer = [0; 4];
        assert_eq!(receive_arrived(&here, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        there.write_all(b"abcdef").unwrap();
        assert_eq!((receive_arrived(&here, &mut buffer).unwrap(), &buffer), (4, b"abcd"));
        assert_eq!((receive_arrived(&here, &mut buffer).unwrap(), &buffer[..2]), (2, &b"ef"[..]));
        drop(there);
        assert_eq!(receive_arrived(&here, &mut buffer).unwrap(), 0);
    }

    #[test]
    fn who_has_ended_is_seen_without_reading() {
        let (first, mut other) = UnixStream::pair().unwrap();
        let (second, _stays) = UnixStream::pair().unwrap();
        let look = || have_ended(&[first.as_fd(), second.as_fd()]).unwrap();
        other.write_all(b"abcd").unwrap();
        assert_eq!(look(), [false, false]);
        drop(other);
        assert_eq!(look(), [true, false]);
        let mut buffer = [0; 4];
        assert_eq!((receive_arrived(&first, &mut buffer).unwrap(), &buffer), (4, b"abcd"), "nothing was taken");
        assert!(have_ended(&[]).unwrap().is_empty());
        // What it said before is not read yet; the second one lives.
        assert!(!has_ended_silently(&second));
    }

    #[test]
    fn a_connection_can_be_asked_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        keep_asking(&client, Duration::from_secs(60)).unwrap();
        let (here, _there) = UnixStream::pair().unwrap();
        assert!(!have_ended(&[client.as_fd(), here.as_fd()]).unwrap()[0]);
    }
}
