//! The one error type: a coarse kind that names the caller's move, and a code that is mapped once to SQLSTATE.

use std::fmt;

/// No handle is left in the process, or in the system.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// What the caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Another transaction won: roll back and retry.
    Conflict,
    /// The input is wrong: fix it.
    Invalid,
    /// Stored bytes are damaged: stop and repair.
    Corrupt,
    /// A configured or physical limit was reached: free some or raise it.
    Limit,
    /// Not possible at present: retry later.
    Unavailable,
    /// The named object does not exist.
    NotFound,
    /// The database, session or transaction is over: open a new one.
    Closed,
    /// A bug in Weft: report it.
    Internal,
}

macro_rules! codes {
    ($($name:ident $kind:ident $sqlstate:literal $doc:literal;)*) => {
        /// A specific error, each with its kind and its SQLSTATE (PostgreSQL's, appendix A of its manual).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $(#[doc = $doc] $name,)* }

        impl Code {
            /// Every code.
            pub const ALL: &[Code] = &[$(Code::$name,)*];
            /// Five characters, as PostgreSQL's drivers expect them.
            pub fn sqlstate(self) -> &'static str { match self { $(Code::$name => $sqlstate,)* } }
            /// The caller's move.
            pub fn kind(self) -> ErrorKind { match self { $(Code::$name => ErrorKind::$kind,)* } }
        }
    };
}

