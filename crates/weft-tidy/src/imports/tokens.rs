//! Rust code as words and signs, without what is only compiled for tests or documentation.
//!
//! ```text
//!   use a::{b, c};  // d        →   use a :: { b , c } ;
//!   #[cfg(test)] mod tests {…}  →   nothing
//! ```

use crate::source::blanked;

/// The words and signs of a file. `::` is one sign, every other sign is a character.
pub(super) fn tokens(text: &str) -> Vec<String> {
    without_tests(split(&blanked(text)))
}

fn split(code: &str) -> Vec<String> {
    let chars: Vec<char> = code.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let begin = at;
        at += 1;
        if is_word(chars[begin]) {
            while at < chars.len() && is_word(chars[at]) {
                at += 1;
            }
        } else if chars[begin] == ':' && chars.get(at) == Some(&':') {
            at += 1;
        } else if chars[begin].is_whitespace() {
            continue;
        }
        tokens.push(chars[begin..at].iter().collect());
    }
    tokens
}

/// Attributes after which an item does not count.
const ONLY_ELSEWHERE: &[&[&str]] =
    &[&["cfg", "(", "test", ")"], &["cfg", "(", "all", "(", "test"], &["cfg", "(", "doc", ")"], &["cfg_attr"]];

fn without_tests(tokens: Vec<String>) -> Vec<String> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let end = attribute_end(&tokens, at);
        if end == at {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let inside = &tokens[at + 2..];
        let is_elsewhere =
            ONLY_ELSEWHERE.iter().any(|start| inside.iter().map(String::as_str).zip(*start).all(|(a, b)| a == *b));
        at = if is_elsewhere && inside[0] == "cfg" { item_end(&tokens, end) } else { end };
    }
    kept
}

/// The end of the attribute `#[…]` or `#![…]` that begins here; `at` when none does.
fn attribute_end(tokens: &[String], at: usize) -> usize {
    let is = |offset: usize, sign: &str| tokens.get(at + offset).is_some_and(|token| token == sign);
    if is(0, "#") && is(1, "[") {
        group_end(tokens, at + 1)
    } else if is(0, "#") && is(1, "!") && is(2, "[") {
        group_end(tokens, at + 2)
    } else {
        at
    }
}

/// The end of the group whose opening sign stands here.
fn group_end(tokens: &[String], at: usize) -> usize {
    let mut depth = 0;
    for (number, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return number + 1;
        }
    }
    tokens.len()
}

/// The end of the item, statement, field or arm that begins here.
fn item_end(tokens: &[String], mut at: usize) -> usize {
    while attribute_end(tokens, at) != at {
        at = attribute_end(tokens, at);
    }
    if tokens.get(at).is_some_and(|token| token == "pub") {
        at += 1;
        if tokens.get(at).is_some_and(|token| token == "(") {
            at = group_end(tokens, at);
        }
    }
    let kind = tokens.get(at).map_or("", String::as_str);
    let ends_with_semicolon = matches!(kind, "use" | "static" | "type" | "let")
        || (kind == "const" && tokens.get(at + 1).is_none_or(|next| next != "fn"));
    let is_item = matches!(
        kind,
        "fn" | "const" | "async" | "unsafe" | "extern" | "mod" | "impl" | "struct" | "enum" | "trait" | "macro_rules"
    );
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            ";" => return at + 1,
            "," if !is_item && !ends_with_semicolon => return at + 1,
            ")" | "]" | "}" => return at,
            "{" if !ends_with_semicolon => return group_end(tokens, at),
            "(" | "[" | "{" => at = group_end(tokens, at),
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(code: &str) -> String {
        tokens(code).join(" ")
    }

    #[test]
    fn words_and_signs() {
        assert_eq!(text("use a::{b, c};  // d"), "use a :: { b , c } ;");
        assert_eq!(text("#![allow(x)]\n#[derive(A)]\nstruct B(u8);"), "struct B ( u8 ) ;");
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        let cases = [
            ("#[cfg(test)]\nmod tests { use a::b; }\nfn c() {}", "fn c ( ) { }"),
            ("#[cfg(test)]\nmod tests;\nfn c() {}", "fn c ( ) { }"),
            ("#[cfg(test)]\n#[allow(x)]\npub(crate) mod tests;\nfn c() {}", "fn c ( ) { }"),
            ("#[cfg(all(test, unix))]\nimpl A { fn b() {} }\nfn c() {}", "fn c ( ) { }"),
            ("#[cfg(doc)]\nuse a::{b, c};\nfn c() {}", "fn c ( ) { }"),
            ("struct A {\n#[cfg(test)]\nlooked_at: u64,\nb: B }", "struct A { b : B }"),
            ("struct A { b: B,\n#[cfg(test)]\nlooked_at: u64 }", "struct A { b : B , }"),
            ("f(A { b,\n#[cfg(test)]\nlooked_at: g(0, 1),\nc })", "f ( A { b , c } )"),
            ("#[cfg(test)]\nconst A: [u8; 2] = [1, 2];\nfn c() {}", "fn c ( ) { }"),
            ("#[cfg(test)]\nconst fn a() -> B<C, D> { 1 }\nfn c() {}", "fn c ( ) { }"),
            ("{\n#[cfg(test)]\n{ a::b(); }\nc() }", "{ c ( ) }"),
            ("#[cfg(unix)]\nuse a::b;", "use a :: b ;"),
        ];
        for (code, expected) in cases {
            assert_eq!(text(code), expected, "{code}");
        }
    }
}
