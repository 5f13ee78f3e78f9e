//! Newtypes for the numbers that must not be confused.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number after this one.
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A commit sequence number, handed out in log order: the only clock of visibility. 0 is before every commit.
    Timestamp(u64)
}
id! {
    /// A byte position in the endless log.
    Lsn(u64)
}
id! {
    /// The number of a record of the log, given when it is appended, ascending along the log. A page carries that of
    /// its last change. 0 is before every record.
    RecordNo(u64)
}
id! {
    /// A table, for as long as the database lives; never used again after a drop. 0 is the catalog itself.
    TableId(u32)
}
id! {
    /// A transaction, unique within one opening of the database (log records pair it with the opening's epoch).
    TxnId(u64)
}
id! {
    /// A data file of the database directory; never used again.
    FileId(u64)
}

impl Timestamp {
    /// Later than every commit: the delete timestamp of a row that is alive.
    pub const MAX: Timestamp = Timestamp(u64::MAX);
}

impl RecordNo {
    /// Behind every record.
    pub const MAX: RecordNo = RecordNo(u64::MAX);
}

/// How a data file is called in the directory of a database and in what is told of it: `t` table `-` file `.data`,
/// numbers in decimal.
pub fn file_name(owner: TableId, file: FileId) -> String {
    format!("t{owner}-{file}.data")
}