codes! {
    SerializationFailure Conflict "40001" "A concurrent transaction changed what this one writes.";
    DeadlockDetected Conflict "40P01" "Transactions wait for each other; this one is the victim.";
    LockTimeout Conflict "55P03" "A lock was not granted in time.";
    SyntaxError Invalid "42601" "The statement does not parse.";
    FeatureNotSupported Invalid "0A000" "PostgreSQL has it, Weft does not (yet).";
    UndefinedTable NotFound "42P01" "No such table.";
    UndefinedColumn NotFound "42703" "No such column.";
    UndefinedFunction NotFound "42883" "No such function or operator.";
    AmbiguousFunction Invalid "42725" "More than one function is meant.";
    DuplicateFunction Invalid "42723" "The function exists already.";
    InvalidFunctionDefinition Invalid "42P13" "A function contradicts itself.";
    UndefinedObject NotFound "42704" "No such type, setting, method or other object.";
    WrongObjectType Invalid "42809" "The object is of another kind than the statement needs.";
    UndefinedParameter Invalid "42P02" "No value for a parameter.";
    UndefinedFile NotFound "58P01" "No such file or directory.";
    UndefinedPrepared NotFound "26000" "No such prepared statement.";
    DuplicatePrepared Invalid "42P05" "A prepared statement of that name exists already.";
    UndefinedCursor NotFound "34000" "No such cursor or portal.";
    DuplicateCursor Invalid "42P03" "A cursor of that name is open already.";
    UndefinedDatabase NotFound "3D000" "No such database.";
    ProtocolViolation Invalid "08P01" "A message of the client contradicts the protocol.";
    InvalidPassword Invalid "28P01" "The password is wrong, or there is no such role.";
    InvalidAuthorization Invalid "28000" "The role may not log in, or not this way.";
    InsufficientPrivilege Invalid "42501" "The role may not do this.";
    InvalidGrant Invalid "0LP01" "Rights that cannot be given so.";
    ObjectInUse Invalid "55006" "The object is in use.";
    IndeterminateType Invalid "42P18" "The type of a parameter cannot be told.";
    InvalidBinary Invalid "22P03" "Bytes do not read as a value of the type.";
    IdleInTransaction Closed "25P03" "The transaction was idle for too long.";
    DuplicateTable Invalid "42P07" "The table exists already.";
    DuplicateObject Invalid "42710" "A constraint of that name exists already.";
    DuplicateColumn Invalid "42701" "A column is named twice.";
    DuplicateSchema Invalid "42P06" "The schema exists already.";
    UndefinedSchema Invalid "3F000" "The schema does not exist.";
    InvalidColumnDefinition Invalid "42611" "A column's definition contradicts itself.";
    ReservedName Invalid "42939" "The name is the system's.";
    NotInPrerequisiteState Invalid "55000" "The object is not in the state that the statement needs.";
    SequenceLimit Invalid "2200H" "The sequence has no more numbers.";
    GeneratedAlways Invalid "428C9" "A column is always generated.";
    AmbiguousColumn Invalid "42702" "A column name fits several tables.";
    DatatypeMismatch Invalid "42804" "An expression has the wrong type.";
    CannotCoerce Invalid "42846" "There is no cast between two types.";
    InvalidForeignKey Invalid "42830" "A foreign key refers to columns that are not unique.";
    InvalidTableDefinition Invalid "42P16" "A table definition contradicts itself.";
    InvalidObjectDefinition Invalid "42P17" "An index expression may change its value.";
    WindowingError Invalid "42P20" "A window function stands where it cannot.";
    GroupingError Invalid "42803" "A column is neither grouped nor aggregated.";
    InvalidRecursion Invalid "42P19" "A recursive query does what it cannot: it aggregates its own rows.";
    DependentObjects Invalid "2BP01" "Another object needs the one to be dropped.";
    InvalidColumnReference Invalid "42P10" "ON CONFLICT or ORDER BY names columns that do not fit.";
    NumericOutOfRange Invalid "22003" "A number does not fit its type.";
    DivisionByZero Invalid "22012" "Division by zero.";
    InvalidText Invalid "22P02" "Text does not read as a value of the type.";
    InvalidDatetime Invalid "22007" "Text does not read as a date or timestamp.";
    InvalidZoneOffset Invalid "22009" "An offset from UTC is out of range.";
    DatetimeOverflow Invalid "22008" "A date or timestamp is out of range.";
    IntervalFieldOverflow Invalid "22015" "A field of an interval is out of range.";
    UntranslatableCharacter Invalid "22P05" "A character cannot be stored.";
    ArraySubscript Invalid "2202E" "An array has the wrong number of elements or dimensions.";
    StringTooLong Invalid "22001" "Text is longer than its column allows.";
    BitLengthMismatch Invalid "22026" "A string of bits is not as long as its type says.";
    LogarithmArgument Invalid "2201E" "A logarithm of zero or of a negative number.";
    NtileArgument Invalid "22014" "The number of buckets of ntile is not above zero.";
    FrameOffset Invalid "22013" "The offset of a window's frame is negative.";
    NthValueArgument Invalid "22016" "The number of a row of nth_value is not above zero.";
    PowerArgument Invalid "2201F" "A root of a negative number, or a power that there is not.";
    InvalidRegularExpression Invalid "2201B" "A pattern is no regular expression.";
    InvalidEscapeSequence Invalid "22025" "A pattern ends with its escape character, or that is none.";
    InvalidUseOfEscape Invalid "2200C" "An escape character stands where it may not.";
    NullNotAllowed Invalid "22004" "NULL stands where a value must be.";
    WidthBucketArgument Invalid "2201G" "The bounds or the number of buckets of width_bucket are none.";
    Substring Invalid "22011" "The length of a substring is negative.";
    InvalidParameterValue Invalid "22023" "A setting or argument has a value that it cannot have.";
    JsonMemberNotFound Invalid "2203A" "A path asks for a key that an object has not.";
    JsonArrayNotFound Invalid "22039" "A path asks for elements of what is no array.";
    JsonObjectNotFound Invalid "2203C" "A path asks for keys of what is no object.";
    JsonNumberNotFound Invalid "2203B" "A path computes with what is no number.";
    JsonSubscript Invalid "22033" "A path asks for an element that an array has not.";
    JsonNonNumeric Invalid "22036" "A path's method takes a number, and gets something else.";
    JsonSingletonRequired Invalid "22038" "A path gives several items, or none, where one is needed.";
    JsonSeveralItems Invalid "22034" "A path gives several items where one is needed.";
    JsonNoItem Invalid "22035" "A path finds nothing where something is needed.";
    JsonScalarRequired Invalid "2203F" "A path gives an array or an object where a scalar is needed.";
    JsonDatetime Invalid "22031" "A path reads a text as a date or time, which it is not.";
    SnapshotTooOld Invalid "72000" "What the snapshot shows is not kept any more.";
    InvalidRowCount Invalid "2201W" "LIMIT is negative.";
    InvalidRowOffset Invalid "2201X" "OFFSET is negative.";
    CharacterNotInRepertoire Invalid "22021" "Bytes are not valid UTF-8.";
    BadCopyFormat Invalid "22P04" "A line of a COPY file does not fit the table.";
    DuplicateAlias Invalid "42712" "A name stands for two relations of one statement.";
    CardinalityViolation Invalid "21000" "A row is touched twice, or a subquery returns more than one row.";
    NotNullViolation Invalid "23502" "NULL in a NOT NULL column.";
    ForeignKeyViolation Invalid "23503" "A row refers to one that is not there, or is referred to.";
    UniqueViolation Invalid "23505" "The key exists already.";
    CheckViolation Invalid "23514" "A CHECK constraint is false.";
    CheckOptionViolation Invalid "44000" "A new row is none that the view would show.";
    ActiveTransaction Invalid "25001" "Not allowed inside a transaction block.";
    ReadOnlyTransaction Invalid "25006" "The transaction is read-only.";
    NoActiveTransaction Invalid "25P01" "There is no transaction to end.";
    FailedTransaction Invalid "25P02" "The transaction is aborted; only ROLLBACK is accepted.";
    StatementTooComplex Limit "54001" "The statement is nested too deeply.";
    InvalidName Invalid "42602" "A label is none: it is too long.";
    ProgramLimit Limit "54000" "A size or count limit was passed.";
    DiskFull Limit "53100" "No space is left on the device.";
    OutOfMemory Limit "53200" "The memory budget is used up.";
    TooManyTransactions Limit "53300" "No slot became free in time.";
    QueryCanceled Unavailable "57014" "The statement was cancelled.";
    CannotConnectNow Unavailable "57P03" "The directory is in use by another process.";
    ShuttingDown Closed "57P01" "The database is closing.";
    Poisoned Closed "57P02" "A failed fsync or job stopped the engine; reopen the database.";
    Io Unavailable "58030" "The operating system reported an I/O error.";
    DataCorrupted Corrupt "XX001" "Stored data fails its checksum or contradicts itself.";
    VersionMismatch Corrupt "XX002" "The directory was written in a format this release does not read.";
    Internal Internal "XX000" "A bug in Weft.";
}

