//! Parts of columns that are assigned, which the SQL parser does not know.
//!
//! ```text
//!   SET tags[2] = 'x', meta['a'][0] = '1', tags[5:6] = y
//!     to the parser     SET tags."␁[2]" = 'x', meta."␁['a'][0]" = '1', tags."␁[5:6]" = y
//!     then              SET tags = "␁parts"("␁part"('x', (NULL)[2]), "␁part"(y, (NULL)[5:6])),
//!                           meta = "␁parts"("␁part"('1', (NULL)['a'][0]))
//!   INSERT INTO t (a[1], a[2]) VALUES (x, y)     INSERT INTO t (a) VALUES ("␁parts"(...))
//! ```
//!
//! `␁` is a character that names do not have. A column's parts are assigned one after the other.

use sqlparser::ast::{
    AccessExpr, Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    ObjectNamePart,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use weft_format::{Code, Error, Result};

use super::lexemes::{keyword, next};
use super::names::fold;

/// What the subscripts of a target begin with, as a name behind the column's.
const MARK: &str = "\u{1}[";
const PARTS: &str = "\u{1}parts";
const PART: &str = "\u{1}part";

/// One part of a column that is assigned.
pub(crate) struct Part<'a> {
    /// What leads to it, from the outside.
    pub(crate) subscripts: &'a [AccessExpr],
    /// Its value.
    pub(crate) value: &'a Expr,
}

/// The parts that a value in SET or VALUES stands for; none: it is a plain value.
pub(crate) fn parts_of(value: &Expr) -> Option<Vec<Part<'_>>> {
    let part = |arg| match args_of(arg, PART)?.as_slice() {
        [value, Expr::CompoundFieldAccess { access_chain, .. }] => Some(Part { subscripts: access_chain, value }),
        _ => None,
    };
    args_of(value, PARTS)?.into_iter().map(part).collect()
}

fn args_of<'a>(expr: &'a Expr, name: &str) -> Option<Vec<&'a Expr>> {
    let Expr::Function(function) = expr else { return None };
    let [ObjectNamePart::Identifier(known)] = function.name.0.as_slice() else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let arg = |arg: &'a FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    };
    if known.value == name { list.args.iter().map(arg).collect() } else { None }
}

