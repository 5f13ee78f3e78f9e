//! What the shell runs without a person: texts and files, in the order in which the command line names them.
//!
//! ```text
//!   weft DIR -c "SELECT 1" -f two.sql -c "SELECT 3"    Text("SELECT 1") · File("two.sql") · Text("SELECT 3")
//! ```

use std::io::{self, Read};

use weft_bench::subcommand::Arguments;

use crate::failure::Failure;

/// One thing to run before the shell ends.
#[derive(Debug, PartialEq)]
pub(super) enum Script {
    /// `-c`: the statements themselves.
    Text(String),
    /// `-f`: a file with statements; `-` is standard input.
    File(String),
}

/// Takes the `-c` and `-f` options out of the command line.
pub(super) fn scripts(arguments: &mut Arguments) -> Result<Vec<Script>, Failure> {
    let mut scripts = Vec::new();
    while let Some((option, value)) = arguments.first_option(&["-c", "-f"])? {
        scripts.push(if option == "-c" { Script::Text(value) } else { Script::File(value) });
    }
    Ok(scripts)
}

/// The statements in a file; `-` is standard input.
pub(super) fn read(file: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(file).map(|found| bytes = found)
    };
    read.map_err(|error| Failure::io(format!("cannot read {file}"), &error))?;
    String::from_utf8(bytes).map_err(|error| Failure::Other(format!("{file} is not UTF-8: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_keep_their_order() {
        let words = "dir -c one --format=csv -f two -c three -f";
        let mut arguments = Arguments::new(words.split(' ').map(str::to_owned).collect());
        assert!(matches!(scripts(&mut arguments), Err(Failure::Usage(message)) if message == "-f needs a value"));
        let words = words.trim_end_matches(" -f");
        let mut arguments = Arguments::new(words.split(' ').map(str::to_owned).collect());
        assert_eq!(
            scripts(&mut arguments).unwrap(),
            [Script::Text("one".into()), Script::File("two".into()), Script::Text("three".into())]
        );
        assert_eq!(arguments.option("--format").unwrap().as_deref(), Some("csv"));
        assert_eq!(arguments.word().as_deref(), Some("dir"));
        assert!(arguments.finish().is_ok());
    }
}
