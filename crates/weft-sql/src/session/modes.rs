//! What BEGIN and SET TRANSACTION say of a transaction, and the setting `system_time`.

use sqlparser::ast::{TransactionAccessMode, TransactionIsolationLevel, TransactionMode};
use weft_expr::{Local, text};
use weft_format::{Code, DataType, Error, Result, Timestamp, Value};
use weft_kernel::{IsolationLevel, Transaction};

use super::answers::unsupported;

/// What BEGIN and SET TRANSACTION say.
#[derive(Clone, Copy, Default)]
pub(super) struct Modes {
    pub(super) read_only: Option<bool>,
    pub(super) level: Option<IsolationLevel>,
}

/// READ ONLY or READ WRITE, and the isolation level. READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL.
pub(super) fn modes_of(modes: &[TransactionMode]) -> Result<Modes> {
    let mut found = Modes::default();
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(access) => {
                found.read_only = Some(*access == TransactionAccessMode::ReadOnly);
            }
            TransactionMode::IsolationLevel(level) => {
                found.level = Some(match level {
                    TransactionIsolationLevel::ReadUncommitted | TransactionIsolationLevel::ReadCommitted => {
                        IsolationLevel::ReadCommitted
                    }
                    TransactionIsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
                    TransactionIsolationLevel::Serializable => IsolationLevel::Serializable,
                    TransactionIsolationLevel::Snapshot => {
                        return Err(
                            unsupported("isolation level SNAPSHOT").hint("REPEATABLE READ is snapshot isolation")
                        );
                    }
                });
            }
        }
    }
    Ok(found)
}

/// Of a transaction that would write what was.
pub(super) fn read_only() -> Error {
    let message = "a transaction that reads the past is read only";
    Error::new(Code::ReadOnlyTransaction, message).hint("leave out READ WRITE, or AS OF")
}

/// The transaction that begins with the setting `system_time` reads what was then.
pub(super) fn put_at_setting(txn: &mut Transaction, text: &str, local: &Local) -> Result<()> {
    let engine = txn.engine().clone();
    let ts = match text.trim().parse() {
        Ok(number) => engine.commit_named(Timestamp(number))?,
        Err(_) => match text::parse(text, DataType::TimestampTz, local)? {
            Value::Int(micros) => engine.commit_at(micros)?,
            _ => return Err(Error::internal("a timestamptz is a number")),
        },
    };
    txn.set_snapshot(ts)
}
