//! A writer and its nodes as processes, and a router in this one.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

pub mod checks;
pub mod fake;
pub mod wire;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use weft_router::{Door, Options, Place, Router};
use weft_wire::Log;
use weft_wire::client::{Client, SslMode, Target};

/// The password of the role weft, where one is asked for.
pub const PASSWORD: &str = "secret";

/// The program `weft`: `WEFT_PROGRAM`, or what cargo has built.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("WEFT_PROGRAM") {
        return Some(named.into());
    }
    let exe = std::env::current_exe().ok()?;
    let folder = exe.parent()?.parent()?.parent()?;
    ["debug/weft", "release/weft"].iter().map(|name| folder.join(name)).find(|path| path.exists())
}

/// Tells that a test is skipped; a failure where `WEFT_CLIENTS=required` is set.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("WEFT_CLIENTS").is_none_or(|v| v != "required"), "required: {reason}");
    println!("skipped: {reason}");
}

/// A server, killed when it goes.
pub struct Served {
    child: Child,
    pub port: u16,
}

impl Served {
    pub fn start(db: &Path, options: &[&str]) -> Served {
        Served::start_at(db, 0, options)
    }

    pub fn start_at(db: &Path, port: u16, options: &[&str]) -> Served {
        let mut child = Command::new(program().unwrap())
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--tls", "off", "--log-level", "error"])
            .args(options)
            .arg(db)
            .env("WEFT_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(address) = line.strip_prefix("listening on 127.0.0.1:") {
                port = address.parse().unwrap();
            }
            if line == "ready" {
                break;
            }
        }
        assert!(port > 0, "the server told its port");
        Served { child, port }
    }

    /// A signal, as kill(1) names it.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A writer, two nodes, and a router before them.
pub struct Company {
    pub dir: tempfile::TempDir,
    pub writer: Option<Served>,
    pub nodes: Vec<Option<Served>>,
    pub router: Option<Router>,
    pub options: Options,
}

impl Company {
    /// None: there is no program to start.
    pub fn start(change: impl FnOnce(&mut Options)) -> Option<Company> {
        Company::start_with(&["--auth", "trust"], change)
    }

    pub fn start_with(served: &[&str], change: impl FnOnce(&mut Options)) -> Option<Company> {
        if program().is_none() {
            skip("there is no program weft: build it, or name it in WEFT_PROGRAM");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("db");
        let writer = Served::start(&db, served);
        let follow = |name: &str| Served::start(&db, &[served, &["--follow", "--node-name", name]].concat());
        let nodes = [follow("a"), follow("b")];
        let place = |served: &Served| Place { host: "127.0.0.1".into(), port: served.port };
        let mut options = Options::new(place(&writer), nodes.iter().map(place).collect());
        options.listen.set_port(0);
        options.door = Door::Trust;
        options.probe_every = Duration::from_millis(100);
        options.late_after = Duration::from_secs(5);
        let log = Log::default();
        log.set("error", "text");
        options.log = Arc::new(log);
        change(&mut options);
        let router = Router::start(options.clone()).unwrap();
        Some(Company { dir, writer: Some(writer), nodes: nodes.map(Some).into(), router: Some(router), options })
    }

    pub fn follow_again(&mut self, at: usize) {
        let port = self.options.nodes[at].port;
        let db = self.dir.path().join("db");
        let served = Served::start_at(&db, port, &["--auth", "trust", "--follow", "--node-name", ["a", "b"][at]]);
        self.nodes[at] = Some(served);
    }

    /// The router, for who ends it.
    pub fn take_router(&mut self) -> Router {
        self.router.take().unwrap()
    }

    /// Where the router listens.
    pub fn address(&self) -> SocketAddr {
        self.router.as_ref().unwrap().address()
    }

    pub fn target(&self) -> Target {
        target(self.address().port())
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.target()).unwrap()
    }

    /// A connection to the writer or a node itself.
    pub fn direct(&self, port: u16) -> Client {
        Client::connect(&target(port)).unwrap()
    }

    pub fn writer(&self) -> Client {
        self.direct(self.options.writer.port)
    }
}

pub fn target(port: u16) -> Target {
    let mut target = Target::parse(&format!("postgres://weft@127.0.0.1:{port}/weft")).unwrap();
    target.ssl_mode = SslMode::Disable;
    target
}

/// One value.
pub fn ask(client: &mut Client, sql: &str) -> String {
    let results = client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    results.last().unwrap().rows[0][0].clone().unwrap_or_default()
}

/// The SQLSTATE of a statement that fails.
pub fn refused(client: &mut Client, sql: &str) -> String {
    client.query(sql).err().unwrap_or_else(|| panic!("{sql} is refused")).sqlstate().to_owned()
}

/// Where the last statement ran, as `--tell` says: "writer" or "node".
pub fn ran_on(client: &mut Client) -> &'static str {
    let notices = client.take_notices();
    let told = notices.iter().rev().find(|notice| notice.message().starts_with("ran on"));
    let text = told.unwrap_or_else(|| panic!("a notice tells: {notices:?}")).message();
    if text.contains("the node") { "node" } else { "writer" }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
