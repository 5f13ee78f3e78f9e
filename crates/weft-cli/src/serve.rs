//! `weft serve` and `weft init`.
//!
//! ```text
//!   weft serve DIR            127.0.0.1:5432 and DIR/.s.PGSQL.5432; role and database weft
//!   SIGTERM, SIGINT           nobody new is let in, statements are cancelled, a checkpoint is written, exit 0
//! ```

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use weft::{Database, Options};
use weft_env::Env;
use weft_server::{Auth, Server, ServerConfig, TlsIdentity, Verifier};

use crate::args::Arguments;
use crate::failure::Failure;

/// The role and the database that every new directory has.
const FIRST_ROLE: &str = "weft";
/// The address that `weft serve` listens on when nothing else is said.
const ADDRESS: &str = "127.0.0.1:5432";

/// Runs `weft init DIR`.
pub(crate) fn init(mut arguments: Arguments) -> Result<(), Failure> {
    let user = arguments.option("--user")?.unwrap_or_else(|| FIRST_ROLE.into());
    let dir = directory(&mut arguments, "init")?;
    arguments.finish()?;
    let database = Database::open(&dir)?;
    give_password(&database, &user)?;
    database.close()?;
    println!("{} is ready: weft serve {}", dir.display(), dir.display());
    Ok(())
}

/// Runs `weft serve DIR`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let memory_bytes = arguments.bytes("--memory-limit")?;
    let config = config(&mut arguments)?;
    let dir = directory(&mut arguments, "serve")?;
    let (config, uses_tls) = config;
    arguments.finish()?;
    // Before any thread is there, so that all of them leave the signals to the wait below.
    let signals = Signals::block();
    let options = memory_bytes.map_or_else(Options::default, Options::with_memory_limit);
    let database = Database::open_with(&dir, options)?;
    if !database.has_superuser()? {
        match config.auth {
            Auth::Trust => database.put_superuser(FIRST_ROLE, None)?,
            Auth::Scram => give_password(&database, FIRST_ROLE)?,
        }
    }
    let tls = if uses_tls && config.tls.is_none() { Some(own_identity(&dir)?) } else { config.tls.clone() };
    let socket_dir = config.socket_dir.clone().or_else(|| socket_dir_of(&dir));
    let server = Server::start(database.clone(), ServerConfig { tls, socket_dir, ..config })?;
    if let Some(address) = server.address() {
        say(&format!("listening on {address}"));
    }
    if let Some(socket) = server.socket() {
        say(&format!("listening on {}", socket.display()));
    }
    say("ready");
    signals.wait();
    server.close();
    database.close()?;
    say("closed");
    Ok(())
}

/// Writes a line for whoever started the server. That may be gone: the server goes on, and ends well, all the same.
fn say(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn directory(arguments: &mut Arguments, command: &str) -> Result<PathBuf, Failure> {
    let dir = arguments.word().ok_or_else(|| Failure::Usage(format!("{command} needs the directory of a database")))?;
    let dir = PathBuf::from(dir);
    Ok(std::path::absolute(&dir).unwrap_or(dir))
}

/// What the words say, and whether TLS is wanted.
fn config(arguments: &mut Arguments) -> Result<(ServerConfig, bool), Failure> {
    let usage = |message: String| Failure::Usage(message);
    let listen = arguments.option("--listen")?.unwrap_or_else(|| ADDRESS.into());
    let listen: SocketAddr = listen.parse().map_err(|_| usage(format!("--listen needs ADDRESS:PORT, not {listen}")))?;
    let auth = match arguments.option("--auth")?.as_deref() {
        None | Some("scram") => Auth::Scram,
        Some("trust") => Auth::Trust,
        Some(other) => return Err(usage(format!("--auth is scram or trust, not {other}"))),
    };
    let uses_tls = match arguments.option("--tls")?.as_deref() {
        None | Some("auto") => true,
        Some("off") => false,
        Some(other) => return Err(usage(format!("--tls is auto or off, not {other}"))),
    };
    let tls = match (arguments.option("--tls-cert")?, arguments.option("--tls-key")?) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(TlsIdentity { certificate: read(&certificate)?, key: read(&key)? }),
        _ => return Err(usage("--tls-cert and --tls-key belong together".into())),
    };
    let socket_dir = arguments.option("--socket-dir")?.map(PathBuf::from);
    let connections_max = arguments.number("--max-connections", 1000)?;
    let connections_max = usize::try_from(connections_max).unwrap_or(usize::MAX);
    let defaults = ServerConfig::default();
    Ok((ServerConfig { listen: Some(listen), socket_dir, auth, tls, connections_max, ..defaults }, uses_tls))
}

fn read(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::Other(format!("{file}: {error}")))
}

/// The directory of the database, unless the path of a socket in it would be too long for the system.
fn socket_dir_of(dir: &Path) -> Option<PathBuf> {
    const PATH_BYTES_MAX: usize = 100;
    (dir.as_os_str().len() + ".s.PGSQL.65535".len() < PATH_BYTES_MAX).then(|| dir.to_owned())
}

/// The certificate in the directory; one is made when there is none.
fn own_identity(dir: &Path) -> Result<TlsIdentity, Failure> {
    let (certificate, key) = (dir.join("server.crt"), dir.join("server.key"));
    if certificate.exists() && key.exists() {
        return Ok(TlsIdentity {
            certificate: read(&certificate.to_string_lossy())?,
            key: read(&key.to_string_lossy())?,
        });
    }
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(std::fs::read_to_string("/etc/hostname").ok().map(|name| name.trim().to_owned()));
    names.retain(|name| !name.is_empty());
    let made = TlsIdentity::make(names)?;
    let wrong = |error: std::io::Error| Failure::Other(format!("{}: {error}", key.display()));
    write_secret(&key, &made.key).map_err(wrong)?;
    std::fs::write(&certificate, &made.certificate).map_err(wrong)?;
    Ok(made)
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes the first role, with the password in WEFT_PASSWORD, or one that is made here and printed once.
fn give_password(database: &Database, user: &str) -> Result<(), Failure> {
    let rng = Env::real().rng;
    let (password, made) = match std::env::var("WEFT_PASSWORD") {
        Ok(password) if !password.is_empty() => (password, false),
        _ => (format!("{:016x}{:08x}", rng.next_u64(), rng.next_u64() as u32), true),
    };
    let mut salt = [0; 16];
    salt.chunks_mut(8).for_each(|part| part.copy_from_slice(&rng.next_u64().to_le_bytes()));
    database.put_superuser(user, Some(&Verifier::of_password(&password, salt).text()))?;
    if made {
        println!("the password of {user} is {password}");
    }
    Ok(())
}

/// SIGTERM and SIGINT, which end the server, kept from ending the process.
struct Signals {
    set: libc::sigset_t,
}

impl Signals {
    fn block() -> Signals {
        // SAFETY: the set is filled by sigemptyset before it is read, and both calls take pointers to it that are valid
        // for their duration.
        let set = unsafe {
            let mut set = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            set
        };
        Signals { set }
    }

    /// Waits for one of them.
    fn wait(&self) {
        let mut signal = 0;
        // SAFETY: both pointers are valid for the call.
        while unsafe { libc::sigwait(&self.set, &mut signal) } != 0 {}
    }
}
