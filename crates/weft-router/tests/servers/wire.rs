//! Messages of the extended protocol, and what comes back as a line of text.

use weft_wire::client::{Client, Report};

/// A message: its tag and its body.
pub type Sent = (u8, Vec<u8>);

pub fn parse(name: &str, sql: &str) -> Sent {
    (b'P', [name.as_bytes(), b"\0", sql.as_bytes(), b"\0\0\0"].concat())
}

pub fn bind(name: &str, value: Option<&str>) -> Sent {
    let mut body = [b"\0", name.as_bytes(), b"\0\0\0"].concat();
    body.extend_from_slice(&(u16::from(value.is_some())).to_be_bytes());
    if let Some(value) = value {
        body.extend_from_slice(&(value.len() as u32).to_be_bytes());
        body.extend_from_slice(value.as_bytes());
    }
    body.extend_from_slice(&[0, 0]);
    (b'B', body)
}

pub fn execute(rows_max: u32) -> Sent {
    (b'E', [&b"\0"[..], &rows_max.to_be_bytes()].concat())
}

pub fn describe(name: &str) -> Sent {
    (b'D', [b"S", name.as_bytes(), b"\0"].concat())
}

pub fn close(name: &str) -> Sent {
    (b'C', [b"S", name.as_bytes(), b"\0"].concat())
}

pub fn sync() -> Sent {
    (b'S', Vec::new())
}

pub fn query(sql: &str) -> Sent {
    (b'Q', [sql.as_bytes(), b"\0"].concat())
}

/// Sends messages; the answers up to so many ReadyForQuery: `1 2 D(7) C(SELECT 1) Z(I)`.
pub fn talk(client: &mut Client, messages: &[Sent], ends: usize) -> String {
    let channel = client.channel();
    for (tag, body) in messages {
        channel.out.message(*tag, |out| out.extend_from_slice(body));
    }
    channel.flush().unwrap();
    heard(client, ends)
}

/// The answers up to so many ReadyForQuery, or to a CopyInResponse.
pub fn heard(client: &mut Client, ends: usize) -> String {
    let (mut line, mut left) = (Vec::new(), ends);
    while left > 0 {
        let channel = client.channel();
        let Some(frame) = channel.read().unwrap() else { return format!("{} gone", line.join(" ")) };
        let body = channel.body(&frame);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        match frame.tag {
            b'N' | b'S' | b'T' | b't' | b'n' => continue,
            b'D' if body.len() >= 6 => line.push(format!("D({})", text(&body[6..]))),
            b'C' => line.push(format!("C({})", text(body))),
            b'E' => line.push(format!("E({})", Report::read(body).sqlstate())),
            b'Z' => {
                left -= 1;
                line.push(format!("Z({})", text(body)));
            }
            tag => line.push(char::from(tag).to_string()),
        }
        if frame.tag == b'G' {
            break;
        }
    }
    line.join(" ")
}

