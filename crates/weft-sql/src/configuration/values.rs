//! The values that hold, and where each came from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::RwLock;
use weft_format::{Code, Error, Result};

use super::accepted::Accepted;
use super::file::read_assignments;
use super::table::{Changes, Definition, SETTINGS, definition};
use super::value::{parse_bytes, parse_ms, print_bytes};

/// Where a value came from; a later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The table.
    Default,
    /// A file.
    File,
    /// A variable of the environment.
    Environment,
    /// A flag.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Default => "default",
            Source::File => "configuration file",
            Source::Environment => "environment variable",
            Source::Flag => "command line",
        })
    }
}

/// A value for every setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    values: BTreeMap<&'static str, (String, Source)>,
}

impl Default for Configuration {
    fn default() -> Configuration {
        let value = |known: &Definition| {
            let default = known.kind.canonical(known.default);
            let default = default.expect("a default is allowed, says a test");
            (known.name, (default, Source::Default))
        };
        Configuration { values: SETTINGS.iter().map(value).collect() }
    }
}

impl Configuration {
    /// Sets a value; one from a place that wins stays. The error names what is allowed.
    pub fn set(&mut self, name: &str, value: &str, source: Source) -> Result<()> {
        let known = definition(&name.to_lowercase()).filter(|known| known.is_configurable());
        let known = known.ok_or_else(|| {
            Error::new(Code::UndefinedObject, format!("there is no setting \"{name}\"")).hint(
                nearest(name).map_or_else(|| "SHOW ALL lists them".into(), |near| format!("did you mean {near}?")),
            )
        })?;
        let value = known.kind.canonical(value).ok_or_else(|| {
            Error::new(Code::InvalidParameterValue, format!("\"{value}\" is no value for \"{}\"", known.name))
                .hint(format!("allowed: {}", known.kind.allowed()))
        })?;
        let entry = self.values.get_mut(known.name).expect("every setting has a value");
        if source >= entry.1 {
            *entry = (value, source);
        }
        Ok(())
    }

    /// Reads a file of `name = value`; an error names the file and the line.
    pub fn read_file(&mut self, file: &str, text: &str) -> Result<()> {
        for (line, name, value) in read_assignments(file, text)? {
            self.set(&name, &value, Source::File).map_err(|error| {
                let placed = Error::new(error.code(), format!("{file}, line {line}: {}", error.message()));
                match error.hint_text() {
                    Some(hint) => placed.hint(hint),
                    None => placed,
                }
            })?;
        }
        Ok(())
    }

    /// Takes every setting that a variable `WEFT_...` names.
    pub fn read_environment(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<()> {
        for known in SETTINGS.iter().filter(|known| known.is_configurable()) {
            if let Some(value) = variable(&known.variable()) {
                self.set(known.name, &value, Source::Environment).map_err(|error| {
                    let message = format!("the environment's {}: {}", known.variable(), error.message());
                    Error::new(error.code(), message).hint(error.hint_text().unwrap_or_default())
                })?;
            }
        }
        Ok(())
    }

    /// Says what holds for the engine now, whatever it began with.
    fn put(&mut self, known: &'static Definition, value: String) {
        if let Some(entry) = self.values.get_mut(known.name) {
            entry.0 = value;
        }
    }

    /// Says what a size is that follows from others.
    pub fn derive_bytes(&mut self, name: &'static str, bytes: u64) {
        if let Some(entry) = self.values.get_mut(name) {
            entry.0 = print_bytes(bytes);
        }
    }

    /// Takes from `newer` what may change while a server runs; the names of those that may not, and would.
    pub fn reload(&mut self, newer: &Configuration) -> Vec<&'static str> {
        let mut refused = Vec::new();
        for known in SETTINGS {
            let (own, new) = (self.entry(known.name), newer.entry(known.name));
            if own == new {
                continue;
            }
            match known.changes {
                Changes::Reload | Changes::Session => {
                    self.values.insert(known.name, new.clone());
                }
                // What follows from others is no change of the file's.
                Changes::Start if new.1 != Source::Default || own.1 != Source::Default => refused.push(known.name),
                Changes::Start | Changes::Engine | Changes::Fixed | Changes::Ignored => {}
            }
        }
        refused
    }

    fn entry(&self, name: &str) -> &(String, Source) {
        self.values.get(name).unwrap_or_else(|| panic!("{name} is in the table of settings"))
    }

    /// A value.
    pub fn text(&self, name: &str) -> &str {
        &self.entry(name).0
    }

    /// Where it came from.
    pub fn source(&self, name: &str) -> Source {
        self.entry(name).1
    }

    /// The value of a setting that is `on` or `off`.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name) == "on"
    }

    /// The value of a count.
    pub fn count(&self, name: &str) -> usize {
        self.text(name).parse().expect("a count was tested when it was set")
    }

    /// The value of a size, bytes.
    pub fn bytes(&self, name: &str) -> u64 {
        parse_bytes(&self.text(name).to_lowercase()).expect("a size was tested when it was set")
    }

    /// The value of a time; none when it is -1, which is off.
    pub fn duration(&self, name: &str) -> Option<Duration> {
        parse_ms(self.text(name)).map(Duration::from_millis)
    }

    /// What `pg_settings` tells: name, value, meaning, context, vartype, source, boot value.
    pub fn described(known: &Definition, source: Source) -> [String; 4] {
        let context = match known.changes {
            Changes::Fixed => "internal",
            Changes::Start => "postmaster",
            Changes::Reload => "sighup",
            Changes::Engine => "superuser",
            Changes::Session | Changes::Ignored => "user",
        };
        [context, known.kind.vartype(), &source.to_string(), known.default].map(str::to_owned)
    }

    /// The same of a setting without effect.
    pub fn described_accepted(known: &Accepted, value: &str) -> [String; 4] {
        let context = if known.for_superusers { "superuser" } else { "user" };
        let source = if value == known.default { "default" } else { "session" };
        [context, known.vartype(), source, &known.default].map(str::to_owned)
    }
}

/// The name that shares the most with one that is not known.
fn nearest(name: &str) -> Option<&'static str> {
    let shared = |known: &str| known.split('_').filter(|word| word.len() > 2 && name.contains(word)).count();
    let best = SETTINGS.iter().filter(|known| known.is_configurable()).max_by_key(|known| shared(known.name))?;
    (shared(best.name) > 0).then_some(best.name)
}

/// The configuration that holds now, shared by a server and its sessions.
#[derive(Debug)]
pub struct Configured(RwLock<Arc<Configuration>>);

impl Default for Configured {
    fn default() -> Configured {
        Configured(RwLock::new(Arc::new(Configuration::default())))
    }
}

impl Configured {
    /// What holds now.
    pub fn current(&self) -> Arc<Configuration> {
        Arc::clone(&self.0.read())
    }

    /// Says what holds for the engine from now on.
    pub(crate) fn put(&self, known: &'static Definition, value: String) {
        let mut current = self.0.write();
        Arc::make_mut(&mut current).put(known, value);
    }

    /// Replaces it.
    pub fn replace(&self, configuration: Configuration) {
        *self.0.write() = Arc::new(configuration);
    }
}

/// The same one.
impl PartialEq for Configured {
    fn eq(&self, other: &Configured) -> bool {
        std::ptr::eq(self, other)
    }
}
