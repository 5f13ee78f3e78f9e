//! Messages that are nearly right, over the socket: conversations from tests/corpus/protocol, changed at random places.
//!
//! ```text
//!   Q "SELECT a FROM t\0"   51 00 00 00 14 53 45 ...
//!                           51 00 00 80 14 53 45 ...     a byte overwritten; or put in, taken out, cut off
//! ```
//!
//! 1. The server answers or ends the connection; it neither panics nor hangs.
//! 2. Other connections go on as if nothing had happened.
//! 3. Memory and connections are given back.
//! 4. Nobody comes in without the password.
//!
//! `WEFT_MALFORMED` is the number of messages sent (100,000).

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests talk to sockets and threads")]

mod wire;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use weft_server::{Auth, ServerConfig};
use wire::{TestServer, Wire};

/// A conversation: its messages as bytes, lengths included.
struct Conversation {
    name: String,
    messages: Vec<Vec<u8>>,
}

fn corpus() -> Vec<Conversation> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/protocol");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(files.len() >= 8, "the corpus is there");
    files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            Conversation { name, messages: lines.map(message).collect() }
        })
        .collect()
}

/// A line of the corpus as bytes; its form is told in the corpus' README.
fn message(line: &str) -> Vec<u8> {
    let (tag, parts) = line.split_at(1);
    if tag == "=" {
        return hexadecimal(&parts.replace(' ', ""));
    }
    let body = body(parts.trim_start());
    let mut bytes = if tag == "-" { Vec::new() } else { tag.as_bytes().to_vec() };
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn hexadecimal(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn body(mut parts: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !parts.is_empty() {
        if let Some(text) = parts.strip_prefix('"') {
            let mut letters = text.char_indices();
            let end = loop {
                match letters.next().expect("a text ends with a quotation mark") {
                    (end, '"') => break end,
                    (_, '\\') => bytes.push(match letters.next().unwrap().1 {
                        '0' => 0,
                        'n' => b'\n',
                        't' => b'\t',
                        other => other as u8,
                    }),
                    (_, letter) => bytes.extend_from_slice(letter.to_string().as_bytes()),
                }
            };
            parts = text[end + 1..].trim_start();
            continue;
        }
        let (word, rest) = parts.split_once(' ').unwrap_or((parts, ""));
        let (kind, value) = word.split_once(':').unwrap();
        match kind {
            "i16" => bytes.extend_from_slice(&value.parse::<i16>().unwrap().to_be_bytes()),
            "i32" => bytes.extend_from_slice(&value.parse::<i32>().unwrap().to_be_bytes()),
            "hex" => bytes.extend_from_slice(&hexadecimal(value)),
            _ => panic!("{word} is no part of a message"),
        }
        parts = rest.trim_start();
    }
    bytes
}

/// Random numbers with a fixed beginning.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Changes some bytes. Seldom the first packet, so that most conversations come as far as a session.
    fn change(&mut self, messages: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = messages.concat();
        let spared = if self.below(8) == 0 { 0 } else { messages[0].len() };
        for _ in 0..=self.below(8) {
            if bytes.len() <= spared {
                break;
            }
            let at = spared + self.below(bytes.len() - spared);
            match self.below(12) {
                0..4 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'Q', self.below(256) as u8][self.below(7)],
                4..7 => bytes.insert(at, self.below(256) as u8),
                7..10 => drop(bytes.remove(at)),
                10 => {
                    let from = spared + self.below(bytes.len() - spared);
                    let piece = bytes[at.min(from)..at.max(from)].to_vec();
                    bytes.splice(at..at, piece);
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    }
}

fn messages_wanted() -> usize {
    std::env::var("WEFT_MALFORMED").map_or(100_000, |value| value.parse().unwrap())
}

/// Bytes that this process has in memory.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Sends bytes on a connection of their own, and reads whatever comes back, until the server ends it.
fn send(server: &TestServer, bytes: &[u8]) -> Vec<wire::Message> {
    let mut wire = Wire::open(server.address);
    let _ = wire.stream.write_all(bytes);
    let _ = wire.stream.shutdown(std::net::Shutdown::Write);
    let mut messages = Vec::new();
    // The one byte with which the server answers a request for encryption is no message: what follows is not looked at.
    if bytes.len() > 8 && bytes[4..8] != 80_877_104u32.to_be_bytes() && bytes[4..8] != 80_877_103u32.to_be_bytes() {
        while let Some(message) = wire.read() {
            messages.push(message);
        }
    } else {
        let _ = std::io::copy(&mut wire.stream, &mut std::io::sink());
    }
    messages
}

/// Protocol 1, 2 and 3.
#[test]
fn malformed_messages_harm_nobody() {
    let server = TestServer::start();
    let mut other = server.connect();
    other.run("CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    other.run("CREATE TABLE u (a integer PRIMARY KEY, b text)").unwrap();
    let corpus = corpus();
    for conversation in &corpus {
        let messages = send(&server, &conversation.messages.concat());
        let came_in = messages.iter().any(|message| message.tag == b'Z');
        let is_session = !["cancel", "first_packets"].contains(&&*conversation.name);
        assert_eq!(came_in, is_session, "{}: {messages:?}", conversation.name);
    }
    let (mut sent, mut bytes_before) = (0, 0);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let wanted = messages_wanted();
    for round in 0.. {
        let conversation = &corpus[random.below(corpus.len())];
        let bytes = random.change(&conversation.messages);
        let begun = Instant::now();
        send(&server, &bytes);
        assert!(begun.elapsed() < Duration::from_secs(30), "{} hangs with {bytes:02x?}", conversation.name);
        sent += conversation.messages.len();
        if round % 100 == 0 {
            assert_eq!(other.value("SELECT a FROM t"), "1");
        }
        if bytes_before == 0 && sent > wanted / 4 {
            bytes_before = resident_bytes();
        }
        if sent > wanted {
            break;
        }
    }
    assert_eq!(other.value("SELECT count(*) FROM t"), "1");
    let begun = Instant::now();
    while server.server.as_ref().unwrap().connections() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(20), "connections end with their clients");
        std::thread::sleep(Duration::from_millis(10));
    }
    let grown_mib = resident_bytes().saturating_sub(bytes_before) >> 20;
    println!("{sent} messages, memory grew by {grown_mib} MiB in the last three quarters of them");
    assert!(grown_mib < 64, "memory grew by {grown_mib} MiB");
}

/// Protocol 4.
#[test]
fn nobody_comes_in_without_the_password() {
    let with_passwords = |config| ServerConfig { auth: Auth::Scram, ..config };
    let mut server = TestServer::with(with_passwords);
    let corpus = corpus();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut sent, mut asked, wanted) = (0, 0, messages_wanted() / 10);
    for round in 1.. {
        // The exchange itself twice as often as all others.
        let exchange = corpus.iter().position(|conversation| conversation.name == "password").unwrap();
        let at = if random.below(3) > 0 { exchange } else { random.below(corpus.len()) };
        let messages = send(&server, &random.change(&corpus[at].messages));
        sent += corpus[at].messages.len();
        let is_r =
            |message: &wire::Message, code: i32| message.tag == b'R' && message.body.starts_with(&code.to_be_bytes());
        let came_in =
            messages.iter().any(|message| is_r(message, 0) || matches!(message.tag, b'Z' | b'D' | b'K' | b'S'));
        assert!(!came_in, "{messages:?}");
        asked += usize::from(messages.iter().any(|message| is_r(message, 11)));
        if sent > wanted {
            break;
        }
        // An address that has failed too often is not even asked: a new server has not seen it yet.
        if round % 10 == 0 {
            server.restart(with_passwords);
        }
    }
    println!("{sent} messages, {asked} exchanges came as far as the proof");
    assert!(asked > sent / 100, "exchanges came as far as the proof: {asked} of {sent} messages");
}