/// Prepared statements on both sides; an error says what was heard in the place of what.
pub fn names(port: u16) -> Result<(), String> {
    let mut client = Client::connect(&super::target(port)).unwrap();
    client.query("CREATE TABLE IF NOT EXISTS n (id int PRIMARY KEY); DELETE FROM n").unwrap();
    let run = |name: &str| [bind(name, None), execute(0), sync()];
    let conversation: &[(&[Sent], usize, &str)] = &[
        // Made on a node, used there; made on the writer, used there.
        (&[parse("r", "SELECT 1"), describe("r"), sync()], 1, "1 Z(I)"),
        (&run("r"), 1, "2 D(1) C(SELECT 1) Z(I)"),
        (&[parse("w", "INSERT INTO n VALUES ($1)"), describe("w"), sync()], 1, "1 Z(I)"),
        (&[bind("w", Some("1")), execute(0), sync()], 1, "2 C(INSERT 0 1) Z(I)"),
        (&[parse("c", "SELECT count(*) FROM n"), bind("c", None), execute(0), sync()], 1, "1 2 D(1) C(SELECT 1) Z(I)"),
        // In a transaction of the writer, where the node's have not been yet.
        (&[query("BEGIN")], 1, "C(BEGIN) Z(T)"),
        (
            &[bind("w", Some("2")), execute(0), bind("c", None), execute(0), sync()],
            1,
            "2 C(INSERT 0 1) 2 D(2) C(SELECT 1) Z(T)",
        ),
        (&run("r"), 1, "2 D(1) C(SELECT 1) Z(T)"),
        // The name means something else from here on, also on the node.
        (&[close("r"), parse("r", "SELECT 2"), sync()], 1, "3 1 Z(T)"),
        (&[query("COMMIT")], 1, "C(COMMIT) Z(I)"),
        (&run("r"), 1, "2 D(2) C(SELECT 1) Z(I)"),
        // A name that is taken is so on both sides; one that is not known on neither.
        (&[parse("r", "SELECT 3"), sync()], 1, "E(42P05) Z(I)"),
        (&[parse("w", "SELECT 3"), sync()], 1, "E(42P05) Z(I)"),
        (&run("nobody"), 1, "E(26000) Z(I)"),
        (&[query("DEALLOCATE r")], 1, "C(DEALLOCATE) Z(I)"),
        (&run("r"), 1, "E(26000) Z(I)"),
        (&[parse("r", "SELECT 4"), bind("r", None), execute(0), sync()], 1, "1 2 D(4) C(SELECT 1) Z(I)"),
        (&[query("DEALLOCATE ALL")], 1, "C(DEALLOCATE) Z(I)"),
        (&run("c"), 1, "E(26000) Z(I)"),
        (&[parse("r", "SELECT 5"), bind("r", None), execute(0), sync()], 1, "1 2 D(5) C(SELECT 1) Z(I)"),
        // Without a name; a pipeline with two ends; an error passes over what follows it.
        (
            &[
                parse("", "SELECT 6"),
                bind("", None),
                execute(0),
                sync(),
                parse("", "SELECT 7"),
                bind("", None),
                execute(0),
                sync(),
            ],
            2,
            "1 2 D(6) C(SELECT 1) Z(I) 1 2 D(7) C(SELECT 1) Z(I)",
        ),
        (
            &[
                parse("", "SELECT 1/0"),
                bind("", None),
                execute(0),
                bind("r", None),
                execute(0),
                sync(),
                bind("r", None),
                execute(0),
                sync(),
            ],
            2,
            "1 2 E(22012) Z(I) 2 D(5) C(SELECT 1) Z(I)",
        ),
        // With a write all of it is the writer's: it sees what it wrote.
        (
            &[
                parse("", "INSERT INTO n VALUES (3)"),
                bind("", None),
                execute(0),
                parse("c", "SELECT count(*) FROM n"),
                bind("c", None),
                execute(0),
                sync(),
            ],
            1,
            "1 2 C(INSERT 0 1) 1 2 D(3) C(SELECT 1) Z(I)",
        ),
        (&[bind("c", None), execute(0), sync()], 1, "2 D(3) C(SELECT 1) Z(I)"),
        // A transaction that reads, with a portal that goes on.
        (&[query("BEGIN READ ONLY")], 1, "C(BEGIN) Z(T)"),
        (
            &[parse("g", "SELECT * FROM generate_series(1, 3)"), bind("g", None), execute(2), sync()],
            1,
            "1 2 D(1) D(2) s Z(T)",
        ),
        (&[execute(2), sync()], 1, "D(3) C(SELECT 1) Z(T)"),
        (&[query("COMMIT")], 1, "C(COMMIT) Z(I)"),
        (&[bind("g", None), execute(1), sync()], 1, "2 D(1) s Z(I)"),
    ];
    for (at, (messages, ends, wanted)) in conversation.iter().enumerate() {
        let line = talk(&mut client, messages, *ends);
        if line != *wanted {
            return Err(format!("turn {at}: {line:?}, not {wanted:?}"));
        }
    }
    Ok(())
}
