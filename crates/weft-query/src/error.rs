//! Errors of the query engine, as Weft's.
//!
//! ```text
//!   Plan("table 'x' not found")                     → 42P01 relation "x" does not exist
//!   SchemaError(FieldNotFound { field: t.b, .. })   → 42703 column "t.b" does not exist, at its span
//!   ArrowError(DivideByZero)                        → 22012 division by zero
//! ```
//!
//! 1. A Weft error that travels through the engine (from a scan, a cancellation) comes out unchanged.
//! 2. What cannot be placed is [`Code::Internal`] only when the engine itself says "internal"; else it is the
//!    statement's fault and has a code of class 22 or 42.

use arrow::error::ArrowError;
use datafusion::common::{Column, DataFusionError, SchemaError};
use weft_format::{Code, Error};

use weft_sql::queries::names::MARKER;

/// A Weft error, wrapped so that it passes through the query engine.
pub(crate) fn wrap(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The error of the engine as Weft's; `text` is the statement, for the position.
pub(crate) fn unwrap(error: DataFusionError, text: &str) -> Error {
    let span = error.diagnostic().and_then(|diagnostic| diagnostic.span);
    let out = with_remedy(convert(error));
    match span.and_then(|span| position(text, span.start.line, span.start.column)) {
        Some(at) if out.position().is_none() => out.at(at),
        _ => out,
    }
}

/// The same for what is wrong with a query whose names were all found: rules of the engine lost some on their way.
pub(crate) fn unwrap_planned(error: DataFusionError, text: &str) -> Error {
    let error = unwrap(error, text);
    match error.code() {
        Code::UndefinedColumn | Code::UndefinedTable | Code::AmbiguousColumn => lost_subquery(),
        _ => error,
    }
}

/// The relation that an error says is missing.
pub(super) fn missing_relation(error: &DataFusionError) -> Option<&str> {
    match error.find_root() {
        DataFusionError::SchemaError(inner, _) => match &**inner {
            SchemaError::FieldNotFound { field, valid_fields } => missing_table(field, valid_fields),
            _ => None,
        },
        _ => None,
    }
}

/// The column without a table that an error says is missing.
pub(super) fn missing_column(error: &DataFusionError) -> Option<&str> {
    match error.find_root() {
        DataFusionError::SchemaError(inner, _) => match &**inner {
            SchemaError::FieldNotFound { field, .. } if field.relation.is_none() => Some(&field.name),
            _ => None,
        },
        _ => None,
    }
}

/// A relation stands where a value does.
pub(super) fn whole_row(name: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("a row of \"{name}\" as a value is not supported"))
        .hint("name its columns")
}

/// The table of a column, if none of the columns that are there is of it.
fn missing_table<'a>(field: &'a Column, known: &[Column]) -> Option<&'a str> {
    let table = field.relation.as_ref()?.table();
    let is_there = |known: &Column| known.relation.as_ref().is_some_and(|relation| relation.table() == table);
    (!known.iter().any(is_there)).then_some(table)
}

/// A subquery that names what is around the query around it.
pub(super) fn too_far() -> Error {
    let message = "a subquery that refers to the outer query is not supported over more than one level";
    Error::new(Code::FeatureNotSupported, message).hint("write a join")
}

/// The engine's own messages say what is wrong, not what to do.
fn with_remedy(error: Error) -> Error {
    let hint = match error.code() {
        _ if error.hint_text().is_some() => return error,
        Code::UndefinedFunction => "check the name and the number and types of the arguments; cast them where needed",
        Code::InvalidText | Code::InvalidDatetime | Code::DatatypeMismatch => {
            "correct the value, or cast to a type that it has"
        }
        Code::InvalidParameterValue => "correct the argument",
        _ => return error,
    };
    error.hint(hint)
}

/// Characters from the start of the text, counted from 1, of a line and column counted from 1.
fn position(text: &str, line: u64, column: u64) -> Option<usize> {
    if line == 0 || column == 0 {
        return None;
    }
    let before: usize = text.split_inclusive('\n').take(line as usize - 1).map(|l| l.chars().count()).sum();
    let at = before + column as usize;
    (at <= text.chars().count() + 1).then_some(at)
}

