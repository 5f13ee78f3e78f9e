//! A script's text: blocks of commands and what is expected of them.
//!
//! ```text
//!   # comment          ┐ kept as it is
//!   create t           ┐ commands, up to the line of dashes
//!   ----
//!   t1 at 1            ┐ expected, up to an empty line
//! ```

/// The line between commands and what is expected.
const DASHES: &str = "----";

/// A script, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(super) blocks: Vec<Block>,
    /// What follows the last block.
    rest: String,
}

/// Some commands and their output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Comments, empty lines and commands as written.
    text: String,
    pub(super) commands: Vec<String>,
    pub(super) output: String,
}

impl Script {
    /// Takes a script apart.
    pub fn parse(text: &str) -> Script {
        let mut script = Script::default();
        let mut block = Block::default();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line == DASHES {
                for line in lines.by_ref().take_while(|line| !line.is_empty()) {
                    block.output.push_str(line);
                    block.output.push('\n');
                }
                script.blocks.push(std::mem::take(&mut block));
                continue;
            }
            block.text.push_str(line);
            block.text.push('\n');
            let command = line.trim();
            if !command.is_empty() && !command.starts_with('#') {
                block.commands.push(command.to_owned());
            }
        }
        assert!(block.commands.is_empty(), "commands without a line {DASHES}: {:?}", block.commands);
        script.rest = block.text;
        script
    }

    /// The script's text, with the outputs as they are in it.
    pub fn render(&self) -> String {
        let blocks: Vec<String> =
            self.blocks.iter().map(|block| format!("{}{DASHES}\n{}", block.text, block.output)).collect();
        let mut text = blocks.join("\n");
        if !self.rest.is_empty() {
            text.push('\n');
            text.push_str(&self.rest);
        }
        text
    }
}

/// What differs, line by line: ` ` both, `-` expected only, `+` found only; none when nothing does.
pub fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    // The longest common subsequence, from the ends back.
    let mut common = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines: Vec<(char, &str)> = Vec::new();
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            lines.push((' ', a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', a[i]));
            i += 1;
        } else {
            lines.push(('+', b[j]));
            j += 1;
        }
    }
    let near = |at: usize| lines[at.saturating_sub(3)..(at + 4).min(lines.len())].iter().any(|line| line.0 != ' ');
    let shown = (0..lines.len()).filter(|&at| near(at)).map(|at| format!("{}{}\n", lines[at].0, lines[at].1));
    Some(shown.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_back_as_it_was() {
        let text = "# why\nopen\n\ncreate t\n----\nt1 at 1\n\n# more\nfreeze\n----\n\nlog\n----\na\nb\n";
        let mut script = Script::parse(text);
        assert_eq!(script.render(), text);
        assert_eq!(script.blocks[0].commands, ["open", "create t"]);
        assert_eq!(script.blocks[1].output, "");
        script.blocks[1].output = "now\n".into();
        assert_eq!(script.render(), text.replace("freeze\n----\n", "freeze\n----\nnow\n"));
        let commented = "open\n----\n\n# the end\n";
        assert_eq!(Script::parse(commented).render(), commented);
    }

    #[test]
    fn differences_are_shown_with_what_is_near() {
        assert_eq!(difference("a\n", "a\n"), None);
        let expected = "1\n2\n3\n4\n5\nsync\n6\n";
        assert_eq!(difference(expected, &expected.replace("sync\n", "")).as_deref(), Some(" 3\n 4\n 5\n-sync\n 6\n"));
        assert_eq!(difference("a\n", "b\n").as_deref(), Some("-a\n+b\n"));
    }
}
