//! A small client of the protocol, for tests: it sends what it is told to and shows every message that comes back.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use weft::{DataType, Database, Options};
use weft_server::{Auth, Server, ServerConfig, Verifier};
use weft_sql::binary::Fields;

/// A server over a database of its own.
pub struct TestServer {
    pub dir: tempfile::TempDir,
    pub database: Database,
    pub server: Option<Server>,
    pub address: SocketAddr,
}

impl TestServer {
    /// A server that lets everybody in.
    pub fn start() -> TestServer {
        TestServer::with(|config| config)
    }

    /// A server with another configuration; the password of weft is "secret".
    pub fn with(change: impl FnOnce(ServerConfig) -> ServerConfig) -> TestServer {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::open_with(dir.path().join("db"), Options::default()).unwrap();
        database.put_superuser("weft", Some(&Verifier::of_password("secret", [7; 16]).text())).unwrap();
        let server = Server::start(database.clone(), change(TestServer::config())).unwrap();
        let address = server.address().unwrap();
        TestServer { dir, database, server: Some(server), address }
    }

    /// Ends the server and starts another on the same database.
    pub fn restart(&mut self, change: impl FnOnce(ServerConfig) -> ServerConfig) {
        self.server.take().unwrap().close();
        let server = Server::start(self.database.clone(), change(TestServer::config())).unwrap();
        self.address = server.address().unwrap();
        self.server = Some(server);
    }

    fn config() -> ServerConfig {
        ServerConfig {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            auth: Auth::Trust,
            ..ServerConfig::default()
        }
    }

    /// A client that was let in.
    pub fn connect(&self) -> Wire {
        let mut wire = Wire::open(self.address);
        wire.startup(&[("user", "weft"), ("database", "weft")]);
        let messages = wire.until_ready();
        assert!(messages.iter().any(|message| message.tag == b'K'), "{messages:?}");
        wire
    }
}

/// A message of the server.
#[derive(Clone, PartialEq)]
pub struct Message {
    pub tag: u8,
    pub body: Vec<u8>,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", char::from(self.tag), String::from_utf8_lossy(&self.body))
    }
}

impl Message {
    /// A field of ErrorResponse or NoticeResponse.
    pub fn field(&self, wanted: u8) -> Option<String> {
        let mut fields = Fields::new(&self.body);
        loop {
            match fields.u8().ok()? {
                0 => return None,
                tag => {
                    let text = fields.text().ok()?;
                    if tag == wanted {
                        return Some(text.into());
                    }
                }
            }
        }
    }

    /// The values of DataRow.
    pub fn values(&self) -> Vec<Option<Vec<u8>>> {
        let mut fields = Fields::new(&self.body);
        fields
            .counted(|fields| match fields.i32()? {
                -1 => Ok(None),
                length => fields.bytes(length as usize).map(|bytes| Some(bytes.to_vec())),
            })
            .unwrap()
    }

    /// The columns of RowDescription: name, OID, modifier.
    pub fn columns(&self) -> Vec<(String, u32, i32)> {
        let mut fields = Fields::new(&self.body);
        fields
            .counted(|fields| {
                let name = fields.text()?.to_owned();
                fields.bytes(6)?;
                let oid = fields.u32()?;
                fields.i16()?;
                let modifier = fields.i32()?;
                fields.i16()?;
                Ok((name, oid, modifier))
            })
            .unwrap()
    }
}

/// A connection.
pub struct Wire {
    pub stream: TcpStream,
    /// What [`Wire::flush`] will send.
    pub out: Vec<u8>,
    /// Number and secret for cancelling.
    pub key: Vec<u8>,
}

impl Wire {
    pub fn open(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Wire { stream, out: Vec::new(), key: Vec::new() }
    }