fn convert(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(inner) => match inner.downcast::<DataFusionError>() {
                Ok(error) => convert(*error),
                Err(inner) => by_text(&inner.to_string()),
            },
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => convert(*inner),
        DataFusionError::Collection(mut errors) if !errors.is_empty() => convert(errors.swap_remove(0)),
        DataFusionError::Shared(shared) => match std::sync::Arc::try_unwrap(shared) {
            Ok(error) => convert(error),
            Err(shared) => by_reference(&shared),
        },
        DataFusionError::ArrowError(inner, _) => arrow(*inner),
        DataFusionError::SchemaError(inner, _) => schema(&inner),
        DataFusionError::SQL(inner, _) => Error::new(Code::SyntaxError, inner.to_string()),
        DataFusionError::NotImplemented(message) => not_implemented(&message),
        DataFusionError::ResourcesExhausted(message) => {
            Error::new(Code::OutOfMemory, format!("the query needs more memory than it may use: {message}"))
                .hint("raise memory_limit, or make the query touch less at once")
        }
        DataFusionError::IoError(error) => Error::io("the query's temporary files", &error),
        DataFusionError::ExecutionJoin(join) if join.is_panic() => Error::internal(format!("a query panicked: {join}")),
        DataFusionError::ExecutionJoin(join) => Error::internal(format!("a query task ended early: {join}")),
        DataFusionError::Internal(message) => internal(&message),
        DataFusionError::Plan(message) => plan(&message),
        other => by_text(&other.to_string()),
    }
}

/// An error that several streams share: only its text and its wrapped Weft error can be read.
fn by_reference(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(error) => error.clone(),
            None => by_text(&inner.to_string()),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => by_reference(inner),
        DataFusionError::Shared(inner) => by_reference(inner),
        DataFusionError::SchemaError(inner, _) => schema(inner),
        DataFusionError::ResourcesExhausted(message) => Error::new(Code::OutOfMemory, message.clone()),
        DataFusionError::Internal(message) => internal(message),
        DataFusionError::Plan(message) => plan(message),
        other => by_text(&other.to_string()),
    }
}

fn arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::DivideByZero => Error::new(Code::DivisionByZero, "division by zero"),
        ArrowError::ArithmeticOverflow(message) => out_of_range(&message),
        ArrowError::ExternalError(inner) => match inner.downcast::<DataFusionError>() {
            Ok(error) => convert(*error),
            Err(inner) => match inner.downcast::<Error>() {
                Ok(error) => *error,
                Err(inner) => by_text(&inner.to_string()),
            },
        },
        ArrowError::NotYetImplemented(message) => not_implemented(&message),
        other => by_text(&other.to_string()),
    }
}

/// What the engine takes for its own fault; some of it is a plan that it does not know.
fn internal(message: &str) -> Error {
    let unplanned = ["Ordering direction required for DISTINCT", "Physical input schema should be the same"];
    if unplanned.iter().any(|words| message.contains(words)) {
        not_implemented(message)
    } else {
        Error::internal(message)
    }
}

fn out_of_range(message: &str) -> Error {
    if message.contains("to Decimal128(38, 10)") {
        return weft_expr::text::decimal_overflow(38, 10);
    }
    Error::new(Code::NumericOutOfRange, format!("a number is out of range of its type: {message}"))
}

