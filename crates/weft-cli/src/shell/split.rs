//! Where a statement ends.
//!
//! ```text
//!   SELECT ';' /* ; */; \d t⏎ SELECT $$;$$   →   SELECT ';' /* ; */   the command d t   SELECT $$;$$
//! ```
//!
//! A semicolon ends a statement unless it stands in a quoted text, a quoted name, a dollar quote or a comment. A
//! backslash at the start of a line, where no statement has begun, starts a command that ends with the line.

/// What a script consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// SQL without its semicolon.
    Statement(&'a str),
    /// What follows a backslash.
    Command(&'a str),
    /// COPY ... FROM stdin, and the lines behind it up to the one that is a backslash and a dot.
    Copy(&'a str, &'a str),
}

/// The pieces of a whole script; a last statement needs no semicolon.
pub(super) fn pieces(script: &str) -> Vec<Piece<'_>> {
    let (mut pieces, rest) = split(script);
    if has_words(rest) {
        pieces.push(Piece::Statement(rest.trim()));
    }
    pieces
}

/// The finished pieces of what was typed so far, and the unfinished rest.
pub(super) fn split(script: &str) -> (Vec<Piece<'_>>, &str) {
    let mut pieces = Vec::new();
    let mut rest = script;
    loop {
        let begin = rest.trim_start();
        if let Some(command) = uncommented(begin).strip_prefix('\\') {
            let end = command.find('\n').unwrap_or(command.len());
            pieces.push(Piece::Command(command[..end].trim().trim_end_matches(';')));
            rest = &command[end..];
            continue;
        }
        match statement_end(begin) {
            Some(end) => {
                if let Some((lines, after)) = copy_lines(&begin[..end], &begin[end + 1..]) {
                    pieces.push(Piece::Copy(begin[..end].trim(), lines));
                    rest = after;
                    continue;
                }
                if has_words(&begin[..end]) {
                    pieces.push(Piece::Statement(begin[..end].trim()));
                }
                rest = &begin[end + 1..];
            }
            None => return (pieces, begin),
        }
    }
}

/// The lines that a COPY ... FROM stdin finds behind it in the script, and what follows them. None when it is another
/// statement, or the last of the script, whose rows come from elsewhere.
fn copy_lines<'a>(statement: &str, behind: &'a str) -> Option<(&'a str, &'a str)> {
    let words: Vec<String> =
        uncommented(statement).split(|c: char| c.is_whitespace() || c == '(').map(str::to_lowercase).collect();
    let from_stdin = words.windows(2).any(|pair| pair[0] == "from" && pair[1] == "stdin");
    if words.first().is_none_or(|word| word != "copy") || !from_stdin {
        return None;
    }
    let line_end = behind.find('\n')?;
    let data = &behind[line_end + 1..];
    if !behind[..line_end].trim().is_empty() || data.trim().is_empty() {
        return None;
    }
    let mut at = 0;
    for line in data.split_inclusive('\n') {
        if line.trim_end() == "\\." {
            return Some((&data[..at], &data[at + line.len()..]));
        }
        at += line.len();
    }
    Some((data, ""))
}

/// The text without the comments before it.
fn uncommented(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with("--") || rest.starts_with("/*") {
        rest = rest[skip(rest, 0)..].trim_start();
    }
    rest
}

/// Whether there is anything but blanks and comments.
fn has_words(text: &str) -> bool {
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if text[at..].starts_with("--") || text[at..].starts_with("/*") {
            at = skip(text, at);
        } else if bytes[at].is_ascii_whitespace() {
            at += 1;
        } else {
            return true;
        }
    }
    false
}

/// The position of the semicolon that ends the first statement.
fn statement_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b';' {
            return Some(at);
        }
        at = skip(text, at);
    }
    None
}

