//! The named steps of this method: those of its jobs, under the names of their kinds, and two of statements.

use weft_contract::JobKind;
use weft_kernel::step::{Step, reached};

use super::job_kinds::{CONVERT, MERGE, MOVE, TO_BASELINE, TO_TRANSITION};

/// The marks of blind writes are set.
pub const RECONCILED: Step = Step::new("reconcile: marks set");
/// The files of a bulk statement are durable.
pub const BUILD_FILES_SYNCED: Step = Step::new("build: files synced");

/// What a job has done, in order. A move has no inputs, files and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum JobStep {
    InputsRead,
    FilesWritten,
    FilesSynced,
    EditDurable,
    MarksCarried,
    Switched,
}

/// Steps of one kind, in the order of [`JobStep`].
type JobSteps = [Step; 6];

macro_rules! job_steps {
    ($kind:literal) => {
        [
            Step::new(concat!($kind, ": inputs read")),
            Step::new(concat!($kind, ": files written")),
            Step::new(concat!($kind, ": files synced")),
            Step::new(concat!($kind, ": edit durable")),
            Step::new(concat!($kind, ": marks carried")),
            Step::new(concat!($kind, ": switched")),
        ]
    };
}

const OF_JOBS: [(JobKind, JobSteps); 5] = [
    (CONVERT, job_steps!("convert")),
    (MOVE, job_steps!("move")),
    (MERGE, job_steps!("merge")),
    (TO_TRANSITION, job_steps!("to transition")),
    (TO_BASELINE, job_steps!("to baseline")),
];

/// Which of these are the moves.
const MOVE_AT: usize = 1;

/// All of them.
pub const ALL: [Step; 28] = {
    let mut all = [RECONCILED; 28];
    all[1] = BUILD_FILES_SYNCED;
    let (mut count, mut at) = (2, 0);
    while at < OF_JOBS.len() {
        let mut step = 0;
        while step < OF_JOBS[at].1.len() {
            if at != MOVE_AT || step == JobStep::EditDurable as usize || step == JobStep::Switched as usize {
                all[count] = OF_JOBS[at].1[step];
                count += 1;
            }
            step += 1;
        }
        at += 1;
    }
    assert!(count == all.len());
    all
};

/// The step of a job; none when jobs of the kind have no such step.
pub fn of_job(kind: JobKind, step: JobStep) -> Option<Step> {
    let has_it = kind != MOVE || matches!(step, JobStep::EditDurable | JobStep::Switched);
    let (_, steps) = OF_JOBS.iter().find(|(known, _)| has_it && *known == kind)?;
    Some(steps[step as usize])
}

/// Says that a step of a job of this kind is done.
pub(crate) fn job_reached(kind: JobKind, step: JobStep) {
    if let Some(step) = of_job(kind, step) {
        reached(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_the_names_of_their_kinds() {
        for (kind, steps) in OF_JOBS {
            assert!(steps.iter().all(|step| step.name().starts_with(&format!("{}: ", kind.name()))), "{kind:?}");
        }
        assert_eq!(of_job(MOVE, JobStep::EditDurable).map(Step::name), Some("move: edit durable"));
        assert_eq!((OF_JOBS[MOVE_AT].0, of_job(MOVE, JobStep::FilesSynced)), (MOVE, None));
        assert!(OF_JOBS.iter().all(|(kind, steps)| steps.iter().all(|step| *kind == MOVE || ALL.contains(step))));
        let mut names = ALL.map(Step::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