fn schema(error: &SchemaError) -> Error {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let name = field.flat_name();
            // Names that the planner gave: it lost the way between a subquery and the query around it.
            if name.contains(MARKER) || name.contains("__correlated_sq") || name.contains("__scalar_sq") {
                return lost_subquery();
            }
            if let Some(table) = missing_table(field, valid_fields) {
                let message = format!("missing FROM-clause entry for table \"{table}\"");
                return Error::new(Code::UndefinedTable, message);
            }
            let error = Error::new(Code::UndefinedColumn, format!("column \"{name}\" does not exist"));
            let mut names: Vec<&str> = valid_fields.iter().map(|column| column.name.as_str()).collect();
            names.dedup();
            names.retain(|name| !name.contains('\u{1}'));
            match names.is_empty() || names.len() > 20 {
                true => error,
                false => error.hint(format!("the columns here are {}", names.join(", "))),
            }
        }
        SchemaError::AmbiguousReference { field } => {
            Error::new(Code::AmbiguousColumn, format!("column reference \"{}\" is ambiguous", field.name))
                .hint("write the table's name or alias before it")
        }
        // The engine names aggregates without the casts in them.
        SchemaError::DuplicateUnqualifiedField { name } if name.contains('(') => {
            let message = format!("aggregates that differ in casts only are not supported beside each other: {name}");
            Error::new(Code::FeatureNotSupported, message).hint("cast in a subquery, and aggregate what it gives")
        }
        SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
            let message = format!("column \"{name}\" twice in one place is not supported");
            Error::new(Code::FeatureNotSupported, message).hint("name it once, or give one an alias in a subquery")
        }
    }
}

fn lost_subquery() -> Error {
    Error::new(Code::FeatureNotSupported, "a subquery that refers to the outer query is not supported here")
        .hint("write a join")
}

fn not_implemented(message: &str) -> Error {
    if message.contains("OuterReferenceColumn") {
        return lost_subquery();
    }
    Error::new(Code::FeatureNotSupported, first_line(message))
}

fn first_line(message: &str) -> &str {
    message.split("\n\nbacktrace:").next().unwrap_or(message).trim_end()
}

/// Whether a message, in small letters, tells of what the engine's own rules cannot plan or run.
fn is_unplanned(lower: &str) -> bool {
    const WORDS: [&str; 10] = [
        "this feature is not implemented",
        "order by expressions must appear in argument list",
        "does not satisfy order requirements",
        "require unique expression names",
        "a mixed of outer references",
        "expects partition by expression to be ordered",
        "filter clause can only be used with aggregate window functions",
        "correlated scalar subquery must be aggregated",
        "can't compare arrays of different types",
        "window schema has wrong number of fields",
    ];
    WORDS.iter().any(|words| lower.contains(words))
}

/// Planning errors come as text; the words tell them apart.
fn plan(message: &str) -> Error {
    let lower = message.to_lowercase();
    let has = |words: &str| lower.contains(words);
    if is_unplanned(&lower) {
        return not_implemented(message);
    }
    let lost = ["correlated scalar subquery can only be used", "single expression required"];
    if lost.iter().any(|words| has(words)) {
        return lost_subquery();
    }
    if has("invalid function '") {
        let message = format!("function {} does not exist", quoted(message));
        return Error::new(Code::UndefinedFunction, message);
    }
    let code = if has("could not be resolved from available columns")
        || has("must appear in the group by clause")
        || has("aggregate function calls cannot be nested")
        || has("cannot contain window function calls")
        || has("aggregate functions are not allowed")
    {
        Code::GroupingError
    } else if has("cannot coerce arithmetic expression") {
        Code::UndefinedFunction
    } else if has("non-boolean predicate")
        || has("inconsistent data type across values")
        || has("user-defined coercion failed") && (has("'coalesce'") || has("'greatest'") || has("'least'"))
    {
        Code::DatatypeMismatch
    } else if has("order by column out of bounds") || has("group by position") {
        Code::InvalidColumnReference
    } else if has("limit must be >=") {
        Code::InvalidRowCount
    } else if has("offset must be >=") {
        Code::InvalidRowOffset
    } else if (has("expected limit") || has("expected offset")) && has("utf8") {
        Code::InvalidText
    } else if has("invalid function") || has("no function matches") || has("there is no udf") {
        Code::UndefinedFunction
    } else if has("no field named") || has("column") && has("not found") {
        Code::UndefinedColumn
    } else if has("ambiguous") {
        Code::AmbiguousColumn
    } else if has("table") && has("not found") {
        Code::UndefinedTable
    } else if has("must contain only one column") || has("too many columns") || has("should only return one column") {
        Code::SyntaxError
    } else if has("placeholder") || has("no value found for") {
        Code::UndefinedParameter
    } else if has("cannot coerce")
        || has("coercion")
        || has("cannot infer common")
        || has("type mismatch")
        || has("incompatible")
        || has("must be boolean")
        || has("can not be cast")
        || has("cannot cast")
    {
        return by_text(message);
    } else if has("unsupported") || has("not supported") || has("not implemented") {
        Code::FeatureNotSupported
    } else {
        Code::SyntaxError
    };
    Error::new(code, first_line(message))
}

