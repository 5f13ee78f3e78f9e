//! Which function of a name a call means, by the types of its arguments.
//!
//! ```text
//!   to_char(date, untyped)      timestamp and timestamptz take a date; timestamptz is preferred    (3)
//!   to_char(integer, untyped)   integer itself                                                     (1)
//!   lpad(untyped, integer)      a literal is a text where one of the candidates takes a text       (4)
//! ```
//!
//! 1. Candidates are those that take as many arguments, each of its type or of one that is cast to it implicitly.
//! 2. Of these, those with the most arguments of exactly their types;
//! 3. then those that take the most preferred types where a cast is needed;
//! 4. then, for literals without a type, those that take a text, if one does, else those of the one category that all
//!    take, and of these the preferred type;
//! 5. then literals have the type of the arguments that have one, if those have one and the same.
//! 6. When more than one is left nothing is found: the call is ambiguous.
//!
//! Source: PostgreSQL's documentation, section 10.3.

use weft_format::DataType;

use super::builtin::{Arg, Builtin, BuiltinRef, Gives};
use super::table::named;
use crate::routines::{Routine, Signature};
use crate::text::NUMERIC_DEFAULT;
use crate::types::{as_numeric, is_integer};

/// The function of a call; an argument without a type is a literal or a parameter. None when no function of the name
/// takes such arguments, or more than one does.
pub fn find(name: &str, given: &[Option<DataType>]) -> Option<Signature> {
    let mut left: Vec<&'static Builtin> = named(name).filter(|builtin| takes(builtin, given)).collect();
    if left.len() > 1 {
        keep_best(&mut left, |builtin| count(builtin, given, is_exact));
        keep_best(&mut left, |builtin| {
            count(builtin, given, |arg, given| {
                is_exact(arg, given) || is_preferred(arg) && category(arg) == category(Arg::Of(given))
            })
        });
    }
    if left.len() > 1 {
        for at in (0..given.len()).filter(|at| given[*at].is_none()) {
            settle_literal(&mut left, at);
        }
    }
    if left.len() > 1 {
        let mut known = given.iter().flatten();
        if let Some(first) = known.next()
            && known.all(|other| other == first)
        {
            let all = vec![Some(*first); given.len()];
            keep_best(&mut left, |builtin| count(builtin, &all, is_exact));
        }
    }
    match left[..] {
        [builtin] => builtin.signature(given),
        _ => None,
    }
}

/// What takes the argument at a place.
fn arg_at(builtin: &Builtin, at: usize) -> Arg {
    builtin.args[at.min(builtin.args.len() - 1)]
}

fn takes(builtin: &Builtin, given: &[Option<DataType>]) -> bool {
    let fits = if builtin.is_variadic { given.len() >= builtin.args.len() } else { given.len() == builtin.args.len() };
    let mut element: Option<DataType> = None;
    fits && given.iter().enumerate().all(|(at, given)| {
        let arg = arg_at(builtin, at);
        let Some(given) = *given else { return true };
        // Elements of all arrays are of one type, and so are those beside them.
        let of = match arg {
            Arg::AnyArray => given.element(),
            Arg::AnyElement | Arg::AnyEnum => Some(given),
            _ => None,
        };
        let agrees = of.is_none_or(|of| *element.get_or_insert(of) == of || arg == Arg::AnyElement);
        is_taken(arg, given) && agrees
    })
}

fn count(builtin: &Builtin, given: &[Option<DataType>], holds: fn(Arg, DataType) -> bool) -> usize {
    given.iter().enumerate().filter(|(at, given)| given.is_some_and(|given| holds(arg_at(builtin, *at), given))).count()
}

fn keep_best(left: &mut Vec<&'static Builtin>, score: impl Fn(&'static Builtin) -> usize) {
    let best = left.iter().map(|builtin| score(builtin)).max().unwrap_or(0);
    left.retain(|builtin| score(builtin) == best);
}

/// Keeps those that a literal without a type at a place means (resolve 4).
fn settle_literal(left: &mut Vec<&'static Builtin>, at: usize) {
    let categories: Vec<char> = left.iter().map(|builtin| category(arg_at(builtin, at))).collect();
    let category_of_all = if categories.contains(&'S') {
        'S'
    } else if categories.iter().all(|category| *category == categories[0]) {
        categories[0]
    } else {
        return;
    };
    let fits = |builtin: &&'static Builtin| category(arg_at(builtin, at)) == category_of_all;
    let preferred = left.iter().any(|builtin| fits(builtin) && is_preferred(arg_at(builtin, at)));
    left.retain(|builtin| fits(builtin) && (!preferred || is_preferred(arg_at(builtin, at))));
}

/// PostgreSQL's `typcategory`.
fn category(arg: Arg) -> char {
    match arg {
        Arg::Numeric => 'N',
        Arg::Any | Arg::AnyElement => 'P',
        Arg::AnyArray => 'A',
        Arg::AnyEnum => 'E',
        Arg::Of(data_type) => match data_type {
            DataType::Boolean => 'B',
            DataType::Text | DataType::Varchar(_) | DataType::Char(_) => 'S',
            DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz => 'D',
            DataType::Interval => 'T',
            DataType::Array(_) => 'A',
            DataType::Enum(_) => 'E',
            DataType::Bytea | DataType::Uuid | DataType::Json | DataType::Jsonb | DataType::JsonPath => 'U',
            DataType::Bit(_) | DataType::VarBit(_) => 'V',
            _ => 'N',
        },
    }
}