    pub fn startup(&mut self, parameters: &[(&str, &str)]) {
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend_from_slice(name.as_bytes());
            body.push(0);
            body.extend_from_slice(value.as_bytes());
            body.push(0);
        }
        body.push(0);
        self.out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        self.out.extend_from_slice(&body);
        self.flush();
    }

    /// Adds a message to what is sent next.
    pub fn message(&mut self, tag: u8, body: &[u8]) -> &mut Wire {
        self.out.push(tag);
        self.out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        self.out.extend_from_slice(body);
        self
    }

    pub fn query(&mut self, sql: &str) -> &mut Wire {
        self.message(b'Q', &[sql.as_bytes(), &[0]].concat())
    }

    pub fn parse(&mut self, name: &str, sql: &str, oids: &[u32]) -> &mut Wire {
        let mut body = [name.as_bytes(), &[0], sql.as_bytes(), &[0]].concat();
        body.extend_from_slice(&(oids.len() as u16).to_be_bytes());
        oids.iter().for_each(|oid| body.extend_from_slice(&oid.to_be_bytes()));
        self.message(b'P', &body)
    }

    /// Bind: `format` is that of all parameters and columns.
    pub fn bind(&mut self, portal: &str, statement: &str, values: &[Option<&[u8]>], format: u8) -> &mut Wire {
        let mut body = [portal.as_bytes(), &[0], statement.as_bytes(), &[0]].concat();
        body.extend_from_slice(&[0, 1, 0, format]);
        body.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            match value {
                None => body.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(bytes) => {
                    body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                    body.extend_from_slice(bytes);
                }
            }
        }
        body.extend_from_slice(&[0, 1, 0, format]);
        self.message(b'B', &body)
    }

    pub fn describe(&mut self, kind: u8, name: &str) -> &mut Wire {
        self.message(b'D', &[&[kind], name.as_bytes(), &[0]].concat())
    }

    pub fn execute(&mut self, portal: &str, rows_max: u32) -> &mut Wire {
        self.message(b'E', &[portal.as_bytes(), &[0], &rows_max.to_be_bytes()].concat())
    }

    pub fn sync(&mut self) -> &mut Wire {
        self.message(b'S', &[])
    }

    pub fn flush(&mut self) {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
    }

    /// The next message; none at the end of the connection.
    pub fn read(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        if head[0] == b'K' {
            self.key.clone_from(&body);
        }
        Some(Message { tag: head[0], body })
    }

    /// All messages up to ReadyForQuery, or to the end of the connection.
    pub fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.read() {
            let is_last = message.tag == b'Z';
            messages.push(message);
            if is_last {
                break;
            }
        }
        messages
    }

    /// Sends what waits, and reads the answers.
    pub fn answers(&mut self) -> Vec<Message> {
        self.flush();
        self.until_ready()
    }

    /// A text of statements: its rows as text, or the SQLSTATE of its error.
    pub fn run(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        let messages = self.query(sql).answers();
        if let Some(error) = messages.iter().find(|message| message.tag == b'E') {
            return Err(error.field(b'C').unwrap());
        }
        let text = |value: Option<Vec<u8>>| value.map(|bytes| String::from_utf8(bytes).unwrap());
        let rows = messages.iter().filter(|message| message.tag == b'D');
        Ok(rows.map(|row| row.values().into_iter().map(text).collect()).collect())
    }

    /// The first value of the first row.
    pub fn value(&mut self, sql: &str) -> String {
        self.run(sql).unwrap()[0][0].clone().unwrap()
    }
}

/// The tags of messages, as a text.
pub fn tags(messages: &[Message]) -> String {
    messages.iter().map(|message| char::from(message.tag)).collect()
}

/// The type of a column, from its OID and modifier.
pub fn type_of(oid: u32, modifier: i32) -> DataType {
    match oid {
        weft_sql::oids::NUMERIC | 1231 if modifier > 0 => {
            let modifier = modifier - 4;
            let of = DataType::Numeric { precision: (modifier >> 16) as u8, scale: (modifier & 0xffff) as u8 };
            if oid == 1231 { of.array().unwrap() } else { of }
        }
        _ => weft_sql::oids::type_of(oid).unwrap_or(DataType::Text),
    }
}
