//! Bytes that have arrived at a socket, without a wait for those that have not.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

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
}