/// PostgreSQL's `typispreferred`.
fn is_preferred(arg: Arg) -> bool {
    use DataType::{Boolean, DoublePrecision, Interval, Oid, Text, TimestampTz, VarBit};
    matches!(arg, Arg::Of(Boolean | DoublePrecision | Interval | Oid | Text | TimestampTz | VarBit(_)))
}

fn is_exact(arg: Arg, given: DataType) -> bool {
    match arg {
        Arg::Of(DataType::Bit(_)) => matches!(given, DataType::Bit(_)),
        Arg::Of(DataType::VarBit(_)) => matches!(given, DataType::VarBit(_)),
        Arg::Of(data_type) => data_type == given,
        Arg::Numeric => matches!(given, DataType::Numeric { .. }),
        Arg::AnyArray | Arg::Any | Arg::AnyElement | Arg::AnyEnum => false,
    }
}

/// Whether a value of a type is given where one of another is taken, without a cast being written.
pub fn is_implicit_cast(from: DataType, to: DataType) -> bool {
    match to {
        DataType::Numeric { .. } => is_taken(Arg::Numeric, from),
        DataType::Bit(_) | DataType::VarBit(_) => from.is_bits(),
        to if to.is_text() => from.is_text(),
        DataType::Array(_) => is_same(from, to),
        to => is_implicit(from, to),
    }
}

/// Whether two types are the same but for lengths and digits.
pub fn is_same(one: DataType, other: DataType) -> bool {
    match (one, other) {
        (DataType::Numeric { .. }, DataType::Numeric { .. })
        | (DataType::Bit(_), DataType::Bit(_))
        | (DataType::VarBit(_), DataType::VarBit(_))
        | (DataType::Char(_), DataType::Char(_))
        | (DataType::Varchar(_) | DataType::Text, DataType::Varchar(_) | DataType::Text) => true,
        (DataType::Array(one), DataType::Array(other)) => is_same(one.data_type(), other.data_type()),
        _ => one == other,
    }
}

/// PostgreSQL's `typcategory` of a type, and whether it is preferred in it.
pub fn category_of(data_type: DataType) -> (char, bool) {
    (category(Arg::Of(data_type)), is_preferred(Arg::Of(data_type)))
}

/// Whether a value of a type is taken, with an implicit cast if need be.
fn is_taken(arg: Arg, given: DataType) -> bool {
    match arg {
        Arg::Of(to) => is_implicit(given, to),
        Arg::Numeric => matches!(given, DataType::Numeric { .. }) || is_integer(given),
        Arg::Any | Arg::AnyElement => true,
        Arg::AnyEnum => matches!(given, DataType::Enum(_)),
        Arg::AnyArray => given.element().is_some(),
    }
}

/// PostgreSQL's implicit casts.
fn is_implicit(from: DataType, to: DataType) -> bool {
    use DataType::{BigInt, Date, DoublePrecision, Integer, Interval, Numeric, Oid, Real, SmallInt, Time};
    use DataType::{Timestamp, TimestampTz};
    from == to
        || matches!(
            (from, to),
            (SmallInt, Integer | BigInt | Real | DoublePrecision | Oid)
                | (Integer, BigInt | Real | DoublePrecision | Oid)
                | (BigInt, Real | DoublePrecision | Oid)
                | (Numeric { .. }, Real | DoublePrecision)
                | (Real, DoublePrecision)
                | (Date, Timestamp | TimestampTz)
                | (Timestamp, TimestampTz)
                | (Time, Interval)
        )
        || (from.is_text() && to == DataType::Text)
        || (from.is_bits() && matches!(to, DataType::Bit(0) | DataType::VarBit(0)))
}

impl Builtin {
    /// Whether arguments of these types make a call that gives values of a type.
    pub(crate) fn is_call(&'static self, args: &[DataType], result: DataType) -> bool {
        let given: Vec<Option<DataType>> = args.iter().copied().map(Some).collect();
        takes(self, &given)
            && self.signature(&given).is_some_and(|signature| signature.args == args && signature.result == result)
    }

    /// The types that arguments, which it takes, are cast to, and what it gives then; none when there is no such type.
    pub fn signature(&'static self, given: &[Option<DataType>]) -> Option<Signature> {
        let element = given.iter().enumerate().find_map(|(at, given)| match arg_at(self, at) {
            Arg::AnyArray => given.and_then(DataType::element),
            _ => None,
        });
        let element = element.or_else(|| {
            let is_any = |at| matches!(arg_at(self, at), Arg::AnyElement | Arg::AnyEnum);
            given.iter().enumerate().find_map(|(at, given)| given.filter(|_| is_any(at)))
        });
        let element = element.unwrap_or(DataType::Text);
        let mut args = Vec::with_capacity(given.len());
        for (at, given) in given.iter().enumerate() {
            args.push(match (arg_at(self, at), given) {
                (Arg::Of(data_type), _) => data_type,
                (Arg::Numeric, Some(given)) => {
                    let (precision, scale) = as_numeric(*given)?;
                    DataType::Numeric { precision, scale }
                }
                (Arg::Numeric, None) => NUMERIC_DEFAULT,
                (Arg::Any, given) => given.unwrap_or(DataType::Text),
                (Arg::AnyArray, _) => element.array()?,
                (Arg::AnyElement, _) => element,
                (Arg::AnyEnum, _) if matches!(element, DataType::Enum(_)) => element,
                (Arg::AnyEnum, _) => return None,
            });
        }
        let result = match self.gives {
            Gives::Of(data_type) => data_type,
            Gives::By(gives) => gives(&args),
        };
        Some(Signature { routine: Routine::Builtin(BuiltinRef(self)), args, result })
    }
}
