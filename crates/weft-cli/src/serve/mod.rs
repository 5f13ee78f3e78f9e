//! `weft serve` and `weft init`.
//!
//! ```text
//!   flags, WEFT_..., DIR/weft.conf ── configure ──▶ Options, ServerConfig, Log
//!   weft serve DIR            127.0.0.1:5432 and DIR/.s.PGSQL.5432; role and database weft
//!   weft serve --follow DIR   the same for a node that follows the server of DIR, in another process; it only reads
//!   weft serve DIR --follow s3://bucket/prefix   for a node that shares an archive with the server, and nothing else
//!   weft serve DIR --follow postgres://ann@host  for a node that the server feeds over a connection
//!   weft promote DIR          asks a node, which looks ten times a second: it writes from then on, at the same address
//!   overtaken                 another has the directory: says so, and ends as by SIGTERM, with 1
//!   SIGHUP                    the file is read again
//!   SIGTERM, SIGINT           nobody new is let in, statements are cancelled, a checkpoint is written, exit 0
//! ```

mod configure;
mod identity;
mod signals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use weft::configuration::{Configuration, SETTINGS};
use weft::{Database, Feeder, Follow, Options};
use weft_bench::subcommand::Arguments;
use weft_env::Env;
use weft_server::{Log, Monitor, Server, ServerConfig, Upstream, Verifier};

use crate::failure::Failure;
use crate::promote::{Asked as Promotion, LOOK};
use configure::Told;
pub(crate) use identity::given_identity;
pub(crate) use signals::{Asked, Signals};

/// The role and the database that every new directory has.
const FIRST_ROLE: &str = "weft";
/// What `weft serve --help` prints: the settings, from their table.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Usage: weft serve [--follow] DIR [--config FILE] [--SETTING VALUE]...\n\
        \x20      weft serve DIR --follow URL [--config FILE] [--SETTING VALUE]...\n\n\
         With --follow it follows the server that has DIR open, and only reads; its file is DIR/node.conf.\n\
         With a URL DIR is its own copy: postgres://USER:PASSWORD@HOST:PORT/ is a server that feeds it (a role with\n\
         REPLICATION), s3://... or file://... is where a server ships to (--archive URL --archive-nodes on).\n\
         A setting is given by its flag, by a variable (WEFT_MAX_CONNECTIONS), or in DIR/weft.conf\n\
         (max_connections = 100); the first of these that names it wins.\n\n",
    );
    for known in SETTINGS.iter().filter(|known| known.is_configurable()) {
        let default = if known.default.is_empty() { String::new() } else { format!(" [{}]", known.default) };
        text.push_str(&format!("  {:<38} {}{default}\n", known.flag(), known.meaning));
    }
    text
}

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
    let follows = arguments.flag("--follow");
    let (flags, config) = Told::read(&mut arguments)?;
    let (dir, archive) = places(&mut arguments, follows)?;
    arguments.finish()?;
    let told = Told::new(flags, config, &dir, follows);
    let mut configuration = told.configuration()?;
    let options = configure::options(&mut configuration);
    // Before any thread is there, so that all of them leave the signals to the wait below.
    let signals = Signals::block();
    let log = configure::log(&configuration)?;
    let monitor = configure::address(&configuration, "metrics").map(Monitor::start).transpose()?;
    let database = open(&dir, options, &configuration, &log, follows.then_some(archive))?;
    if !follows && !database.has_superuser()? {
        match configuration.text("auth") {
            "trust" => database.put_superuser(FIRST_ROLE, None)?,
            _ => give_password(&database, FIRST_ROLE)?,
        }
    }
    let config = configure::server(&configuration, &dir, Arc::clone(&log), follows)?;
    // The owner of the directory is its writer.
    let config = ServerConfig { owner_socket: config.owner_socket && !follows, ..config };
    let server = Server::start(database.clone(), config)?;
    server.apply(&configuration);
    let reload = reload_of(told, &database, &server, &log);
    database.activities().set_reload(reload.clone());
    announce(&server, monitor.as_ref());
    if let Some(monitor) = &monitor {
        monitor.serve(&database);
    }
    say("ready");
    watch(&database, &log, &dir);
    while signals.wait() == Asked::Reload {
        reload();
    }
    if let Some(monitor) = &monitor {
        monitor.close();
    }
    server.close();
    let begun = Instant::now();
    let closed = database.close();
    let ok = closed.is_ok();
    log.info("closed", &[("checkpoint_seconds", &seconds_since(begun)), ("ok", &ok)]);
    closed?;
    say("closed");
    Ok(())
}

/// Looks whether a node is to write, and whether another has taken the directory.
fn watch(database: &Database, log: &Arc<Log>, dir: &Path) {
    let (database, log) = (database.clone(), Arc::clone(log));
    let promotion = database.node().map(|node| Promotion::of(dir, &node.name));
    // It ends with the process.
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(LOOK);
            let promote = |takes_over| {
                log.info("promoting", &[("takes_over", &takes_over)]);
                database.promote(takes_over)
            };
            match promotion.as_ref().and_then(|promotion| promotion.look(promote)) {
                Some(Ok(())) => log.info("promoted", &[]),
                Some(Err(error)) => log.error("not_promoted", &[("message", &error.message())]),
                None => {}
            }
            if let Some(error) = database.overtaken() {
                log.error("overtaken", &[("message", &error.message())]);
                signals::end();
                return;
            }
        }
    });
}