/// The most bytes of a message or hint.
const TEXT_BYTES_MAX: usize = 2048;

/// What went wrong, to which object, and what the caller can do.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    code: Code,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<usize>,
    table: Option<String>,
    column: Option<String>,
    constraint: Option<String>,
}

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with a message; the message names the object.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            code,
            message: bounded(message.into()),
            detail: None,
            hint: None,
            position: None,
            table: None,
            column: None,
            constraint: None,
        }))
    }

    /// Damaged bytes: says which file or block and what contradicts what.
    pub fn corrupt(message: impl Into<String>) -> Error {
        Error::new(Code::DataCorrupted, message)
    }

    /// A bug in Weft.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(Code::Internal, message)
    }

    /// An I/O error while doing `what`; a full disk gets its own code.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Error {
        let (code, hint) = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                (Code::DiskFull, "free space on the device and try again")
            }
            _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => {
                (Code::Io, "no handle for a file is left: raise `ulimit -n`, or let fewer clients in")
            }
            std::io::ErrorKind::NotFound => (Code::UndefinedFile, "check that the file is there"),
            _ => (Code::Io, "check what is at that path, its permissions and the device"),
        };
        Error::new(code, format!("{what}: {error}")).hint(hint)
    }

    /// Adds more about what happened.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(bounded(detail.into()));
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(bounded(hint.into()));
        self
    }

    /// Adds the place in the statement: characters from its start, counted from 1.
    #[must_use]
    pub fn at(mut self, position: usize) -> Error {
        self.0.position = Some(position);
        self
    }

    /// Adds the names of the table, and the column or constraint, that the error is about.
    #[must_use]
    pub fn about(mut self, table: &str, column: Option<&str>, constraint: Option<&str>) -> Error {
        self.0.table = Some(table.into());
        self.0.column = column.map(Into::into);
        self.0.constraint = constraint.map(Into::into);
        self
    }

    /// The specific code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The caller's move.
    pub fn kind(&self) -> ErrorKind {
        self.0.code.kind()
    }

    /// Five characters, as PostgreSQL's drivers expect them.
    pub fn sqlstate(&self) -> &'static str {
        self.0.code.sqlstate()
    }

    /// Whether the same transaction may succeed when it is run again.
    pub fn is_retryable(&self) -> bool {
        self.kind() == ErrorKind::Conflict
    }

    /// What happened, to which object.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// More about what happened.
    pub fn detail_text(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// The remedy, when one is known.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Characters from the start of the statement, counted from 1.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }

    /// The table the error is about.
    pub fn table(&self) -> Option<&str> {
        self.0.table.as_deref()
    }

    /// The column the error is about.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// The constraint the error is about.
    pub fn constraint(&self) -> Option<&str> {
        self.0.constraint.as_deref()
    }
}

/// A message that quotes a value of megabytes is cut: it is read by people, logged, and sent to clients.
fn bounded(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push_str("... (cut)");
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0.message, self.sqlstate())?;
        if let Some(detail) = &self.0.detail {
            write!(f, "; detail: {detail}")?;
        }
        match &self.0.hint {
            Some(hint) => write!(f, "; hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
