//! The words after the program's name.
//!
//! ```text
//!   demo --writers 4 --quick      option("--writers") = Some("4"), flag("--quick") = true, finish() = no word left
//! ```
//!
//! Each call takes its words out, so that what is left at [`Arguments::finish`] is what nobody knew.

use super::failure::Failure;

/// The words that no call has taken yet.
pub struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    /// All words of a subcommand.
    pub fn new(words: Vec<String>) -> Arguments {
        Arguments { words }
    }

    /// Whether a word is there.
    pub fn flag(&mut self, name: &str) -> bool {
        let found = self.words.iter().position(|word| word == name);
        if let Some(at) = found {
            self.words.remove(at);
        }
        found.is_some()
    }

    /// The word after `name` (or after `name=`).
    pub fn option(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let prefix = format!("{name}=");
        if let Some(at) = self.words.iter().position(|word| word.starts_with(&prefix)) {
            return Ok(Some(self.words.remove(at)[prefix.len()..].to_owned()));
        }
        let Some(at) = self.words.iter().position(|word| word == name) else { return Ok(None) };
        if at + 1 >= self.words.len() {
            return Err(Failure::Usage(format!("{name} needs a value")));
        }
        self.words.remove(at);
        Ok(Some(self.words.remove(at)))
    }

    /// The number after `name`, or `default`.
    pub fn number(&mut self, name: &str, default: u64) -> Result<u64, Failure> {
        match self.option(name)? {
            None => Ok(default),
            Some(text) => {
                text.replace('_', "").parse().map_err(|_| Failure::Usage(format!("{name} needs a number, not {text}")))
            }
        }
    }

    /// The numbers after `name`, with commas between them, or `default`.
    pub fn numbers(&mut self, name: &str, default: &[u64]) -> Result<Vec<u64>, Failure> {
        let Some(text) = self.option(name)? else { return Ok(default.to_vec()) };
        let wrong = |_| Failure::Usage(format!("{name} needs numbers with commas between them, not {text}"));
        text.split(',').map(|number| number.replace('_', "").parse().map_err(wrong)).collect()
    }

    /// The number of bytes after `name`: `65536`, `64kB`, `256MB`, `1GB`; units are powers of 1024.
    pub fn bytes(&mut self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.option(name)? else { return Ok(None) };
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => Some(0),
            "kb" => Some(10),
            "mb" => Some(20),
            "gb" => Some(30),
            _ => None,
        };
        let number = digits.replace('_', "").parse::<u64>().ok();
        let bytes = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
        let bytes = bytes.ok_or_else(|| Failure::Usage(format!("{name} needs a size like 256MB, not {text}")))?;
        Ok(Some(bytes))
    }

    /// The first of these options and the word after it; for options whose order matters.
    pub fn first_option(&mut self, names: &[&str]) -> Result<Option<(String, String)>, Failure> {
        let Some(at) = self.words.iter().position(|word| names.contains(&word.as_str())) else { return Ok(None) };
        if at + 1 >= self.words.len() {
            return Err(Failure::Usage(format!("{} needs a value", self.words[at])));
        }
        let option = self.words.remove(at);
        Ok(Some((option, self.words.remove(at))))
    }

    /// The next word that is not an option.
    pub fn word(&mut self) -> Option<String> {
        let at = self.words.iter().position(|word| !word.starts_with('-'))?;
        Some(self.words.remove(at))
    }

    /// Whether the first word is this one; then takes it out.
    pub fn first_is(&mut self, word: &str) -> bool {
        let first = self.words.first().is_some_and(|first| first == word);
        if first {
            self.words.remove(0);
        }
        first
    }

    /// An error that names a word nobody took.
    pub fn finish(self) -> Result<(), Failure> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(Failure::Usage(format!("unknown argument {word}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::new(line.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn sizes_have_units() {
        let mut words = arguments("--a 256MB --b=1_024 --c 2gb --d 3TB --e 99999999999GB");
        assert_eq!(words.bytes("--a").unwrap(), Some(256 << 20));
        assert_eq!(words.bytes("--b").unwrap(), Some(1024));
        assert_eq!(words.bytes("--c").unwrap(), Some(2 << 30));
        assert!(words.bytes("--d").is_err() && words.bytes("--e").is_err());
        assert_eq!(words.bytes("--f").unwrap(), None);
    }

    #[test]
    fn takes_options_in_any_order() {
        let mut words = arguments("--writers 4 dir --quick --format=csv -c one -f two -c three");
        let mut ordered = Vec::new();
        while let Some((option, value)) = words.first_option(&["-c", "-f"]).unwrap() {
            ordered.push(format!("{option} {value}"));
        }
        assert_eq!(ordered, ["-c one", "-f two", "-c three"]);
        assert_eq!(words.number("--writers", 1).unwrap(), 4);
        assert_eq!(words.number("--readers", 7).unwrap(), 7);
        assert!(words.flag("--quick"));
        assert!(!words.flag("--quick"));
        assert_eq!(words.option("--format").unwrap().as_deref(), Some("csv"));
        assert_eq!(words.word().as_deref(), Some("dir"));
        assert!(words.finish().is_ok());
    }

    #[test]
    fn names_what_it_does_not_know() {
        let mut words = arguments("--writers");
        assert!(matches!(words.number("--writers", 1), Err(Failure::Usage(m)) if m == "--writers needs a value"));
        let mut words = arguments("--writers many");
        assert!(
            matches!(words.number("--writers", 1), Err(Failure::Usage(m)) if m == "--writers needs a number, not many")
        );
        assert!(matches!(arguments("--bogus").finish(), Err(Failure::Usage(m)) if m == "unknown argument --bogus"));
    }
}