/// Writes the subscripts of targets as names.
pub(super) fn with_named_subscripts(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has = |wanted: Keyword| tokens.iter().any(|token| keyword(token) == wanted);
    if !tokens.iter().any(|token| token.token == Token::LBracket) || !has(Keyword::SET) && !has(Keyword::INSERT) {
        return tokens;
    }
    let mut at = 0;
    while at < tokens.len() {
        match keyword(&tokens[at]) {
            Keyword::SET => assignments(&mut tokens, at + 1),
            Keyword::INSERT => columns(&mut tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens
}

/// The targets of a SET.
fn assignments(tokens: &mut Vec<TokenWithSpan>, from: usize) {
    let mut at = from;
    loop {
        let Some(first) = next(tokens, at) else { return };
        let end = if tokens[first].token == Token::LParen { list(tokens, first) } else { target(tokens, first) };
        let Some(equals) = end.and_then(|end| next(tokens, end)) else { return };
        if tokens[equals].token != Token::Eq {
            return;
        }
        let Some(comma) = end_of_value(tokens, equals + 1) else { return };
        at = comma + 1;
    }
}

/// The comma behind a value, if one follows.
fn end_of_value(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let (mut depth, mut before) = (0usize, Keyword::NoKeyword);
    for (at, token) in tokens.iter().enumerate().skip(from) {
        let word = keyword(token);
        match token.token {
            Token::Whitespace(_) => continue,
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            Token::Comma if depth == 0 => return Some(at),
            _ => match word {
                Keyword::CASE => depth += 1,
                Keyword::END => depth = depth.checked_sub(1)?,
                Keyword::FROM if before == Keyword::DISTINCT => {}
                Keyword::FROM | Keyword::WHERE | Keyword::RETURNING | Keyword::WHEN if depth == 0 => return None,
                _ => {}
            },
        }
        before = word;
    }
    None
}

/// The columns of an INSERT.
fn columns(tokens: &mut Vec<TokenWithSpan>, insert: usize) {
    let mut at = insert + 1;
    while let Some(place) = next(tokens, at) {
        match &tokens[place].token {
            Token::LParen => {
                list(tokens, place);
                return;
            }
            Token::Period => {}
            Token::Word(word) if word.keyword != Keyword::VALUES && word.keyword != Keyword::SELECT => {}
            _ => return,
        }
        at = place + 1;
    }
}

/// Targets in parentheses: what is behind them.
fn list(tokens: &mut Vec<TokenWithSpan>, open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        let first = next(tokens, at)?;
        let end = target(tokens, first)?;
        let behind = next(tokens, end)?;
        match tokens[behind].token {
            Token::Comma => at = behind + 1,
            Token::RParen => return Some(behind + 1),
            _ => return None,
        }
    }
}

/// One target: what is behind it.
fn target(tokens: &mut Vec<TokenWithSpan>, first: usize) -> Option<usize> {
    let is_word = |at: usize, tokens: &[TokenWithSpan]| matches!(tokens[at].token, Token::Word(_));
    let mut last = first;
    if !is_word(first, tokens) {
        return None;
    }
    while let Some(period) = next(tokens, last + 1).filter(|at| tokens[*at].token == Token::Period) {
        last = next(tokens, period + 1).filter(|at| is_word(*at, tokens))?;
    }
    let open = next(tokens, last + 1)?;
    if tokens[open].token != Token::LBracket {
        return Some(last + 1);
    }
    let mut end = open;
    while let Some(open) = next(tokens, end).filter(|at| tokens[*at].token == Token::LBracket) {
        let mut depth = 0usize;
        let close = (open..tokens.len()).find(|at| {
            match tokens[*at].token {
                Token::LBracket => depth += 1,
                Token::RBracket => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        end = close? + 1;
    }
    // The tokenizer has taken the doubled quotes out of it.
    let written = |token: &TokenWithSpan| match &token.token {
        Token::SingleQuotedString(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    };
    let text: String = tokens[open..end].iter().map(written).collect();
    let span = tokens[open].span;
    let name = Word { value: format!("\u{1}{text}"), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let made = [Token::Period, Token::Word(name)].map(|token| TokenWithSpan { token, span });
    tokens.splice(last + 1..end, made);
    Some(last + 3)
}

/// The column of a target and the text of its subscripts.
fn subscripts(name: &ObjectName) -> Option<(ObjectName, &str)> {
    let (last, column) = name.0.split_last()?;
    let text = last.as_ident().map(|ident| ident.value.as_str()).filter(|text| text.starts_with(MARK))?;
    Some((ObjectName(column.to_vec()), &text[1..]))
}

/// One call for the parts that are assigned to a column, where the first of them stands.
pub(super) fn together(assignments: &mut Vec<Assignment>, read: &impl Fn(&str) -> Result<Expr>) -> Result<()> {
    let has_part = |assignment: &Assignment| match &assignment.target {
        AssignmentTarget::ColumnName(name) => subscripts(name).is_some(),
        AssignmentTarget::Tuple(names) => names.iter().any(|name| subscripts(name).is_some()),
    };
    if !assignments.iter().any(has_part) {
        return Ok(());
    }
    let mut made: Vec<Assignment> = Vec::with_capacity(assignments.len());
    for Assignment { target, value } in std::mem::take(assignments) {
        let AssignmentTarget::ColumnName(name) = &target else {
            let message = "assigning a subquery to parts of columns is not supported";
            return Err(Error::new(Code::FeatureNotSupported, message).hint("assign a subquery to each part"));
        };
        let Some((column, text)) = subscripts(name) else {
            made.push(Assignment { target, value });
            continue;
        };
        let part = part(value, text, read)?;
        let is_same = |known: &ObjectName| names(known) == names(&column);
        let before = made.iter_mut().find_map(|known| match &known.target {
            AssignmentTarget::ColumnName(name) if is_same(name) => args_mut(&mut known.value),
            _ => None,
        });
        match before {
            Some(args) => args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(part))),
            None => {
                let value = crate::expr::call(PARTS, vec![part]);
                made.push(Assignment { target: AssignmentTarget::ColumnName(column), value });
            }
        }
    }
    *assignments = made;
    Ok(())
}

/// The same for the columns and the rows of an INSERT.
pub(super) fn together_in_rows<'a>(
    columns: &mut Vec<ObjectName>,
    rows: impl Iterator<Item = &'a mut Vec<Expr>>,
    read: &impl Fn(&str) -> Result<Expr>,
) -> Result<()> {
    let given = std::mem::take(columns);
    columns.clone_from(&given);
    for row in rows {
        if row.len() != given.len() {
            let message = "INSERT has another number of target columns than expressions";
            return Err(Error::new(Code::SyntaxError, message));
        }
        let target = |name: &ObjectName| AssignmentTarget::ColumnName(name.clone());
        let pairs = given.iter().zip(std::mem::take(row));
        let mut assigned: Vec<Assignment> =
            pairs.map(|(name, value)| Assignment { target: target(name), value }).collect();
        together(&mut assigned, read)?;
        let name = |assignment: &Assignment| match &assignment.target {
            AssignmentTarget::ColumnName(name) => Some(name.clone()),
            AssignmentTarget::Tuple(_) => None,
        };
        *columns = assigned.iter().filter_map(name).collect();
        *row = assigned.into_iter().map(|assignment| assignment.value).collect();
    }
    Ok(())
}

/// Whether a list of columns has parts of some.
pub(super) fn has_parts(columns: &[ObjectName]) -> bool {
    columns.iter().any(|name| subscripts(name).is_some())
}

fn part(value: Expr, text: &str, read: &impl Fn(&str) -> Result<Expr>) -> Result<Expr> {
    if let Expr::Identifier(word) = &value
        && word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case("default")
    {
        return Err(Error::new(Code::FeatureNotSupported, "cannot set an array element to DEFAULT"));
    }
    let within = read(&format!("(NULL){text}"))?;
    Ok(crate::expr::call(PART, vec![value, within]))
}

fn names(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect()
}

fn args_mut(value: &mut Expr) -> Option<&mut Vec<FunctionArg>> {
    let is_parts = |name: &ObjectName| *name == ObjectName::from(vec![Ident::new(PARTS)]);
    match value {
        Expr::Function(function) if is_parts(&function.name) => match &mut function.args {
            FunctionArguments::List(list) => Some(&mut list.args),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};

    #[test]
    fn parts_of_a_column_are_assigned_together() {
        let cases = [
            (
                "UPDATE t SET a[1] = 2, b = c[3], a[2:3] = x",
                "UPDATE t SET a = parts(part(2, (NULL)[1]), part(x, (NULL)[2:3])), b = c[3]",
            ),
            (
                "UPDATE t SET b = a IS DISTINCT FROM c, a['x'][$1] = CASE WHEN d THEN 1 END, \
                 a[e + 1] = f RETURNING a, b[1] = 2",
                "UPDATE t SET b = a IS DISTINCT FROM c, a = parts(part(CASE WHEN d THEN 1 END, (NULL)['x'][$1]), \
                 part(f, (NULL)[e + 1])) RETURNING a, b[1] = 2",
            ),
            ("UPDATE t SET (a[1], b) = (1, 2)", "UPDATE t SET a = parts(part(1, (NULL)[1])), b = 2"),
            (
                "INSERT INTO t (a[1], b, a[2]) VALUES (1, 2, 3), (4, 5, 6)",
                "INSERT INTO t (a, b) VALUES (parts(part(1, (NULL)[1]), part(3, (NULL)[2])), 2), \
                 (parts(part(4, (NULL)[1]), part(6, (NULL)[2])), 5)",
            ),
            (
                "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b[1] = excluded.b[1]",
                "INSERT INTO t VALUES (1) ON CONFLICT(a) DO UPDATE SET b = parts(part(excluded.b[1], (NULL)[1]))",
            ),
        ];
        for (sql, wanted) in cases {
            let Some(Parsed::Sql { statement, .. }) = parse(sql).unwrap().pop() else { panic!("{sql}") };
            let shown = statement.to_string().replace('\u{1}', "");
            assert_eq!(shown, wanted);
        }
        for wrong in ["UPDATE t SET a[1] = DEFAULT", "UPDATE t SET (a[1], b) = (SELECT 1, 2)", "UPDATE t SET a[ = 1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
