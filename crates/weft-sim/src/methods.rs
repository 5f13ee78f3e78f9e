//! The table methods that the simulation runs: registered here, and named nowhere else but in the tables that are made.

use std::sync::Arc;

use weft_kernel::fault::Fault;
use weft_kernel::method::Method;
use weft_kernel::step::Step;
use weft_kernel::table::JobKind;

/// See above.
pub fn methods() -> Vec<Arc<dyn Method>> {
    vec![weft_tables::column_method(), weft_tables::lineage_method(), weft_tables::row_method()]
}

/// The steps of the kernel and of the methods.
pub fn all_steps() -> Vec<Step> {
    let own = methods();
    Step::KERNEL.iter().chain(own.iter().flat_map(|method| method.steps())).copied().collect()
}

/// The kinds of jobs that tables and indexes have.
pub(crate) fn all_job_kinds() -> Vec<JobKind> {
    let own = methods();
    own.iter().flat_map(|method| method.job_kinds()).chain(&weft_kernel::index::JOB_KINDS).copied().collect()
}

/// The faults that can be planted in the kernel and in the methods.
pub fn all_faults() -> Vec<Fault> {
    let own = methods();
    Fault::KERNEL.iter().chain(own.iter().flat_map(|method| method.faults())).copied().collect()
}