/// The first text between single quotes.
fn quoted(message: &str) -> &str {
    message.split('\'').nth(1).unwrap_or("")
}

fn is_whole(text: &str) -> bool {
    let digits = text.trim().trim_start_matches(['-', '+']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text has the form of a date, `2013-02-30`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.trim().split('-').collect();
    parts.len() == 3 && parts.iter().all(|part| is_whole(part))
}

/// Errors whose words are enough, in small letters.
fn by_words(lower: &str) -> Option<Error> {
    let has = |words: &str| lower.contains(words);
    Some(if has("square root of a negative number") {
        Error::new(Code::PowerArgument, "cannot take square root of a negative number")
    } else if has("zero raised to a negative power") {
        Error::new(Code::PowerArgument, "zero raised to a negative power is undefined")
    } else if has("factorial of a negative number") {
        Error::new(Code::NumericOutOfRange, "factorial of a negative number is undefined")
    } else if has("cannot access field at argument") {
        let what = "a name before a point that is a relation of the outer query and a column of this one";
        Error::new(Code::FeatureNotSupported, format!("{what} is not supported"))
            .hint("give the relation of the outer query an alias that no column has")
    } else {
        return None;
    })
}

/// Everything else comes as text, too.
fn by_text(message: &str) -> Error {
    let lower = message.to_lowercase();
    let has = |words: &str| lower.contains(words);
    let read = quoted(message);
    if let Some(error) = by_words(&lower) {
        return error;
    }
    let code = if is_unplanned(&lower) {
        return not_implemented(message);
    } else if has("divide by zero") || has("division by zero") {
        return Error::new(Code::DivisionByZero, "division by zero");
    } else if has("field position must not be zero") {
        return Error::new(Code::InvalidParameterValue, "field position must not be zero");
    } else if has("to value of decimal")
        && ["nan", "infinity", "-infinity", "inf", "-inf"].contains(&read.to_lowercase().trim())
    {
        return Error::new(Code::FeatureNotSupported, format!("numeric cannot hold \"{read}\""));
    } else if has("negative count not allowed") {
        return Error::new(Code::Substring, "negative substring length not allowed");
    } else if has("invalid unicode scalar value") {
        return Error::new(Code::ProgramLimit, "requested character not valid for encoding");
    } else if has("month value") || has("day value") || has("unable to parse date from") {
        return Error::new(Code::DatetimeOverflow, format!("date field value out of range: {}", first_line(message)));
    } else if has("more than one row") {
        return Error::new(Code::CardinalityViolation, "a subquery used as an expression returned more than one row");
    } else if has("overflow") || has("out of range") || has("too large to store") || has("can't cast value") {
        return out_of_range(first_line(message));
    } else if has("cannot cast string") && has("to value of int") && is_whole(read) {
        Code::NumericOutOfRange
    } else if has("to value of date") && is_date(read) {
        Code::DatetimeOverflow
    } else if has("error parsing timestamp")
        || has("error parsing date")
        || has("to value of date")
        || has("to value of timestamp")
    {
        Code::InvalidDatetime
    } else if has("cannot cast string")
        || has("cannot parse")
        || has("error parsing")
        || has("to value of")
        || has("invalid interval")
        || has("invalid input syntax")
    {
        Code::InvalidText
    } else if has("cannot coerce")
        || has("coercion")
        || has("cannot infer common")
        || has("type mismatch")
        || has("can not be cast")
        || has("cast")
        || has("incompatible")
        || has("must be boolean")
    {
        Code::DatatypeMismatch
    } else if has("regex") || has("regular expression") || has("must be") || has("invalid") {
        Code::InvalidParameterValue
    } else if has("unsupported") || has("not supported") || has("not implemented") {
        Code::FeatureNotSupported
    } else {
        Code::Internal
    };
    Error::new(code, first_line(message))
}
