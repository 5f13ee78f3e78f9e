//! Changes as bytes: what the records of a transaction carry.
//!
//! ```text
//!   change = table u32 | schema version u32 | op u8 | body
//!   02 update   key | count u16 | count x (column u16, value of the release before)
//!   03 delete   key                   (bytes = length u32 + bytes)
//!   04 attach   count u32 | count x file u64 | payload
//!   05 insert   key | row
//!   06 put      key | row             (whatever the key had)
//!   07 clear    key                   (whatever the key had)
//!   08 update   key | count u16 | count x (column u16, value)
//!   16 create   definition            (schema version 0, table 0)
//!   17 drop                           (the table is the one that goes)
//!   18 alter    definition            (schema version 0, table 0: the definition names it)
//!   19 object   object                (schema version 0, table 0)
//!   20 object goes                    (the table is the object's number)
//!   21 sequence last i64 | called u8  (the table is the sequence's number)
//! ```
//!
//! A value says itself what it is (`weft_format::wire`). Example: `UPDATE t SET c = 7 WHERE key = x'01'` on table 5,
//! schema version 0, c being column 2, is `05000000 00000000 08 | 01000000 01 | 0100 | 0200 02 0700000000000000`.
//!
//! 1. Decoding what was encoded gives the same changes; decoding anything else gives an error, never a panic, and never
//!    takes more memory than a small multiple of its input.

use weft_format::wire::{ByteReader, put_bytes, put_value};
use weft_format::{Error, FileId, Result, TableId, Value, ValueRef};

use super::before::value_before;
use super::sequence::SequenceValue;

/// Read, not written: its values have the tags of the release before.
const UPDATE_BEFORE: u8 = 2;
const DELETE: u8 = 3;
const ATTACH: u8 = 4;
const INSERT: u8 = 5;
const PUT: u8 = 6;
const CLEAR: u8 = 7;
const UPDATE: u8 = 8;
const CREATE_TABLE: u8 = 16;
const DROP_TABLE: u8 = 17;
const ALTER_TABLE: u8 = 18;
const PUT_OBJECT: u8 = 19;
const DROP_OBJECT: u8 = 20;
const SET_SEQUENCE: u8 = 21;

/// Names and values of the op bytes, for the snapshot of on-disk constants.
#[cfg(test)]
pub(crate) const CODES: &[(&str, u8)] = &[
    ("op update of the release before", UPDATE_BEFORE),
    ("op insert", INSERT),
    ("op put", PUT),
    ("op clear", CLEAR),
    ("op update", UPDATE),
    ("op delete", DELETE),
    ("op attach", ATTACH),
    ("op create table", CREATE_TABLE),
    ("op drop table", DROP_TABLE),
    ("op alter table", ALTER_TABLE),
    ("op put object", PUT_OBJECT),
    ("op drop object", DROP_OBJECT),
    ("op set sequence", SET_SEQUENCE),
];

/// One change of a table's rows. The writes of a transaction become these, and recovery makes writes of them again.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A key that had no row gets one.
    Insert {
        /// Key bytes.
        key: Vec<u8>,
        /// The row (row codec).
        row: Vec<u8>,
    },
    /// Some columns of a row change.
    Update {
        /// Key bytes; an update never changes the key (that is a delete and an insert).
        key: Vec<u8>,
        /// Ordinals and new values of the changed columns, ascending.
        values: Vec<(usize, Value)>,
    },
    /// A row goes.
    Delete {
        /// Key bytes.
        key: Vec<u8>,
    },
    /// A key has this row, whatever it had before.
    Put {
        /// Key bytes.
        key: Vec<u8>,
        /// The row (row codec).
        row: Vec<u8>,
    },
    /// A key has no row, whatever it had before.
    Clear {
        /// Key bytes.
        key: Vec<u8>,
    },
    /// Files built by a bulk statement become parts of the table.
    Attach(Vec<FileId>, Vec<u8>),
}

impl Change {
    /// The key of the row that changes; none: rows come as files.
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            Change::Insert { key, .. }
            | Change::Update { key, .. }
            | Change::Delete { key }
            | Change::Put { key, .. }
            | Change::Clear { key } => Some(key),
            Change::Attach(..) => None,
        }
    }
}

/// One change as the log knows it.
#[derive(Clone, Debug, PartialEq)]
pub enum LoggedChange {
    /// Rows of a table change.
    Table {
        /// Which table.
        table: TableId,
        /// The version of its schema that the change was made under.
        schema_version: u32,
        /// What changes.
        change: Change,
    },
    /// A table is created.
    CreateTable {
        /// The encoded definition (catalog).
        definition: Vec<u8>,
    },
    /// A table is dropped.
    DropTable {
        /// Which table.
        table: TableId,
    },
    /// A table gets another definition.
    AlterTable {
        /// The encoded definition (catalog), which names the table.
        definition: Vec<u8>,
    },
    /// An object is there, or is another.
    PutObject {
        /// The encoded object (catalog), which names itself.
        object: Vec<u8>,
    },
    /// An object goes.
    DropObject {
        /// Its number.
        id: u32,
    },
    /// Where a sequence goes on.
    SetSequence {
        /// Its number.
        id: u32,
        /// The last number.
        value: SequenceValue,
    },
}

