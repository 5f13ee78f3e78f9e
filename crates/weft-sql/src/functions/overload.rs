//! Which function of users a call means, by the types of its arguments.
//!
//! ```text
//!   f(integer), f(text)      f(1)   the first        f('x'), f($1)   the second: a literal is a text, if it may be
//!   f(a int, b int = 7)      f(1), f(b => 2, a => 1), f(1, b => 2)
//! ```
//!
//! Source: PostgreSQL's documentation, sections 10.3 and 4.3.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, ObjectName};
use weft_expr::builtins::{category_of, is_implicit_cast, is_same};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{ObjectKind, SchemaId, Transaction};

use super::definition::{Function, plain_type_of};
use super::scope::Typing;
use crate::parse::{ArgumentMode, fold, table_name};
use crate::resolve;

/// An argument of a call: its name, if it has one, and its expression.
pub(crate) type Given = (Option<String>, Expr);

/// The arguments of a call; none when it has others than expressions.
pub(crate) fn given(args: &[FunctionArg]) -> Option<Vec<Given>> {
    let one = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some((None, expr.clone())),
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(expr), .. } => Some((Some(fold(name)), expr.clone())),
        FunctionArg::ExprNamed { name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(expr), .. } => {
            Some((Some(fold(name)), expr.clone()))
        }
        _ => None,
    };
    args.iter().map(one).collect()
}

/// A function that a call may mean.
pub(crate) struct Candidate {
    pub(crate) function: Function,
    /// The types of its arguments.
    pub(crate) types: Vec<DataType>,
    /// Of each argument which of the call is it; none: its default.
    pub(crate) places: Vec<Option<usize>>,
    /// How many of the call are elements of its last argument.
    pub(crate) variadic: Option<usize>,
}

/// The functions of a name, along the search path.
pub(crate) fn named(txn: &Transaction, name: &ObjectName) -> Result<Vec<Function>> {
    let name = table_name(name)?;
    let (schema, own) = resolve::split(&name);
    let path: Vec<SchemaId> = match schema {
        Some(schema) => vec![resolve::schema_of(txn, schema).ok_or_else(|| resolve::no_schema(schema))?],
        None => txn.search_path().to_vec(),
    };
    let mut found = Vec::new();
    for (object, _) in txn.objects_of(ObjectKind::Function) {
        // The name of the object has the types of the arguments.
        let begins = object.name.strip_prefix(own).is_some_and(|rest| rest.starts_with('('));
        if begins && path.contains(&object.namespace) {
            let function = Function::of(&object)?;
            if function.name == own {
                found.push(function);
            }
        }
    }
    let place = |function: &Function| path.iter().position(|schema| *schema == function.namespace);
    found.sort_by_key(|function| place(function));
    Ok(found)
}

/// The error of a call that means no function.
pub(crate) fn undefined(name: &str, given: &[Given], types: &[Typing]) -> Error {
    let shown = |(given, typing): (&Given, &Typing)| {
        let data_type = match typing {
            Typing::Known(data_type) => crate::text::type_name(*data_type).to_string(),
            _ => "unknown".to_owned(),
        };
        given.0.as_ref().map_or(data_type.clone(), |name| format!("{name} => {data_type}"))
    };
    let args: Vec<String> = given.iter().zip(types).map(shown).collect();
    let message = format!("function {name}({}) does not exist", args.join(", "));
    let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
    Error::new(Code::UndefinedFunction, message).hint(hint)
}

/// What a call means of some functions. An error when it is ambiguous.
pub(crate) fn choose(
    txn: &Transaction,
    functions: Vec<Function>,
    given: &[Given],
    types: &[Typing],
) -> Result<Option<Candidate>> {
    let mut left: Vec<Candidate> = Vec::new();
    for function in functions {
        if let Some(candidate) = candidate(txn, function, given)?
            && fits(&candidate, types)
        {
            // One that is found before hides those of the same arguments.
            let is_hidden = left.iter().any(|known| known.types == candidate.types);
            if !is_hidden {
                left.push(candidate);
            }
        }
    }
    // Without defaults and elements comes first.
    let plain = |candidate: &Candidate| candidate.places.iter().all(Option::is_some) && candidate.variadic.is_none();
    let exact = |candidate: &Candidate| count(candidate, types, is_same);
    if left.len() > 1 && types.contains(&Typing::Unclear) {
        return Err(ambiguous(&left, given, types));
    }
    if left.len() > 1 {
        keep_best(&mut left, exact);
        keep_best(&mut left, |candidate| {
            count(candidate, types, |given, taken| {
                let (category, preferred) = category_of(taken);
                is_same(given, taken) || preferred && category == category_of(given).0
            })
        });
    }
    for (at, typing) in types.iter().enumerate() {
        if left.len() > 1 && *typing == Typing::Untyped {
            settle_literal(&mut left, at);
        }
    }
    if left.len() > 1 && left.iter().any(plain) {
        left.retain(plain);
    }
    if left.len() > 1 {
        settle_by_others(&mut left, types);
    }
    match left.len() {
        0 => Ok(None),
        1 => Ok(left.pop()),
        _ => Err(ambiguous(&left, given, types)),
    }
}