/// Opens the database, and says how long that took.
fn open(
    dir: &Path,
    options: Options,
    configuration: &Configuration,
    log: &Log,
    follows: Option<Option<String>>,
) -> Result<Database, Failure> {
    let begun = Instant::now();
    log.info("starting", &[("version", &env!("CARGO_PKG_VERSION")), ("directory", &dir.display())]);
    let opened = if let Some(archive) = follows {
        let name = Some(configuration.text("node_name").to_owned()).filter(|name| !name.is_empty());
        let join_timeout = configuration.duration("node_join_timeout").unwrap_or_default();
        let archive_interval = configuration.duration("archive_interval").unwrap_or_default();
        let address = configuration.text("listen").to_owned();
        let (place, feeds) = (archive.as_deref().unwrap_or_default(), archive.as_deref().is_some_and(Upstream::is_url));
        // It is known by its name when it comes back, and what it needs is kept until then.
        let name = name.or_else(|| feeds.then(|| name_of(dir)));
        let feeder = match feeds {
            true => Some(Feeder(Arc::new(Upstream::new(place, name.as_deref().unwrap_or_default(), &address)?))),
            false => None,
        };
        let archive = archive.filter(|_| !feeds);
        let follow = Follow { name, address, join_timeout, archive, archive_interval, feeder };
        Database::follow(dir, options, follow)
    } else {
        Database::open_with(dir, options)
    };
    let database = match opened {
        Ok(database) => database,
        Err(error) => {
            log.error("not_opened", &[("code", &error.sqlstate()), ("message", &error.message())]);
            return Err(error.into());
        }
    };
    database.configured().replace(configuration.clone());
    let log_bytes = database.status().log_bytes;
    log.info("recovered", &[("seconds", &seconds_since(begun)), ("log_bytes", &log_bytes)]);
    Ok(database)
}

/// What a node is called that was given no name: by its machine and its directory.
fn name_of(dir: &Path) -> String {
    let of_dir = format!("{} {}", weft_env::machine(), dir.display());
    format!("node-{:08x}", crc32c::crc32c(of_dir.as_bytes()))
}

fn seconds_since(begun: Instant) -> String {
    format!("{:.3}", begun.elapsed().as_secs_f64())
}

fn announce(server: &Server, monitor: Option<&Monitor>) {
    if let Some(address) = server.address() {
        say(&format!("listening on {address}"));
    }
    if let Some(socket) = server.socket() {
        say(&format!("listening on {}", socket.display()));
    }
    if let Some(monitor) = monitor {
        say(&format!("metrics on {}", monitor.address()));
    }
}

/// Reads the configuration again: what SIGHUP and `pg_reload_conf()` do. False when it is wrong: then nothing changes.
fn reload_of(
    told: Told,
    database: &Database,
    server: &Server,
    log: &Arc<Log>,
) -> impl Fn() -> bool + Clone + Send + Sync + 'static {
    let (configured, apply, log) = (Arc::clone(database.configured()), Arc::new(server.applier()), Arc::clone(log));
    move || {
        if let Err(error) = log.reopen() {
            log.error("log_not_reopened", &[("message", &error.message())]);
        }
        let newer = match told.configuration() {
            Ok(newer) => newer,
            Err(failure) => {
                log.error("not_reloaded", &[("message", &failure.text())]);
                return false;
            }
        };
        let mut configuration = (*configured.current()).clone();
        let refused = configuration.reload(&newer);
        apply(&configuration);
        configured.replace(configuration);
        log.info("reloaded", &[("needs_restart", &refused.join(","))]);
        true
    }
}

/// Writes a line for whoever started the server. That may be gone: the server goes on, and ends well, all the same.
fn say(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The directory, and the URL of the archive that it follows, in either order.
fn places(arguments: &mut Arguments, follows: bool) -> Result<(PathBuf, Option<String>), Failure> {
    let is_url = |word: &String| word.contains("://");
    let words: Vec<String> = std::iter::from_fn(|| arguments.word()).take(if follows { 2 } else { 1 }).collect();
    let (urls, dirs): (Vec<String>, Vec<String>) = words.into_iter().partition(is_url);
    let (Some(dir), true) = (dirs.first(), dirs.len() == 1) else {
        return Err(Failure::Usage("serve needs the directory of a database".to_owned()));
    };
    Ok((std::path::absolute(dir).unwrap_or_else(|_| dir.into()), urls.into_iter().next()))
}

fn directory(arguments: &mut Arguments, command: &str) -> Result<PathBuf, Failure> {
    let dir = arguments.word().ok_or_else(|| Failure::Usage(format!("{command} needs the directory of a database")))?;
    let dir = PathBuf::from(dir);
    Ok(std::path::absolute(&dir).unwrap_or(dir))
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
