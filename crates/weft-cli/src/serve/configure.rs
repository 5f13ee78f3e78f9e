//! The configuration of `weft serve`: flags, environment, file; see docs/settings.md.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft::configuration::{Configuration, SETTINGS, Source};
use weft::{Archiving, Durability, Nodes, Options, SchedulerMode};
use weft_bench::subcommand::Arguments;
use weft_server::{Auth, Log, ServerConfig};

use super::identity::{given_identity, own_identity};
use crate::failure::Failure;

/// The file in the directory of a database.
const FILE: &str = "weft.conf";
/// The same for nodes that follow it.
const NODE_FILE: &str = "node.conf";

/// Settings by name, as flags gave them.
type Flags = Vec<(&'static str, String)>;

/// What was said, where, so that it can be read again.
#[derive(Clone)]
pub(super) struct Told {
    flags: Flags,
    file: PathBuf,
    /// The file was named: it must be there.
    is_named: bool,
}

impl Told {
    /// Takes the flags out of the words.
    pub(super) fn read(arguments: &mut Arguments) -> Result<(Flags, Option<String>), Failure> {
        let mut flags = Vec::new();
        for known in SETTINGS.iter().filter(|known| known.is_configurable()) {
            if let Some(value) = arguments.option(&known.flag())? {
                flags.push((known.name, value));
            }
        }
        Ok((flags, arguments.option("--config")?))
    }

    /// Where the rest is said. A node has a file of its own: the other is its writer's.
    pub(super) fn new(flags: Flags, config: Option<String>, dir: &Path, follows: bool) -> Told {
        let is_named = config.is_some();
        let file = config.map_or_else(|| dir.join(if follows { NODE_FILE } else { FILE }), PathBuf::from);
        Told { flags, file: std::path::absolute(&file).unwrap_or(file), is_named }
    }

    /// Reads it, as it is said now.
    pub(super) fn configuration(&self) -> Result<Configuration, Failure> {
        let mut configuration = Configuration::default();
        for (name, value) in &self.flags {
            configuration.set(name, value, Source::Flag).map_err(|error| {
                let allowed = error.hint_text().unwrap_or_default();
                Failure::Usage(format!("--{}: {}; {allowed}", name.replace('_', "-"), error.message()))
            })?;
        }
        configuration.read_environment(|name| std::env::var(name).ok())?;
        match std::fs::read_to_string(&self.file) {
            Ok(text) => configuration.read_file(&self.file.display().to_string(), &text)?,
            Err(error) if !self.is_named && error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::io(format!("cannot read {}", self.file.display()), &error)),
        }
        Ok(configuration)
    }
}

/// The database's options; sizes that follow from `memory_limit` are written back.
pub(super) fn options(configuration: &mut Configuration) -> Options {
    let limit_bytes = configuration.bytes("memory_limit");
    let mut options = if limit_bytes > 0 { Options::with_memory_limit(limit_bytes) } else { Options::default() };
    let own = |name: &str| limit_bytes == 0 || configuration.source(name) != Source::Default;
    let size = |name: &str, derived: u64| if own(name) { configuration.bytes(name) } else { derived };
    options.row_memory_bytes = size("row_memory", options.row_memory_bytes);
    options.row_table_bytes = size("row_table_size", options.row_table_bytes);
    options.cache_bytes = size("cache_size", options.cache_bytes);
    options.lend_row_memory &= !own("cache_size") && !own("row_memory");
    options.query_memory_bytes = size("query_memory", options.query_memory_bytes as u64) as usize;
    options.log_segment_bytes = configuration.bytes("log_segment_size");
    options.checkpoint_log_bytes = configuration.bytes("checkpoint_log_size");
    options.durability = match configuration.text("durability") {
        "async" => Durability::Async,
        _ => Durability::Full,
    };
    options.lock_timeout = configuration.duration("lock_timeout").unwrap_or_default();
    options.transaction_slots = configuration.count("transaction_slots");
    options.query_slots = configuration.count("query_slots");
    options.admission_timeout = configuration.duration("admission_timeout").unwrap_or_default();
    options.workers = configuration.count("workers");
    options.nodes = configuration.is_on("nodes").then(|| Nodes {
        keep_bytes: configuration.bytes("node_keep_size"),
        keep_time: configuration.duration("node_keep_time").unwrap_or_default(),
    });
    let place = configuration.text("archive");
    options.archive = (!place.is_empty()).then(|| Archiving {
        interval: configuration.duration("archive_interval").unwrap_or_default(),
        keep_bytes: configuration.bytes("archive_keep_size"),
        keep_time: configuration.duration("archive_keep_time").unwrap_or_default(),
        ack: configuration.duration("store_ack").unwrap_or_default(),
        nodes: configuration.is_on("archive_nodes"),
        ..Archiving::to(place)
    });
    options.scheduler = SchedulerMode::from_name(configuration.text("scheduler")).unwrap_or_default();
    configuration.derive_bytes("row_memory", options.row_memory_bytes);
    configuration.derive_bytes("row_table_size", options.row_table_bytes);
    configuration.derive_bytes("cache_size", options.cache_bytes);
    configuration.derive_bytes("query_memory", options.query_memory_bytes as u64);
    options
}

/// The log, as it is told to be.
pub(super) fn log(configuration: &Configuration) -> Result<Arc<Log>, Failure> {
    let log = match configuration.text("log_file") {
        "" => Log::default(),
        file => Log::to_file(Path::new(file))?,
    };
    log.set(configuration.text("log_level"), configuration.text("log_format"));
    Ok(Arc::new(log))
}

/// An address that was tested when it was set; none when it is empty.
pub(super) fn address(configuration: &Configuration, name: &str) -> Option<SocketAddr> {
    configuration.text(name).parse().ok()
}

/// What the server is started with; the certificate is made when there is none.
/// One that follows writes nothing into the directory, where another machine's server may have its socket.
pub(super) fn server(
    configuration: &Configuration,
    dir: &Path,
    log: Arc<Log>,
    follows: bool,
) -> Result<ServerConfig, Failure> {
    let asks_for_archive =
        configuration.duration("store_ack").is_some_and(|ack| !ack.is_zero()) || configuration.is_on("archive_nodes");
    if asks_for_archive && !follows && configuration.text("archive").is_empty() {
        return Err(Failure::Usage("store_ack and archive_nodes need an archive: name one with --archive".into()));
    }
    let tls = match (configuration.text("tls"), configuration.text("tls_cert"), configuration.text("tls_key")) {
        ("off", ..) => None,
        (_, "", "") => Some(own_identity(dir, !follows)?),
        (_, certificate, key) if !certificate.is_empty() && !key.is_empty() => Some(given_identity(certificate, key)?),
        _ => return Err(Failure::Usage("tls_cert and tls_key belong together".into())),
    };
    let socket_dir = match configuration.text("socket_dir") {
        "" if follows => None,
        "" => socket_dir_of(dir),
        "none" => None,
        named => Some(PathBuf::from(named)),
    };
    Ok(ServerConfig {
        listen: address(configuration, "listen"),
        socket_dir,
        auth: if configuration.text("auth") == "trust" { Auth::Trust } else { Auth::Scram },
        tls,
        connections_max: configuration.count("max_connections"),
        log,
        ..ServerConfig::default()
    })
}

/// The directory of the database, unless the path of a socket in it would be too long for the system.
fn socket_dir_of(dir: &Path) -> Option<PathBuf> {
    const PATH_BYTES_MAX: usize = 100;
    (dir.as_os_str().len() + ".s.PGSQL.65535".len() < PATH_BYTES_MAX).then(|| dir.to_owned())
}