/// Room for the changes of a small transaction, so that the buffer need not grow while these are encoded.
const SMALL_BYTES: usize = 256;

/// Encodes changes one after the other into one growing buffer.
#[derive(Clone, Debug)]
pub struct ChangeEncoder {
    bytes: Vec<u8>,
}

impl Default for ChangeEncoder {
    fn default() -> ChangeEncoder {
        ChangeEncoder::new()
    }
}

impl ChangeEncoder {
    /// An encoder without changes.
    pub fn new() -> ChangeEncoder {
        ChangeEncoder { bytes: Vec::with_capacity(SMALL_BYTES) }
    }

    /// The changes so far: what a [`super::Record`] carries.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the changes, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Whether no change was added.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A key that had no row gets one.
    pub fn insert(&mut self, table: TableId, schema_version: u32, key: &[u8], row: &[u8]) {
        self.begin(table, schema_version, INSERT);
        self.put_bytes(key);
        self.put_bytes(row);
    }

    /// Starts an update of a row; `count` calls of [`ChangeEncoder::value`] follow, columns ascending.
    pub fn update(&mut self, table: TableId, schema_version: u32, key: &[u8], count: usize) {
        self.begin(table, schema_version, UPDATE);
        self.put_bytes(key);
        let count = u16::try_from(count).expect("a table has at most 65,535 columns");
        self.bytes.extend_from_slice(&count.to_le_bytes());
    }

    /// One changed column of the update that was started last.
    pub fn value(&mut self, column: usize, value: ValueRef<'_>) {
        let column = u16::try_from(column).expect("a table has at most 65,535 columns");
        self.bytes.extend_from_slice(&column.to_le_bytes());
        put_value(&mut self.bytes, value);
    }

    /// A row goes.
    pub fn delete(&mut self, table: TableId, schema_version: u32, key: &[u8]) {
        self.begin(table, schema_version, DELETE);
        self.put_bytes(key);
    }

    /// A key has this row, whatever it had before.
    pub fn put(&mut self, table: TableId, schema_version: u32, key: &[u8], row: &[u8]) {
        self.begin(table, schema_version, PUT);
        self.put_bytes(key);
        self.put_bytes(row);
    }

    /// A key has no row, whatever it had before.
    pub fn clear_key(&mut self, table: TableId, schema_version: u32, key: &[u8]) {
        self.begin(table, schema_version, CLEAR);
        self.put_bytes(key);
    }

    /// Files become parts of a table.
    pub fn attach(&mut self, table: TableId, schema_version: u32, files: &[FileId], payload: &[u8]) {
        assert!(u32::try_from(files.len()).is_ok(), "the count of attached files has four bytes");
        self.begin(table, schema_version, ATTACH);
        self.bytes.extend_from_slice(&(files.len() as u32).to_le_bytes());
        for file in files {
            self.bytes.extend_from_slice(&file.0.to_le_bytes());
        }
        self.put_bytes(payload);
    }

    /// A table is created; `definition` is the catalog's encoding.
    pub fn create_table(&mut self, definition: &[u8]) {
        self.begin(TableId(0), 0, CREATE_TABLE);
        self.put_bytes(definition);
    }

    /// A table is dropped.
    pub fn drop_table(&mut self, table: TableId) {
        self.begin(table, 0, DROP_TABLE);
    }

    /// A table gets another definition, in the catalog's encoding.
    pub fn alter_table(&mut self, definition: &[u8]) {
        self.begin(TableId(0), 0, ALTER_TABLE);
        self.put_bytes(definition);
    }

    /// An object is put, in the catalog's encoding.
    pub fn put_object(&mut self, object: &[u8]) {
        self.begin(TableId(0), 0, PUT_OBJECT);
        self.put_bytes(object);
    }

    /// An object goes.
    pub fn drop_object(&mut self, id: u32) {
        self.begin(TableId(id), 0, DROP_OBJECT);
    }

    /// A sequence goes on at a value.
    pub fn set_sequence(&mut self, id: u32, value: SequenceValue) {
        self.begin(TableId(id), 0, SET_SEQUENCE);
        self.bytes.extend_from_slice(&value.last.to_le_bytes());
        self.bytes.push(u8::from(value.is_called));
    }

