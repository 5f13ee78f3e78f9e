//! The socket of a directory's owner: how other programs of the same operating system user come in.
//!
//! ```text
//!   db/LOCK      pid 4711, a server at 127.0.0.1:5432
//!   db/.s.weft   mode 0600: only the user that the server runs as, and root, can connect; without a password
//! ```
//!
//! 1. The socket gets its name after its mode, so at no moment can others connect to it.
//! 2. It is bound by who holds the directory's lock: what has its name before is of a server that is dead.
//!
//! A socket's path has at most 107 bytes; a directory's may be longer. So it is reached through the open directory,
//! `/proc/self/fd/7/.s.weft`.

use std::fs::{File, Permissions};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use weft_format::{Error, Result};

use weft_wire::client::{self, Client, Host, Target};

/// The socket's name in the directory.
const NAME: &str = ".s.weft";
/// Its name before it has its mode.
const TEMPORARY: &str = ".s.weft.tmp";

/// The owner's socket of a directory, bound.
pub(super) struct OwnerSocket {
    dir: PathBuf,
    alarm: Alarm,
}

impl OwnerSocket {
    /// Binds it; the caller holds the directory's lock.
    pub(super) fn bind(dir: &Path) -> Result<(OwnerSocket, UnixListener)> {
        let (temporary, path) = (dir.join(TEMPORARY), dir.join(NAME));
        for left in [&temporary, &path] {
            // Of a server that was killed (owner 2).
            let _ = std::fs::remove_file(left);
        }
        let bound = open(dir).and_then(|(open, short)| {
            let listener = UnixListener::bind(short.join(TEMPORARY))?;
            std::fs::set_permissions(&temporary, Permissions::from_mode(0o600))?;
            std::fs::rename(&temporary, &path)?;
            drop(open);
            Ok(listener)
        });
        let listener = bound.map_err(|error| {
            Error::io(format!("could not listen on the owner's socket {}", path.display()), &error)
                .hint("the directory must be on a file system that has unix sockets")
        })?;
        let alarm = Alarm::of(&listener)?;
        Ok((OwnerSocket { dir: dir.to_owned(), alarm }, listener))
    }

    /// Wakes its listener and takes its name away.
    pub(super) fn end(&self) {
        self.alarm.ring();
        let _ = std::fs::remove_file(self.dir.join(NAME));
    }
}

/// Wakes the thread that waits at a unix socket, also when the socket's name is gone.
pub(super) struct Alarm(UnixStream);

impl Alarm {
    pub(super) fn of(listener: &UnixListener) -> Result<Alarm> {
        let same = listener.try_clone().map_err(|error| Error::io("sharing a listening socket", &error))?;
        Ok(Alarm(UnixStream::from(OwnedFd::from(same))))
    }

    /// Lets `accept` return, with an error.
    pub(super) fn ring(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Connects to the server that has the database in `dir` open, as the superuser; none when no server offers that.
pub fn connect_as_owner(dir: &Path) -> client::Result<Option<Client>> {
    if !dir.join(NAME).exists() {
        return Ok(None);
    }
    let (_open, short) = open(dir).map_err(|error| Error::io(format!("opening {}", dir.display()), &error))?;
    let mut target = Target::of_socket(&short);
    target.host = Host::Socket(short.join(NAME));
    target.settings.push(("application_name".into(), "weft".into()));
    Client::connect(&target).map(Some)
}

/// The directory, open, and a short path to it for as long as it is.
fn open(dir: &Path) -> std::io::Result<(File, PathBuf)> {
    let open = File::open(dir)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    let short = if short.exists() { short } else { dir.to_owned() };
    Ok((open, short))
}
