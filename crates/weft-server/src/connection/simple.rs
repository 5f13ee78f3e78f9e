//! The simple protocol: a text of statements, all answers, ReadyForQuery.

use super::Connection;
use super::copy::Sink;
use weft_format::Error;
use weft_sql::activity::hides;

impl Connection {
    /// Answers a Query message.
    pub(super) fn simple(&mut self, sql: &str) {
        self.portals.remove("");
        let mut sink = Sink::new(&mut self.channel, &[], true);
        let result = self.session.execute_script(sql, &mut sink);
        match result {
            Ok(()) if sink.statements() == 0 => self.channel.out.empty(b'I'),
            Ok(()) => {}
            Err(error) => {
                self.note_error(&error, hides(sql));
                self.channel.out.error("ERROR", &error);
            }
        }
        self.tell_settings();
        self.ready();
    }

    /// Answers a Query message with an error.
    pub(super) fn refuse(&mut self, error: &Error, sql: &str) {
        self.note_error(error, hides(sql));
        self.channel.out.error("ERROR", error);
        self.ready();
    }
}