/// The position behind the token part that begins at `at`: a quoted text, a comment, or one character.
fn skip(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let rest = &text[at..];
    let word_before = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match bytes[at] {
        b'\'' => {
            let escapes = at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !(at > 1 && is_word(bytes[at - 2]));
            at + quoted_bytes(rest, b'\'', escapes)
        }
        b'"' => at + quoted_bytes(rest, b'"', false),
        b'-' if rest.starts_with("--") => at + rest.find('\n').unwrap_or(rest.len()),
        b'/' if rest.starts_with("/*") => at + comment_bytes(rest),
        b'$' if !word_before => at + dollar_bytes(rest),
        _ => at + rest.chars().next().map_or(1, char::len_utf8),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Bytes of a quoted text, a doubled quote inside it included; all of `rest` when it is not closed.
fn quoted_bytes(rest: &str, quote: u8, escapes: bool) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        if escapes && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at] != quote {
            at += 1;
        } else if bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return at + 1;
        }
    }
    bytes.len()
}

/// Bytes of a comment; comments nest.
fn comment_bytes(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (2, 1);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// Bytes of a dollar quote (`$tag$ ... $tag$`); 1 when this is a parameter or a lone dollar.
fn dollar_bytes(rest: &str) -> usize {
    let Some(length) = rest[1..].find('$') else { return 1 };
    let tag = &rest[1..1 + length];
    if tag.starts_with(|c: char| c.is_ascii_digit()) || !tag.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return 1;
    }
    let mark = &rest[..length + 2];
    match rest[mark.len()..].find(mark) {
        Some(end) => mark.len() + end + mark.len(),
        None => rest.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<String> {
        let text = |piece: &Piece<'_>| match piece {
            Piece::Statement(text) => (*text).to_owned(),
            Piece::Command(line) => format!("\\{line}"),
            Piece::Copy(text, lines) => format!("{text} < {lines}"),
        };
        pieces(script).iter().map(text).collect()
    }

    #[test]
    fn semicolons_inside_quotes_and_comments_do_not_end() {
        let cases: [(&str, &[&str]); 10] = [
            ("a;b", &["a", "b"]),
            (" a ; ; -- c ;\n b", &["a", "-- c ;\n b"]),
            ("select ';''x;'; b;", &["select ';''x;'", "b"]),
            ("select E'\\';'; b", &["select E'\\';'", "b"]),
            ("select \"a;\"\";\" ; b", &["select \"a;\"\";\"", "b"]),
            ("/* ; /* ; */ ; */ a; /* end; */", &["/* ; /* ; */ ; */ a"]),
            ("$$ ; $$; $x$ $$ ; $x$; $1; a$b;c$", &["$$ ; $$", "$x$ $$ ; $x$", "$1", "a$b", "c$"]),
            ("\\d t;\n a;\n\\timing", &["\\d t", "a", "\\timing"]),
            ("-- c\n/* d */ \\restrict x\nb;", &["\\restrict x", "b"]),
            ("'ü;'; 'never closed; x", &["'ü;'", "'never closed; x"]),
        ];
        for (script, expected) in cases {
            assert_eq!(texts(script), expected, "{script}");
        }
    }

    #[test]
    fn rows_of_copy_stand_in_the_script() {
        let script = "-- data\nCOPY t (a) FROM stdin;\n1;\\N\n'2\n\\.\n\nCOPY u FROM STDIN WITH (FORMAT csv);\n\\.\nb;";
        let expected = ["-- data\nCOPY t (a) FROM stdin < 1;\\N\n'2\n", "COPY u FROM STDIN WITH (FORMAT csv) < ", "b"];
        assert_eq!(texts(script), expected);
        assert_eq!(texts("COPY t FROM stdin;\n"), ["COPY t FROM stdin"]);
        assert_eq!(texts("COPY t FROM '/x'; a;"), ["COPY t FROM '/x'", "a"]);
    }

    #[test]
    fn an_unfinished_statement_is_kept() {
        assert_eq!(split("a; b\n c "), (vec![Piece::Statement("a")], "b\n c "));
        assert_eq!(split("a '\n;").1, "a '\n;");
    }
}
