//! `weft route`: a router in front of a writer and its read nodes.
//!
//! ```text
//!   weft route --writer 10.0.0.1:5432 --node 10.0.0.2:5432 --node 10.0.0.3:5432 --listen 0.0.0.0:6432
//!   SIGTERM, SIGINT           nobody new is let in, statements are cancelled, exit 0
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weft_bench::subcommand::Arguments;
use weft_router::{Door, Options, Place, Router, WhenLate};
use weft_server::client::SslMode;
use weft_server::{Log, TlsIdentity};

use crate::failure::Failure;
use crate::serve::{Asked, Signals, given_identity};

/// What `weft route --help` prints.
pub(crate) const HELP: &str = "\
Usage: weft route --writer HOST:PORT --node HOST:PORT [--node ...] [--listen ADDRESS:PORT] [OPTION]...

  --writer HOST:PORT         who writes: weft serve DIR. When a node is promoted it takes the writer's place; who
                             writes is found with WEFT_PROBE_PASSWORD, or --auth trust
  --node HOST:PORT           who reads: weft serve --follow DIR; as often as there are nodes
  --listen ADDRESS:PORT      where clients come in [127.0.0.1:6432]
  --auth password|trust      password: asked of the client (under TLS, or from this machine), the servers' by SCRAM;
                             trust: the servers ask for none, on loopback only [password]
  --tls on|off               TLS for clients [on]
  --tls-cert FILE            its certificate, PEM; without one it is made at the start
  --tls-key FILE             and its key
  --server-tls MODE          TLS to the servers: disable, prefer, require, verify-ca, verify-full [prefer]
  --server-ca FILE           who vouches for their certificates, PEM
  --freshness VALUE          what sessions begin with: own writes, latest, none, or a time such as 50ms [own writes]
  --when-late writer|wait|fail   what becomes of a read whose node does not show in time what it must [writer]
  --late-after TIME          how long it waits for its node, ms [100]
  --age-max TIME             a node whose data is older gets no reads, ms [10000]
  --silence-max TIME         sessions leave a node that says nothing for so long, ms [10000]
  --writer-wait TIME         how long clients wait for a writer that is not there, ms [5000]
  --probe-user NAME          who looks at the servers [weft]; the password is in WEFT_PROBE_PASSWORD
  --probe-every TIME         how often, ms [500]
  --max-connections N        clients at a time [1000]
  --metrics ADDRESS:PORT     /metrics and /health for who watches; keep it on loopback
  --tell                     a notice tells where each statement ran
  --log-file FILE --log-level LEVEL --log-format text|json
";

/// Runs `weft route`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let options = options(&mut arguments)?;
    arguments.finish()?;
    // Before any thread is there, so that all of them leave the signals to the wait below.
    let signals = Signals::block();
    let log = Arc::clone(&options.log);
    let router = Router::start(options)?;
    println!("listening on {}", router.address());
    if let Some(metrics) = router.metrics() {
        println!("metrics on http://{metrics}/metrics");
    }
    println!("ready");
    while signals.wait() == Asked::Reload {
        if let Err(error) = log.reopen() {
            log.error("log_not_reopened", &[("message", &error.message())]);
        }
    }
    router.close();
    println!("closed");
    Ok(())
}

fn options(arguments: &mut Arguments) -> Result<Options, Failure> {
    let needs = |name: &str| Failure::Usage(format!("route needs {name} HOST:PORT"));
    let writer = Place::parse(&arguments.option("--writer")?.ok_or_else(|| needs("--writer"))?)?;
    let mut nodes = Vec::new();
    while let Some(node) = arguments.option("--node")? {
        nodes.push(Place::parse(&node)?);
    }
    if nodes.is_empty() {
        return Err(needs("--node"));
    }
    let mut options = Options::new(writer, nodes);
    if let Some(listen) = arguments.option("--listen")? {
        options.listen =
            listen.parse().map_err(|_| Failure::Usage(format!("--listen needs ADDRESS:PORT, not {listen}")))?;
    }
    options.door = word(arguments, "--auth", &[("password", Door::Password), ("trust", Door::Trust)])?;
    options.tls = identity(arguments)?;
    options.server_tls = word(
        arguments,
        "--server-tls",
        &[
            ("prefer", SslMode::Prefer),
            ("disable", SslMode::Disable),
            ("require", SslMode::Require),
            ("verify-ca", SslMode::VerifyCa),
            ("verify-full", SslMode::VerifyFull),
        ],
    )?;
    options.server_ca = arguments.option("--server-ca")?.map(PathBuf::from);
    options.freshness = arguments.option("--freshness")?.unwrap_or(options.freshness);
    let ends = [("writer", WhenLate::Writer), ("wait", WhenLate::Wait), ("fail", WhenLate::Fail)];
    options.when_late = word(arguments, "--when-late", &ends)?;
    options.late_after = Duration::from_millis(arguments.number("--late-after", 100)?);
    options.age_max = Duration::from_millis(arguments.number("--age-max", 10_000)?);
    options.silence_max = Duration::from_millis(arguments.number("--silence-max", 10_000)?);
    options.writer_wait = Duration::from_millis(arguments.number("--writer-wait", 5_000)?);
    options.probe_every = Duration::from_millis(arguments.number("--probe-every", 500)?);
    let user = arguments.option("--probe-user")?.unwrap_or_else(|| "weft".into());
    options.probe = (user, std::env::var("WEFT_PROBE_PASSWORD").ok().filter(|password| !password.is_empty()));
    options.connections_max = arguments.number("--max-connections", 1000)? as usize;
    options.tell = arguments.flag("--tell");
    if let Some(metrics) = arguments.option("--metrics")? {
        let wrong = || Failure::Usage(format!("--metrics needs ADDRESS:PORT, not {metrics}"));
        options.metrics = Some(metrics.parse().map_err(|_| wrong())?);
    }
    let log = match arguments.option("--log-file")? {
        Some(file) => Log::to_file(&PathBuf::from(file))?,
        None => Log::default(),
    };
    let (level, format) = (arguments.option("--log-level")?, arguments.option("--log-format")?);
    log.set(level.as_deref().unwrap_or("info"), format.as_deref().unwrap_or("text"));
    options.log = Arc::new(log);
    Ok(options)
}

/// One of some words; the first when none is given.
fn word<T: Copy>(arguments: &mut Arguments, name: &str, words: &[(&str, T)]) -> Result<T, Failure> {
    let Some(given) = arguments.option(name)? else { return Ok(words[0].1) };
    let found = words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Failure::Usage(format!("{name} is one of {}, not {given}", known.join(", ")))
    })
}

/// The certificate for clients; one of its own when none is given.
fn identity(arguments: &mut Arguments) -> Result<Option<TlsIdentity>, Failure> {
    let given = (arguments.option("--tls-cert")?, arguments.option("--tls-key")?);
    let is_on = word(arguments, "--tls", &[("on", true), ("off", false)])?;
    match given {
        _ if !is_on => Ok(None),
        (Some(certificate), Some(key)) => given_identity(&certificate, &key).map(Some),
        (None, None) => {
            let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
            Ok(Some(TlsIdentity::make(names)?))
        }
        _ => Err(Failure::Usage("--tls-cert and --tls-key belong together".into())),
    }
}
