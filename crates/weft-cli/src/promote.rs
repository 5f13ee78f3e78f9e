//! `weft promote DIR`: a node that follows the server of DIR becomes the writer.
//!
//! ```text
//!   weft promote DIR --node berlin --force
//!     DIR/nodes/berlin.promote   "force"              the command's; the node's server looks ten times a second
//!     DIR/nodes/berlin.promoted  "ok", or why not     the node's; read, and removed
//! ```
//!
//! Whoever may write into the directory may do this: there is no password.
//!
//! 1. What a node has taken up is waited for: it reads the log to its end, however long that is.
//! 2. Without `--force` the server that has the directory keeps it, and the command says who that is.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weft_bench::subcommand::Arguments;

use crate::failure::Failure;

/// How long the command waits for the node, unless it is told otherwise.
const SECONDS: u64 = 60;
/// How often both sides look.
pub(crate) const LOOK: Duration = Duration::from_millis(100);
const FORCE: &str = "force";
const DONE: &str = "ok";

/// Runs `weft promote DIR`.
pub(crate) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let force = arguments.flag("--force");
    let node = arguments.option("--node")?;
    let seconds = match arguments.option("--seconds")? {
        None => SECONDS,
        Some(text) => text.parse().map_err(|_| Failure::Usage(format!("--seconds takes a number, not {text:?}")))?,
    };
    let dir = arguments.word().ok_or_else(|| Failure::Usage("promote needs the directory of a database".into()))?;
    arguments.finish()?;
    let nodes = Path::new(&dir).join(weft::NODES_DIR);
    let node = node.map_or_else(|| only_node(&nodes), Ok)?;
    let (asked, answered) = (nodes.join(format!("{node}.promote")), nodes.join(format!("{node}.promoted")));
    let failed = |error| Failure::io(format!("cannot ask node {node} in {}", nodes.display()), &error);
    let _ = std::fs::remove_file(&answered);
    // Whole at once: the node looks at any time.
    let whole = nodes.join(format!("{node}.promote.tmp"));
    let written = std::fs::write(&whole, if force { FORCE } else { "" });
    written.and_then(|()| std::fs::rename(&whole, &asked)).map_err(failed)?;
    let (begun, mut told) = (Instant::now(), Duration::ZERO);
    loop {
        let answer = std::fs::read_to_string(&answered).unwrap_or_default();
        if let Some(answer) = answer.strip_suffix('\n') {
            let _ = std::fs::remove_file(&answered);
            if answer == DONE {
                println!("{node} writes {dir} now, after {:.3} s", begun.elapsed().as_secs_f64());
                return Ok(());
            }
            return Err(Failure::Other(format!("{node} was not promoted: {answer}")));
        }
        if begun.elapsed() >= told + Duration::from_secs(seconds) {
            // Who takes it away has it: the node, which reads the log to its end, or this command.
            if std::fs::remove_file(&asked).is_ok() {
                let message = format!("node {node} did not take it up within {seconds} s: is its server running?");
                return Err(Failure::Other(message));
            }
            told = begun.elapsed();
            eprintln!("{node} has taken it up and is at it for {} s: promote no other node", told.as_secs());
        }
        std::thread::sleep(LOOK / 5);
    }
}

/// The node of a directory that has one.
fn only_node(nodes: &Path) -> Result<String, Failure> {
    let found = std::fs::read_dir(nodes).into_iter().flatten().flatten();
    let names = found.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".node")?.to_owned())).collect();
    names.sort();
    match &names[..] {
        [one] => Ok(one.clone()),
        [] => Err(Failure::Other(format!("no node has registered in {}", nodes.display()))),
        many => Err(Failure::Usage(format!("there are several nodes, name one: --node {}", many.join(" | ")))),
    }
}

/// What the server of a node does about it.
pub(crate) struct Asked {
    asked: PathBuf,
    answered: PathBuf,
}

impl Asked {
    /// Of a node; what was asked before it was there is not answered.
    pub(crate) fn of(dir: &Path, node: &str) -> Asked {
        let nodes = dir.join(weft::NODES_DIR);
        let asked =
            Asked { asked: nodes.join(format!("{node}.promote")), answered: nodes.join(format!("{node}.promoted")) };
        let _ = std::fs::remove_file(&asked.asked);
        asked
    }

    /// Promotes the node when somebody asks for it; what became of that.
    pub(crate) fn look(&self, promote: impl FnOnce(bool) -> weft::Result<()>) -> Option<weft::Result<()>> {
        let asked = std::fs::read_to_string(&self.asked).ok()?;
        // Who takes it away has it: the command may have given up just now.
        std::fs::remove_file(&self.asked).ok()?;
        let promoted = promote(asked == FORCE);
        let answer = match &promoted {
            Ok(()) => DONE.to_owned(),
            Err(error) => format!("{} ({})", error.message(), error.hint_text().unwrap_or_default()),
        };
        let _ = std::fs::write(&self.answered, answer.replace('\n', " ") + "\n");
        Some(promoted)
    }
}
