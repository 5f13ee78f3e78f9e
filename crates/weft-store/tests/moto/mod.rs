//! An S3 server of a package registry, as a child process on loopback.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server; it forgets everything with the process.
pub struct Moto {
    child: Child,
    pub port: u16,
}

impl Moto {
    /// Installs it below `folder`, unless it is there, and starts it with an empty bucket; `Err` says why not.
    pub fn start(folder: &Path, bucket: &str) -> Result<Moto, String> {
        let dir = folder.join("s3");
        let python = dir.join("bin/python");
        let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/s3/requirements.txt");
        if !python.exists() {
            step(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        }
        step(Command::new(&python).args(["-m", "pip", "install", "-q", "-r"]).arg(requirements))?;
        let free = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let port = free.local_addr().map_err(|error| error.to_string())?.port();
        drop(free);
        let mut command = Command::new(&python);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let moto = Moto { child, port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while make(port, bucket).is_err() {
            if Instant::now() >= deadline {
                return Err("the S3 server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(moto)
    }

    /// Where it listens.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The variables with which programs find it.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("AWS_ENDPOINT_URL", self.endpoint()),
            ("AWS_ACCESS_KEY_ID", "key".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ]
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a bucket.
fn make(port: u16, bucket: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(stream, "PUT /{bucket} HTTP/1.1\r\nHost: s3\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(std::io::Error::other(answer)) }
}

fn step(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

/// Tells that a test is skipped, and why; a failure where `WEFT_CLIENTS=required` is set.
pub fn skip(reason: &str) {
    assert!(std::env::var_os("WEFT_CLIENTS").is_none_or(|v| v != "required"), "the S3 server is required: {reason}");
    println!("skipped: {reason}");
}
