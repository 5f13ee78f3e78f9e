//! What a client sent that is answered together: a Query, or the messages up to a Sync.
//!
//! ```text
//!   Parse s "SELECT $1"   ─▶ '1'          prepares Read
//!   Bind  s               ─▶ '2'          runs Read
//!   Execute               ─▶ rows, 'C'
//!   Sync                  ─▶ 'Z'          complete: it may run again elsewhere
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use weft_sql::route::Routed;
use weft_wire::protocol::{Frontend, Target, decode};

/// A prepared statement as its client made it.
pub(super) struct Statement {
    pub(super) name: String,
    /// The body of its Parse.
    pub(super) parse: Vec<u8>,
    /// Two under one name differ in it.
    pub(super) generation: u64,
    pub(super) routed: Arc<Vec<Routed>>,
}

/// What answers a message.
#[derive(Clone)]
pub(super) enum Expect {
    /// Nothing by itself: Flush, what is left of a COPY.
    Nothing,
    /// All up to ReadyForQuery.
    Query,
    Parse(Arc<Statement>),
    Bind,
    Describe,
    /// Whether the end of the bytes of its COPY has been sent, too.
    Execute {
        fed: bool,
    },
    /// Of a statement, by its name, or of a portal.
    Close(Option<String>),
    Sync,
    /// Parse and Close that the router put in: the client is not told of their answers.
    OwnParse(Arc<Statement>),
    OwnClose(String),
}

/// A message of the client.
pub(super) struct Message {
    pub(super) tag: u8,
    pub(super) body: Vec<u8>,
    pub(super) expect: Expect,
    /// The statement that must be there for it, unless this batch makes it.
    pub(super) needs: Option<Arc<Statement>>,
    /// A name that must be free for it.
    pub(super) frees: Option<String>,
}

/// Messages that are answered together.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) messages: Vec<Message>,
    /// What runs, in order.
    pub(super) runs: Vec<Routed>,
    /// What is parsed or described.
    pub(super) prepares: Vec<Routed>,
    /// What this batch has made of names so far; none: closed.
    made: HashMap<String, Option<Arc<Statement>>>,
    pub(super) bytes: usize,
    /// It ends with Query or Sync.
    pub(super) is_complete: bool,
}

impl Batch {
    /// A Query.
    pub(super) fn query(body: Vec<u8>, runs: Vec<Routed>) -> Batch {
        let bytes = body.len();
        let message = Message { tag: b'Q', body, expect: Expect::Query, needs: None, frees: None };
        Batch { messages: vec![message], runs, bytes, is_complete: true, ..Batch::default() }
    }

    /// Adds a message of the extended protocol. `prepare` makes a statement of a Parse's text.
    pub(super) fn push(
        &mut self,
        (tag, body): (u8, Vec<u8>),
        known: &HashMap<String, Arc<Statement>>,
        prepare: impl FnOnce(&str, &str) -> (u64, Arc<Vec<Routed>>),
    ) {
        self.bytes += body.len();
        let mut message = Message { tag, body: Vec::new(), expect: Expect::Nothing, needs: None, frees: None };
        let find = |made: &HashMap<String, Option<Arc<Statement>>>, name: &str| match made.get(name) {
            Some(made) => (made.clone(), None),
            None => (known.get(name).cloned(), known.get(name).cloned()),
        };
        match decode(tag, &body) {
            Ok(Frontend::Parse { name, sql, .. }) => {
                // A name that is taken is told so where it is taken.
                match (name.is_empty(), find(&self.made, name)) {
                    (false, (Some(_), elsewhere)) => message.needs = elsewhere,
                    (false, (None, _)) => message.frees = Some(name.to_owned()),
                    _ => {}
                }
                let (generation, routed) = prepare(name, sql);
                self.prepares.extend(routed.iter().cloned());
                let statement = Arc::new(Statement { name: name.to_owned(), parse: body.clone(), generation, routed });
                self.made.insert(name.to_owned(), Some(Arc::clone(&statement)));
                message.expect = Expect::Parse(statement);
            }
            Ok(Frontend::Bind { statement, .. }) => {
                let (found, needs) = find(&self.made, statement);
                self.note_runs(found.as_deref());
                (message.expect, message.needs) = (Expect::Bind, needs);
            }
            Ok(Frontend::Describe(Target::Statement(name))) => {
                let (found, needs) = find(&self.made, name);
                self.prepares.extend(found.iter().flat_map(|statement| statement.routed.iter().cloned()));
                (message.expect, message.needs) = (Expect::Describe, needs);
            }
            Ok(Frontend::Close(Target::Statement(name))) => {
                self.made.insert(name.to_owned(), None);
                message.expect = Expect::Close(Some(name.to_owned()));
            }
            _ => self.note_plain(tag, &mut message),
        }
        message.body = body;
        self.messages.push(message);
    }

    /// What a Bind runs; of a statement that is not known the writer says so.
    fn note_runs(&mut self, statement: Option<&Statement>) {
        match statement {
            Some(statement) => self.runs.extend(statement.routed.iter().cloned()),
            None => self.runs.push(Routed {
                kind: weft_sql::route::Kind::Elsewhere,
                reason: "it runs a statement that was not prepared here",
                binds: true,
            }),
        }
    }

    fn note_plain(&mut self, tag: u8, message: &mut Message) {
        message.expect = match tag {
            b'P' | b'B' => {
                // It cannot be read: the writer says why.
                self.note_runs(None);
                Expect::Bind
            }
            b'D' => Expect::Describe,
            b'E' => Expect::Execute { fed: false },
            b'C' => Expect::Close(None),
            b'S' => {
                self.is_complete = true;
                Expect::Sync
            }
            _ => Expect::Nothing,
        };
    }

    /// Whether the messages are of the extended protocol.
    pub(super) fn is_extended(&self) -> bool {
        self.messages.first().is_some_and(|message| message.tag != b'Q')
    }
}