    /// Adds a decoded change again.
    pub fn push(&mut self, change: &LoggedChange) {
        let (table, version, change) = match change {
            LoggedChange::Table { table, schema_version, change } => (*table, *schema_version, change),
            LoggedChange::CreateTable { definition } => return self.create_table(definition),
            LoggedChange::DropTable { table } => return self.drop_table(*table),
            LoggedChange::AlterTable { definition } => return self.alter_table(definition),
            LoggedChange::PutObject { object } => return self.put_object(object),
            LoggedChange::DropObject { id } => return self.drop_object(*id),
            LoggedChange::SetSequence { id, value } => return self.set_sequence(*id, *value),
        };
        match change {
            Change::Insert { key, row } => self.insert(table, version, key, row),
            Change::Update { key, values } => {
                let ascend = values.is_sorted_by(|(a, _), (b, _)| a < b);
                assert!(ascend, "the columns of an update ascend, or it could not be decoded (changes 1)");
                self.update(table, version, key, values.len());
                for (column, value) in values {
                    self.value(*column, value.as_ref());
                }
            }
            Change::Delete { key } => self.delete(table, version, key),
            Change::Put { key, row } => self.put(table, version, key, row),
            Change::Clear { key } => self.clear_key(table, version, key),
            Change::Attach(files, payload) => self.attach(table, version, files, payload),
        }
    }

    fn begin(&mut self, table: TableId, schema_version: u32, op: u8) {
        self.bytes.extend_from_slice(&table.0.to_le_bytes());
        self.bytes.extend_from_slice(&schema_version.to_le_bytes());
        self.bytes.push(op);
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        put_bytes(&mut self.bytes, bytes);
    }
}

/// Decodes the changes of a record, one after the other; after an error it ends.
#[derive(Clone, Debug)]
pub struct ChangeDecoder<'a> {
    reader: ByteReader<'a>,
}

impl<'a> ChangeDecoder<'a> {
    /// A decoder of a record's changes.
    pub fn new(bytes: &'a [u8]) -> ChangeDecoder<'a> {
        ChangeDecoder { reader: ByteReader::new(bytes, damaged) }
    }

    fn change(&mut self) -> Result<LoggedChange> {
        let table = TableId(self.reader.u32()?);
        let schema_version = self.reader.u32()?;
        let change = match self.reader.u8()? {
            INSERT => {
                Change::Insert { key: self.reader.byte_string()?.to_vec(), row: self.reader.byte_string()?.to_vec() }
            }
            UPDATE => {
                Change::Update { key: self.reader.byte_string()?.to_vec(), values: self.values(ByteReader::value)? }
            }
            UPDATE_BEFORE => {
                Change::Update { key: self.reader.byte_string()?.to_vec(), values: self.values(value_before)? }
            }
            DELETE => Change::Delete { key: self.reader.byte_string()?.to_vec() },
            PUT => Change::Put { key: self.reader.byte_string()?.to_vec(), row: self.reader.byte_string()?.to_vec() },
            CLEAR => Change::Clear { key: self.reader.byte_string()?.to_vec() },
            ATTACH => {
                let count = self.reader.u32()? as usize;
                let files = self.reader.take(count.saturating_mul(8))?;
                let files = files.chunks_exact(8).map(|id| FileId(u64::from_le_bytes(id.try_into().expect("eight"))));
                Change::Attach(files.collect(), self.reader.byte_string()?.to_vec())
            }
            CREATE_TABLE if table.0 == 0 && schema_version == 0 => {
                return Ok(LoggedChange::CreateTable { definition: self.reader.byte_string()?.to_vec() });
            }
            DROP_TABLE if schema_version == 0 => return Ok(LoggedChange::DropTable { table }),
            ALTER_TABLE if table.0 == 0 && schema_version == 0 => {
                return Ok(LoggedChange::AlterTable { definition: self.reader.byte_string()?.to_vec() });
            }
            PUT_OBJECT if table.0 == 0 && schema_version == 0 => {
                return Ok(LoggedChange::PutObject { object: self.reader.byte_string()?.to_vec() });
            }
            DROP_OBJECT if schema_version == 0 => return Ok(LoggedChange::DropObject { id: table.0 }),
            SET_SEQUENCE if schema_version == 0 => {
                let last = i64::from_le_bytes(self.reader.array()?);
                let is_called = self.reader.flag()?;
                return Ok(LoggedChange::SetSequence { id: table.0, value: SequenceValue { last, is_called } });
            }
            op => {
                return Err(Error::corrupt(format!("a logged change of table {table} has the unknown operation {op}")));
            }
        };
        Ok(LoggedChange::Table { table, schema_version, change })
    }

    fn values(&mut self, value: fn(&mut ByteReader<'a>) -> Result<Value>) -> Result<Vec<(usize, Value)>> {
        let count = usize::from(self.reader.u16()?);
        let mut values = Vec::with_capacity(count.min(self.reader.bytes.len()));
        for _ in 0..count {
            let column = usize::from(self.reader.u16()?);
            if values.last().is_some_and(|(before, _)| *before >= column) {
                return Err(Error::corrupt(format!("a logged update names column {column} out of order")));
            }
            values.push((column, value(&mut self.reader)?));
        }
        Ok(values)
    }
}

impl Iterator for ChangeDecoder<'_> {
    type Item = Result<LoggedChange>;

    fn next(&mut self) -> Option<Result<LoggedChange>> {
        if self.reader.bytes.is_empty() {
            return None;
        }
        let change = self.change();
        if change.is_err() {
            self.reader.bytes = &[];
        }
        Some(change)
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a logged change is damaged: {what}")).hint("run weft check; restore the log from a backup")
}
