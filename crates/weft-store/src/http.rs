//! One request over HTTP, and what its answer means.
//!
//! ```text
//!   200, 204        done                         404   there is no such object, or no such bucket
//!   304, 409, 412   somebody has created it      429, 408, 5xx, no answer   unknown: asked again
//!   other           refused: told, not asked again
//! ```

use std::io;
use std::time::Duration;

use ureq::http::{Request, StatusCode};

/// The longest text of a store's error that is told.
const TOLD_BYTES: usize = 300;

/// What became of a request.
pub(crate) enum Answer {
    /// It was done; the body.
    Done(Vec<u8>),
    /// There is no such object.
    Missing,
    /// A condition did not hold.
    Conflict,
    /// Nobody knows whether it was done: ask again.
    Unknown(io::Error),
}

/// Sends a request; an error when it was refused. The body has `bytes_max` bytes at most.
pub(crate) fn ask(agent: &ureq::Agent, request: Request<&[u8]>, bytes_max: u64) -> io::Result<Answer> {
    let mut answer = match agent.run(request) {
        Ok(answer) => answer,
        Err(error) => return Ok(Answer::Unknown(error.into_io())),
    };
    let status = answer.status();
    let body = match answer.body_mut().with_config().limit(bytes_max).read_to_vec() {
        Ok(body) => body,
        Err(ureq::Error::BodyExceedsLimit(limit)) => {
            let what = format!("the answer has more than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Err(error) => return Ok(Answer::Unknown(error.into_io())),
    };
    meaning(status, body)
}

fn meaning(status: StatusCode, body: Vec<u8>) -> io::Result<Answer> {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]).into_owned();
    let told = told(status, &text);
    match status.as_u16() {
        200..=299 => Ok(Answer::Done(body)),
        404 if !text.contains("<Code>NoSuchBucket<") => Ok(Answer::Missing),
        304 | 409 | 412 => Ok(Answer::Conflict),
        // An upload that idled.
        400 if text.contains("<Code>RequestTimeout<") => Ok(Answer::Unknown(io::Error::other(told))),
        501 => Err(io::Error::new(io::ErrorKind::Unsupported, told)),
        408 | 429 | 500..=599 => Ok(Answer::Unknown(io::Error::other(told))),
        403 if text.contains("<Code>RequestTimeTooSkewed<") => {
            Err(io::Error::other(format!("{told}; look at the clock of this machine")))
        }
        401 | 403 => {
            let what = format!("{told}; look at the key, the secret, and what they may do in the bucket");
            Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
        }
        301 | 307 | 308 => Err(io::Error::other(format!("{told}; the bucket is in another region: set AWS_REGION"))),
        _ => Err(io::Error::other(told)),
    }
}

/// What the store says of an error: `<Code>` and `<Message>` of its answer.
fn told(status: StatusCode, text: &str) -> String {
    let part = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once('<')?.0.chars().take(TOLD_BYTES).collect::<String>())
    };
    let words: Vec<String> = ["Code", "Message"].into_iter().filter_map(part).collect();
    format!("the store answers {}{}{}", status.as_u16(), if words.is_empty() { "" } else { ": " }, words.join(": "))
}

/// How long a request may take that moves so many bytes: half a minute, and a second for each 128 KiB.
pub(crate) fn time_for(bytes: usize) -> Duration {
    Duration::from_secs(30 + (bytes >> 17) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_mean_what_s3_means() {
        let of = |status: u16, text: &str| meaning(StatusCode::from_u16(status).unwrap(), text.into());
        assert!(matches!(of(200, "abc"), Ok(Answer::Done(body)) if body == b"abc"));
        assert!(matches!(of(404, "<Error><Code>NoSuchKey</Code></Error>"), Ok(Answer::Missing)));
        let bucket = of(404, "<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>").err().unwrap();
        assert_eq!(bucket.to_string(), "the store answers 404: NoSuchBucket: none");
        assert!(matches!(of(412, ""), Ok(Answer::Conflict)) && matches!(of(409, ""), Ok(Answer::Conflict)));
        for troubled in [408, 429, 500, 503] {
            assert!(matches!(of(troubled, ""), Ok(Answer::Unknown(_))), "{troubled}");
        }
        assert_eq!(of(403, "").err().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert!(matches!(of(304, ""), Ok(Answer::Conflict)));
        assert!(matches!(of(400, "<Code>RequestTimeout</Code>"), Ok(Answer::Unknown(_))));
        assert_eq!(of(501, "").err().unwrap().kind(), io::ErrorKind::Unsupported);
        assert!(of(400, "").is_err() && of(301, "").is_err());
    }
}
