//! Texts of lines, each a word and what belongs to it.
//!
//! ```text
//!   check⇥positive⇥VALUE > 0        a tab between parts; \\, \t and \n within them
//! ```

/// A line of parts.
pub(crate) fn line(parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| escaped(part)).collect();
    parts.join("\t") + "\n"
}

/// The parts of each line.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.split_terminator('\n').map(|line| line.split('\t').map(plain).collect())
}

fn escaped(part: &str) -> String {
    part.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn plain(part: &str) -> String {
    let mut plain = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(one) = chars.next() {
        match one {
            '\\' => match chars.next() {
                Some('t') => plain.push('\t'),
                Some('n') => plain.push('\n'),
                other => plain.extend(other),
            },
            one => plain.push(one),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_whole() {
        let parts = ["check", "a\tb\\n", "VALUE > '\n\r\\'", ""];
        let text = line(&parts) + &line(&["not_null"]);
        let read: Vec<Vec<String>> = lines(&text).collect();
        assert_eq!(read, [parts.map(str::to_owned).to_vec(), vec!["not_null".to_owned()]]);
    }
}
