//! Rows as a transaction sees them, and where they are: in the table, and in the model.

use arrow_array::{Array, Int64Array};
use weft_format::{Predicate, Result};
use weft_kernel::table::{LOCATION, Location, ScanRequest};
use weft_kernel::{TableRef, Transaction};

use crate::arrays::value_at;
use crate::model::{Place, Row};
use crate::random::Random;
use crate::tables::MEMBERS;

/// A row that is seen, and where.
pub(crate) struct Placed {
    pub(crate) key: Vec<u8>,
    pub(crate) row: Row,
    pub(crate) place: Option<Location>,
}

/// All rows of a table as a transaction sees them, each with its place.
pub(crate) fn placed(txn: &Transaction, t: &TableRef, random: &mut Random) -> Result<Vec<Placed>> {
    placed_where(txn, t, Vec::new(), random)
}

/// The rows that satisfy predicates.
pub(crate) fn placed_where(
    txn: &Transaction,
    t: &TableRef,
    predicates: Vec<Predicate>,
    random: &mut Random,
) -> Result<Vec<Placed>> {
    let columns = &t.def.schema.columns;
    let mut projection: Vec<usize> = (0..columns.len()).collect();
    projection.push(LOCATION);
    let partition_count = 1 + random.below(2) as usize;
    let request =
        ScanRequest { view: txn.view(t).expect("it is kept"), projection, predicates, partition_count, batch_rows: 64 };
    let mut rows = Vec::new();
    for mut partition in t.scan(request)?.partitions {
        while let Some(batch) = partition.next()? {
            let places = batch.column(columns.len()).as_any().downcast_ref::<Int64Array>();
            let places = places.expect("violation: places are numbers");
            for at in 0..batch.num_rows() {
                let value = |column: usize| value_at(batch.column(column).as_ref(), at, columns[column].data_type);
                let row: Row = t.codec.encode((0..columns.len()).map(value)).into();
                let place = Location::of_number(places.value(at)).filter(|_| !places.is_null(at));
                rows.push(Placed { key: t.keys.of_row(&t.codec, &row), row, place });
            }
        }
    }
    Ok(rows)
}

/// What a row is in the model: a place, or one for each column where columns have writers of their own (members 1).
pub(crate) fn places_of(name: &'static str, t: &TableRef, key: &[u8], row: &Row) -> Vec<(Place, Row)> {
    if name != MEMBERS {
        return vec![((name, key.to_vec()), row.clone())];
    }
    let place = |column: usize| (name, [key, &[column as u8]].concat());
    let value = |column: usize| format!("{:?}", t.codec.get(row, column).to_value()).into_bytes().into();
    (0..t.codec.column_count()).map(|column| (place(column), value(column))).collect()
}
