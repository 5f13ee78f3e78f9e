//! Errors that the router itself tells.

use weft_wire::client::ClientError;
use weft_wire::protocol::{Out, text};

/// Writes an ErrorResponse.
pub(crate) fn error(out: &mut Out, severity: &str, sqlstate: &str, message: &str, hint: &str) {
    out.message(b'E', |body| {
        for (tag, value) in [(b'S', severity), (b'V', severity), (b'C', sqlstate), (b'M', message), (b'H', hint)] {
            if !value.is_empty() {
                body.push(tag);
                text(body, value);
            }
        }
        body.push(0);
    });
}

/// Tells a client that it cannot come in: what the writer said, or why it could not be asked.
pub(crate) fn refusal(out: &mut Out, failed: &ClientError) {
    match failed {
        ClientError::Local(error) => out.fatal(error),
        ClientError::Server(report) => {
            let hint = report.hint().unwrap_or_default();
            error(out, "FATAL", report.sqlstate(), report.message(), hint);
        }
    }
}