fn ambiguous(left: &[Candidate], given: &[Given], types: &[Typing]) -> Error {
    let name = left.first().map_or("", |candidate| &candidate.function.name);
    let missing = undefined(name, given, types);
    let message = missing.message().replace(" does not exist", " is not unique");
    let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
    Error::new(Code::AmbiguousFunction, message).hint(hint)
}

/// How a call gives the arguments of a function; none when it does not.
fn candidate(txn: &Transaction, function: Function, given: &[Given]) -> Result<Option<Candidate>> {
    let inputs: Vec<_> = function.inputs().cloned().collect();
    let mut types = Vec::with_capacity(inputs.len());
    for input in &inputs {
        types.push(plain_type_of(txn, &input.data_type)?.0);
    }
    let mut places: Vec<Option<usize>> = vec![None; inputs.len()];
    let positional = given.iter().take_while(|(name, _)| name.is_none()).count();
    if given.iter().skip(positional).any(|(name, _)| name.is_none()) {
        let message = "positional argument cannot follow named argument";
        return Err(Error::new(Code::SyntaxError, message));
    }
    let is_variadic = inputs.last().is_some_and(|input| input.mode == ArgumentMode::Variadic);
    let mut variadic = None;
    if is_variadic && positional >= inputs.len() {
        variadic = Some(positional + 1 - inputs.len());
    } else if positional > inputs.len() {
        return Ok(None);
    }
    let direct = if variadic.is_some() { inputs.len() } else { positional };
    (0..direct).for_each(|at| places[at] = Some(at));
    for (at, (name, _)) in given.iter().enumerate().skip(positional) {
        let place = inputs.iter().position(|input| input.name == *name);
        match place {
            Some(place) if places[place].is_none() => places[place] = Some(at),
            _ => return Ok(None),
        }
    }
    let is_whole = places.iter().zip(&inputs).all(|(place, input)| place.is_some() || input.default.is_some());
    Ok(is_whole.then_some(Candidate { function, types, places, variadic }))
}

/// The type that takes an argument of the call.
fn taker(candidate: &Candidate, at: usize) -> Option<DataType> {
    let last = candidate.types.len().checked_sub(1)?;
    if candidate.variadic.is_some() && at >= last {
        return candidate.types[last].element();
    }
    let place = candidate.places.iter().position(|place| *place == Some(at))?;
    Some(candidate.types[place])
}

fn fits(candidate: &Candidate, types: &[Typing]) -> bool {
    types.iter().enumerate().all(|(at, typing)| match (typing, taker(candidate, at)) {
        (Typing::Known(given), Some(taken)) => is_implicit_cast(*given, taken),
        (_, taken) => taken.is_some(),
    })
}

fn count(candidate: &Candidate, types: &[Typing], holds: impl Fn(DataType, DataType) -> bool) -> usize {
    let is_one = |(at, typing): &(usize, &Typing)| match (typing, taker(candidate, *at)) {
        (Typing::Known(given), Some(taken)) => holds(*given, taken),
        _ => false,
    };
    types.iter().enumerate().filter(is_one).count()
}

fn keep_best(left: &mut Vec<Candidate>, score: impl Fn(&Candidate) -> usize) {
    let best = left.iter().map(&score).max().unwrap_or(0);
    left.retain(|candidate| score(candidate) == best);
}

/// Keeps those that a literal without a type at a place means.
fn settle_literal(left: &mut Vec<Candidate>, at: usize) {
    let category = |candidate: &Candidate| taker(candidate, at).map(category_of);
    let all: Vec<_> = left.iter().filter_map(category).collect();
    let of_all = if all.iter().any(|(category, _)| *category == 'S') {
        'S'
    } else if all.iter().all(|(category, _)| *category == all[0].0) {
        all[0].0
    } else {
        return;
    };
    let preferred = all.iter().any(|(category, preferred)| *category == of_all && *preferred);
    left.retain(|candidate| {
        category(candidate).is_some_and(|(category, is_preferred)| category == of_all && (!preferred || is_preferred))
    });
}

/// Literals have the type of the others, if these have one and the same.
fn settle_by_others(left: &mut Vec<Candidate>, types: &[Typing]) {
    let mut known = types.iter().filter_map(|typing| match typing {
        Typing::Known(data_type) => Some(*data_type),
        _ => None,
    });
    if let Some(first) = known.next()
        && known.all(|other| is_same(first, other))
    {
        let all = vec![Typing::Known(first); types.len()];
        keep_best(left, |candidate| count(candidate, &all, is_same));
    }
}
