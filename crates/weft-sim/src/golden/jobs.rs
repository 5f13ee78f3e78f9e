//! Commands about background work: what is offered, what the picker says, running it.
//!
//! ```text
//!   offer convert t3 #2 mem=4000000 cpu=2000        made up, for `pick offered`
//!   pick                                            of what the tables offer now
//! ```

use std::sync::Arc;

use weft_format::TableId;
use weft_kernel::Engine;
use weft_kernel::sched::{Running, pick};
use weft_kernel::table::{JobKind, JobOffer, Price};

use super::super::methods::all_job_kinds;
use super::command::Command;
use super::printed::{Printed, show_error};
use super::process::Process;
use super::show;

/// Commands that look, and those that make offers up.
pub(super) fn execute(process: &mut Process, command: &Command) -> Printed {
    match command.name.as_str() {
        "offer" => process.offers.push(offer(command)?),
        "running" => {
            process.running.push(Running::of(&offer(command)?));
            process.made_up.left_us.push(command.number("left", 50.0)? * 1e3);
        }
        "paused" => process.paused.push(table_id(command.word(0, "the table")?)?),
        "jobs" => return Ok(offers(&process.engine()?)?.iter().map(show_offer).collect()),
        _ if command.words.iter().any(|word| word == "offered") => {
            let offers = std::mem::take(&mut process.offers);
            let (running, paused) = (std::mem::take(&mut process.running), std::mem::take(&mut process.paused));
            return Ok(vec![picked(&offers, &running, &paused)]);
        }
        _ => return Ok(vec![picked(&offers(&process.engine()?)?, &[], &[])]),
    }
    Ok(Vec::new())
}

/// Commands that do something.
pub(super) fn run(engine: &Arc<Engine>, command: &Command) -> Printed {
    let history = engine.job_history().len();
    let ran = |none: &str| {
        let mut lines = engine.job_history().split_off(history);
        if lines.is_empty() {
            lines.push(none.to_owned());
        }
        lines
    };
    match command.name.as_str() {
        "freeze" => engine.freeze().map(|()| Vec::new()),
        "run-job" => engine.run_one_job().map(|_| ran("no job")),
        "run-jobs" => engine.run_jobs().map(|_| ran("no job")),
        "checkpoint" => engine.checkpoint().map(|()| ran("no conversion")),
        _ => engine.check().map(|lines| if lines.is_empty() { vec!["nothing is wrong".into()] } else { lines }),
    }
    .map_err(show_error)
}

/// What the tables offer, by table.
fn offers(engine: &Arc<Engine>) -> Result<Vec<JobOffer>, String> {
    Ok(show::tables(engine)?.iter().flat_map(|table| table.table.jobs()).collect())
}

fn picked(offers: &[JobOffer], running: &[Running], paused: &[TableId]) -> String {
    // Tables that rest offer nothing to the picker.
    let offers: Vec<JobOffer> = offers.iter().filter(|offer| !paused.contains(&offer.table)).cloned().collect();
    match pick(&offers, running) {
        Some(choice) => format!("{}: {}", show_job(&offers[choice.index]), choice.reason),
        None => "nothing".into(),
    }
}

/// `convert t3 #2`
pub(super) fn show_job(offer: &JobOffer) -> String {
    format!("{} t{} #{}", word(offer.kind), offer.table, offer.number)
}

/// `to-baseline`
fn word(kind: JobKind) -> String {
    kind.name().replace(' ', "-")
}

fn show_offer(offer: &JobOffer) -> String {
    let Price { cpu_us, read_bytes, write_bytes, memory_freed_bytes, log_released_bytes, dead_rows, .. } = offer.price;
    format!(
        "{}: cpu {cpu_us} us, reads {read_bytes}, writes {write_bytes}, frees {memory_freed_bytes}, \
         releases {log_released_bytes}, dead {dead_rows}; {}",
        show_job(offer),
        offer.reason
    )
}

/// `convert t3 #2 mem=4000000 log=9 dead=0 cpu=2000 read=0 write=0`
fn offer(command: &Command) -> Result<JobOffer, String> {
    let wanted = command.word(0, "the kind of job")?;
    let kinds = all_job_kinds();
    let kind = kinds
        .into_iter()
        .find(|kind| word(*kind) == wanted)
        .ok_or_else(|| format!("bad command: there is no job {wanted}"))?;
    let number = command.word(2, "the number")?;
    let price = Price {
        cpu_us: command.number("cpu", 0)?,
        read_bytes: command.number("read", 0)?,
        write_bytes: command.number("write", 0)?,
        memory_freed_bytes: command.number("mem", 0)?,
        log_released_bytes: command.number("log", 0)?,
        dead_rows: command.number("dead", 0)?,
    };
    Ok(JobOffer {
        table: table_id(command.word(1, "the table")?)?,
        kind,
        number: number.trim_start_matches('#').parse().map_err(|_| format!("bad command: {number} is no number"))?,
        price,
        reason: "made up".into(),
    })
}

fn table_id(text: &str) -> Result<TableId, String> {
    let id = text.trim_start_matches('t').parse();
    id.map(TableId).map_err(|_| format!("bad command: {text} is no table, such as t3"))
}
