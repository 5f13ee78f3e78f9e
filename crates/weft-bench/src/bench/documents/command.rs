//! The words after `weft bench documents`.
//!
//! | option | |
//! |---|---|
//! | `--shapes sensors,cell` | of cell, sensors, tweet_1, wos, tweet_2 |
//! | `--count 200000` | documents of each |
//! | `--rounds 5` | runs of each query, behind one that is not counted |
//! | `--only q2,e1` | queries |
//! | `--file F` | these documents, of one shape, instead of generated ones |
//! | `--write F` | writes the documents of one shape, and ends |
//! | `--dir D` | where databases are made |
//! | `--show` | prints each answer once |
//! | `--memory-limit 4GB` | |

use std::path::PathBuf;

use weft_format::document::shapes::Shape;

use super::suite::{self, Suite};
use crate::directory;
use crate::subcommand::{Arguments, Failure};

const NAMES: [(&str, Shape); 5] = [
    ("cell", Shape::Cell),
    ("sensors", Shape::Sensors),
    ("tweet_1", Shape::Tweet1),
    ("wos", Shape::Wos),
    ("tweet_2", Shape::Tweet2),
];

/// Measures each shape by itself.
pub(in crate::bench) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let shapes = arguments.option("--shapes")?.unwrap_or_else(|| "sensors".to_owned());
    let count = arguments.number("--count", 200_000)?;
    let write = arguments.option("--write")?.map(PathBuf::from);
    let dir = arguments.option("--dir")?.map(PathBuf::from);
    let suite = Suite {
        count,
        rounds: arguments.number("--rounds", 5)?,
        only: arguments.option("--only")?.map(|names| names.split(',').map(str::to_owned).collect()),
        file: arguments.option("--file")?.map(PathBuf::from),
        shows: arguments.flag("--show"),
        memory_limit_bytes: arguments.bytes("--memory-limit")?,
        dir: dir.clone().unwrap_or_else(|| directory::temporary("documents")),
    };
    arguments.finish()?;
    let shapes = shapes.split(',').map(named).collect::<Result<Vec<_>, _>>()?;
    if shapes.len() > 1 && (write.is_some() || suite.file.is_some()) {
        return Err(Failure::Usage("a file has documents of one shape; name it with --shapes".into()));
    }
    for (name, shape) in shapes {
        match &write {
            Some(file) => suite::write(shape, count, file).map(drop)?,
            None => suite.run(name, shape)?,
        }
    }
    if write.is_none() && dir.is_none() {
        directory::remove(&suite.dir);
    }
    Ok(())
}

fn named(name: &str) -> Result<(&'static str, Shape), Failure> {
    let known = || NAMES.map(|(name, _)| name).join(", ");
    let found = NAMES.iter().find(|(known, _)| *known == name).copied();
    found.ok_or_else(|| Failure::Usage(format!("there is no shape {name}; there are {}", known())))
}
