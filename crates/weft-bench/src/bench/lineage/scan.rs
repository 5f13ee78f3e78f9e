//! The long reads: the sum of one column over the table, by one thread, on a snapshot.
//!
//! The paper's scans touch a tenth of the table. These read all of it: the rivals have nothing that would lead them to
//! a range of keys, and a tenth from the beginning would be just where the active rows are.

use weft::arrow::array::Int64Array;
use weft::arrow::compute;
use weft_contract::ScanRequest;
use weft_kernel::IsolationLevel;

use super::contender::Contender;
use crate::subcommand::Failure;

const BATCH_ROWS: usize = 8192;

/// The sum of a column, and over how many rows it was.
pub(super) fn sum(contender: &Contender, column: usize) -> Result<(i64, u64), Failure> {
    let _inside = contender.enter();
    let txn = contender.engine.begin_at(IsolationLevel::RepeatableRead)?;
    let view = txn.view(&contender.table)?;
    let request = ScanRequest {
        view,
        projection: vec![column],
        predicates: Vec::new(),
        partition_count: 1,
        batch_rows: BATCH_ROWS,
    };
    let mut output = contender.table.scan(request)?;
    let (mut sum, mut rows) = (0i64, 0);
    for partition in &mut output.partitions {
        while let Some(batch) = partition.next()? {
            let values = batch.column(0).as_any().downcast_ref::<Int64Array>().expect("the column is bigint");
            sum = sum.wrapping_add(compute::sum(values).unwrap_or(0));
            rows += batch.num_rows() as u64;
        }
    }
    txn.rollback();
    Ok((sum, rows))
}
