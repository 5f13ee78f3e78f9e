//! Texts in other encodings than UTF-8.
//!
//! ```text
//!   convert_to('Größe €', 'WIN1252')           \x4772f6df652080
//!   convert_from('\x4772f6df65', 'LATIN1')     Größe
//!   convert('\xe4', 'LATIN1', 'UTF8')          \xc3a4
//! ```

use weft_format::{Code, Error, Result, Value};

use super::super::builtin::Call;
use super::letters::text;
use crate::builtins::limits::check_bytes;
use crate::text::shorten;

/// An encoding that texts are converted to and from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    SqlAscii,
    Utf8,
    Latin1,
    Latin9,
    Win1252,
}

/// Where LATIN9 is not LATIN1.
const LATIN9: [(u8, char); 8] =
    [(0xA4, '€'), (0xA6, 'Š'), (0xA8, 'š'), (0xB4, 'Ž'), (0xB8, 'ž'), (0xBC, 'Œ'), (0xBD, 'œ'), (0xBE, 'Ÿ')];

/// WIN1252 from 0x80 on; blanks stand for bytes that mean nothing.
const WIN1252: &str = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";

impl Encoding {
    /// By PostgreSQL's names; case, blanks and signs do not count.
    fn by_name(name: &str) -> Option<Encoding> {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain: String = letters.map(|c| c.to_ascii_lowercase()).take(64).collect();
        Some(match plain.as_str() {
            "sqlascii" => Encoding::SqlAscii,
            "utf8" | "unicode" => Encoding::Utf8,
            "latin1" | "iso88591" => Encoding::Latin1,
            "latin9" | "iso885915" => Encoding::Latin9,
            "win1252" | "windows1252" => Encoding::Win1252,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Encoding::SqlAscii => "SQL_ASCII",
            Encoding::Utf8 => "UTF8",
            Encoding::Latin1 => "LATIN1",
            Encoding::Latin9 => "LATIN9",
            Encoding::Win1252 => "WIN1252",
        }
    }

    /// The character of a byte.
    fn read(self, byte: u8) -> Option<char> {
        match self {
            Encoding::Latin9 => LATIN9.iter().find(|(known, _)| *known == byte).map(|(_, c)| *c),
            Encoding::Win1252 if (0x80..0xA0).contains(&byte) => {
                return WIN1252.chars().nth(usize::from(byte - 0x80)).filter(|c| *c != ' ');
            }
            _ => None,
        }
        .or(Some(char::from(byte)))
    }

    /// The byte of a character.
    fn write(self, c: char) -> Option<u8> {
        match self {
            Encoding::Latin9 => {
                if let Some((byte, _)) = LATIN9.iter().find(|(_, known)| *known == c) {
                    return Some(*byte);
                }
                u8::try_from(c).ok().filter(|byte| LATIN9.iter().all(|(known, _)| known != byte))
            }
            Encoding::Win1252 if c != ' ' && WIN1252.contains(c) => {
                WIN1252.chars().position(|known| known == c).and_then(|at| u8::try_from(0x80 + at).ok())
            }
            Encoding::Win1252 => u8::try_from(c).ok().filter(|byte| !(0x80..0xA0).contains(byte)),
            _ => u8::try_from(c).ok(),
        }
    }
}

fn source(name: &str) -> Result<Encoding> {
    named(name, "source")
}

fn destination(name: &str) -> Result<Encoding> {
    named(name, "destination")
}

fn named(name: &str, role: &str) -> Result<Encoding> {
    Encoding::by_name(name).ok_or_else(|| {
        let message = format!("invalid {role} encoding name \"{}\"", shorten(name));
        Error::new(Code::InvalidParameterValue, message).hint("UTF8, SQL_ASCII, LATIN1, LATIN9 or WIN1252")
    })
}

fn listed(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn untranslatable(bytes: &[u8], from: Encoding, to: Encoding) -> Error {
    let (bytes, from, to) = (listed(bytes), from.name(), to.name());
    Error::new(
        Code::UntranslatableCharacter,
        format!("character with byte sequence {bytes} in encoding \"{from}\" has no equivalent in encoding \"{to}\""),
    )
}

/// An error for what bytes begin with, which is no character.
fn invalid(rest: &[u8], of: Encoding) -> Error {
    let length = match (of, rest.first()) {
        (Encoding::Utf8, Some(0xC0..=0xDF)) => 2,
        (Encoding::Utf8, Some(0xE0..=0xEF)) => 3,
        (Encoding::Utf8, Some(0xF0..=0xF7)) => 4,
        _ => 1,
    };
    let (name, bytes) = (of.name(), listed(&rest[..length.min(rest.len())]));
    Error::new(Code::CharacterNotInRepertoire, format!("invalid byte sequence for encoding \"{name}\": {bytes}"))
}

/// An error unless bytes are a text in an encoding; zeros are in none.
fn verify(bytes: &[u8], of: Encoding) -> Result<()> {
    let end = bytes.iter().position(|byte| *byte == 0);
    if of == Encoding::Utf8
        && let Err(error) = std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())])
    {
        return Err(invalid(&bytes[error.valid_up_to()..], of));
    }
    end.map_or(Ok(()), |end| Err(invalid(&bytes[end..], of)))
}

/// Bytes of a text in another encoding. What has none is passed on.
fn converted(bytes: &[u8], from: Encoding, to: Encoding) -> Result<Vec<u8>> {
    verify(bytes, from)?;
    match (from, to) {
        (_, Encoding::SqlAscii) => Ok(bytes.to_vec()),
        (from, to) if from == to => Ok(bytes.to_vec()),
        (Encoding::SqlAscii, to) => verify(bytes, to).map(|()| bytes.to_vec()),
        (from, Encoding::Utf8) => {
            let read = |byte: &u8| from.read(*byte).ok_or_else(|| untranslatable(&[*byte], from, to));
            let text: String = bytes.iter().map(read).collect::<Result<_>>()?;
            check_bytes(text.len() as u64)?;
            Ok(text.into_bytes())
        }
        (Encoding::Utf8, to) => {
            let write = |c: char| {
                let mut buffer = [0; 4];
                to.write(c).ok_or_else(|| untranslatable(c.encode_utf8(&mut buffer).as_bytes(), from, to))
            };
            text_of(bytes)?.chars().map(write).collect()
        }
        (from, to) => {
            let (from, to) = (from.name(), to.name());
            let message = format!("default conversion function for encoding \"{from}\" to \"{to}\" does not exist");
            Err(Error::new(Code::UndefinedFunction, message))
        }
    }
}

fn text_of(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| invalid(&bytes[error.valid_up_to()..], Encoding::Utf8))
}

pub(super) fn convert_from(call: &Call<'_>) -> Result<Value> {
    text(text_of(&converted(call.bytes(0), source(call.text(1))?, Encoding::Utf8)?)?)
}

pub(super) fn convert_to(call: &Call<'_>) -> Result<Value> {
    let made = converted(call.text(0).as_bytes(), Encoding::Utf8, destination(call.text(1))?)?;
    Ok(Value::Bytes(made.into()))
}

/// `convert(bytes, source, destination)`
pub(super) fn convert(call: &Call<'_>) -> Result<Value> {
    let (from, to) = (source(call.text(1))?, destination(call.text(2))?);
    Ok(Value::Bytes(converted(call.bytes(0), from, to)?.into()))
}
