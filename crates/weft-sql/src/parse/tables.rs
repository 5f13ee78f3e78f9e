//! Tables in forms that the SQL parser knows.
//!
//! ```text
//!   TABLE s.t UNION TABLE u                           SELECT * FROM s.t UNION SELECT * FROM u
//!   CREATE TABLE t (a int, LIKE s INCLUDING ALL)      CREATE TABLE t (a int, "␀like" "s"('including all'))
//!   SELECT a INTO t FROM s                            CREATE TABLE t AS SELECT a FROM s
//! ```
//!
//! `␀` is a NUL, which no text of SQL has. WITH NO DATA behind CREATE ... AS is noted where another dialect notes COPY
//! GRANTS.

use std::ops::ControlFlow;

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{ColumnDef, DataType, ObjectName, Query, Select, SetExpr, Statement, Visitor};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};
use weft_format::{Code, Error, Result};
use weft_walk::Visit;

use super::lexemes::{is_word, keyword, next};
use super::names::table_name;

/// The name of a column that stands for LIKE.
const LIKE: &str = "\0like";

/// `LIKE table INCLUDING ... EXCLUDING ...` in CREATE TABLE.
pub(crate) struct Like {
    pub(crate) table: String,
    /// What is said of each kind, in this order: `including all`, `excluding indexes`.
    pub(crate) options: Vec<String>,
}

/// The LIKE that an element of CREATE TABLE is.
pub(crate) fn like_of(column: &ColumnDef) -> Result<Option<Like>> {
    if column.name.value != LIKE {
        return Ok(None);
    }
    let DataType::Custom(name, options) = &column.data_type else { return Err(Error::internal("LIKE has a table")) };
    let options = options.iter().map(|option| option.trim_matches('\'').to_owned()).collect();
    Ok(Some(Like { table: table_name(name)?, options }))
}

/// Writes TABLE and LIKE in these forms. One pass for each, for texts may be long.
pub(super) fn written_out(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let is_table = |token: &TokenWithSpan| keyword(&token.token) == Keyword::TABLE;
    if !tokens.iter().any(is_table) {
        return tokens.to_vec();
    }
    let tokens = with_likes(tokens);
    let select = Tokenizer::new(&PostgreSqlDialect {}, "SELECT * FROM").tokenize().unwrap_or_default();
    let mut made = Vec::with_capacity(tokens.len());
    let mut place = Place::default();
    let mut only = None;
    for (at, token) in tokens.iter().enumerate() {
        if only == Some(at) {
            continue;
        }
        if is_table(token) && place.may_begin_query() && names_table(&tokens, at) {
            only = only_behind(&tokens, at);
            let written = select.iter().map(|part| TokenWithSpan { token: part.clone(), span: token.span });
            written.for_each(|token| {
                place.pass(&token.token);
                made.push(token);
            });
        } else {
            place.pass(&token.token);
            made.push(token.clone());
        }
    }
    made
}

/// A place between tokens: what is before it.
#[derive(Default)]
struct Place {
    /// The first word; none: nothing is before the place.
    first: Option<Keyword>,
    last: Option<Token>,
    /// The word before the last token.
    before_last: Option<Keyword>,
    depth: i32,
    /// A SELECT or VALUES outside of parentheses was passed.
    begun: bool,
}

impl Place {
    fn pass(&mut self, token: &Token) {
        if matches!(token, Token::Whitespace(_)) {
            return;
        }
        self.depth += i32::from(*token == Token::LParen) - i32::from(*token == Token::RParen);
        let word = keyword(token);
        self.begun |= self.depth == 0 && matches!(word, Keyword::SELECT | Keyword::VALUES);
        self.first.get_or_insert(word);
        self.before_last = self.last.as_ref().map(keyword);
        self.last = Some(token.clone());
    }

    /// Whether a query may begin here with the word TABLE.
    fn may_begin_query(&self) -> bool {
        let (Some(first), Some(last)) = (self.first, &self.last) else { return true };
        let is_set = |word| matches!(word, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT);
        match (last, keyword(last)) {
            (Token::LParen, _) => true,
            (Token::RParen, _) => matches!(first, Keyword::INSERT | Keyword::WITH | Keyword::EXPLAIN) && !self.begun,
            (_, word) if is_set(word) => true,
            (_, Keyword::ALL | Keyword::DISTINCT) => self.before_last.is_some_and(is_set),
            (_, Keyword::AS) => matches!(first, Keyword::CREATE | Keyword::PREPARE) && !self.begun,
            (_, Keyword::FOR) => first == Keyword::DECLARE && !self.begun,
            (_, Keyword::EXPLAIN | Keyword::ANALYZE | Keyword::VERBOSE) => first == Keyword::EXPLAIN && !self.begun,
            (Token::Word(_), word) => first == Keyword::INSERT && word != Keyword::INTO && !self.begun,
            _ => false,
        }
    }
}

/// Whether a name is behind the word TABLE at a place, and then what may follow a query.
fn names_table(tokens: &[TokenWithSpan], at: usize) -> bool {
    next(tokens, at + 1).is_some_and(|name| is_name(&tokens[name].token)) && ends_well(tokens, at)
}

/// Whether what follows `TABLE [ONLY] name` may follow a query.
fn ends_well(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is = |place: Option<usize>, token: &Token| place.is_some_and(|place| tokens[place].token == *token);
    let mut last = next(tokens, only_behind(tokens, at).unwrap_or(at) + 1);
    while let Some(place) = last {
        let after = next(tokens, place + 1);
        if !is(after, &Token::Period) {
            let Some(after) = after else { return true };
            return tokens[after].token == Token::RParen || follows_query(keyword(&tokens[after].token));
        }
        last = after.and_then(|period| next(tokens, period + 1));
    }
    false
}

fn follows_query(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::UNION
            | Keyword::EXCEPT
            | Keyword::INTERSECT
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::OFFSET
            | Keyword::FETCH
            | Keyword::FOR
            | Keyword::ON
            | Keyword::RETURNING
            | Keyword::WITH
    )
}

/// The ONLY before a name, behind the word TABLE at a place.
fn only_behind(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let only = next(tokens, at + 1).filter(|only| is_word(&tokens[*only].token, "only"))?;
    next(tokens, only + 1).filter(|name| is_name(&tokens[*name].token)).map(|_| only)
}

fn is_name(token: &Token) -> bool {
    matches!(token, Token::Word(_))
}

/// Writes each LIKE of CREATE TABLE as a column.
fn with_likes(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let Some(open) = columns_of_table(tokens) else { return tokens.to_vec() };
    let mut made = Vec::with_capacity(tokens.len());
    made.extend_from_slice(&tokens[..open]);
    let (mut depth, mut at, mut begins) = (0i32, open, false);
    while at < tokens.len() {
        let token = &tokens[at].token;
        if begins
            && keyword(token) == Keyword::LIKE
            && let Some((end, column)) = like(tokens, at)
        {
            made.extend(column);
            (begins, at) = (false, end);
            continue;
        }
        depth += i32::from(*token == Token::LParen) - i32::from(*token == Token::RParen);
        if depth == 0 {
            break;
        }
        if !matches!(token, Token::Whitespace(_)) {
            begins = depth == 1 && matches!(token, Token::LParen | Token::Comma);
        }
        made.push(tokens[at].clone());
        at += 1;
    }
    made.extend_from_slice(&tokens[at..]);
    made
}

/// The parenthesis before the columns of CREATE TABLE.
fn columns_of_table(tokens: &[TokenWithSpan]) -> Option<usize> {
    let first = next(tokens, 0).filter(|first| keyword(&tokens[*first].token) == Keyword::CREATE)?;
    let table = (first..tokens.len()).find(|at| keyword(&tokens[*at].token) == Keyword::TABLE)?;
    let ends = |token: &Token| matches!(keyword(token), Keyword::AS | Keyword::USING | Keyword::SELECT);
    let open = (table..tokens.len()).find(|at| tokens[*at].token == Token::LParen || ends(&tokens[*at].token))?;
    (tokens[open].token == Token::LParen).then_some(open)
}

/// The column that stands for a LIKE at a place, and where the LIKE ends.
fn like(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, Vec<TokenWithSpan>)> {
    let span = tokens[at].span;
    let name = |text: String| Token::Word(Word { value: text, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    let mut made = vec![name(LIKE.into()), Token::Whitespace(sqlparser::tokenizer::Whitespace::Space)];
    let mut place = at;
    loop {
        place = next(tokens, place + 1)?;
        let Token::Word(word) = &tokens[place].token else { return None };
        let folded = if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() };
        made.push(name(folded));
        match next(tokens, place + 1) {
            Some(period) if tokens[period].token == Token::Period => {
                made.push(Token::Period);
                place = period;
            }
            _ => break,
        }
    }
    let mut options: Vec<Token> = Vec::new();
    while let Some(verb) = next(tokens, place + 1)
        .filter(|verb| is_word(&tokens[*verb].token, "including") || is_word(&tokens[*verb].token, "excluding"))
    {
        let what = next(tokens, verb + 1)?;
        let said = format!("{} {}", tokens[verb].token, tokens[what].token).to_lowercase();
        options.push(if options.is_empty() { Token::LParen } else { Token::Comma });
        options.push(Token::SingleQuotedString(said));
        place = what;
    }
    if !options.is_empty() {
        options.push(Token::RParen);
    }
    made.extend(options);
    Some((place + 1, made.into_iter().map(|token| TokenWithSpan { token, span }).collect()))
}

/// Takes WITH DATA and WITH NO DATA from the end of CREATE ... AS; whether it was the latter.
pub(super) fn take_data(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, bool) {
    let is_create = next(&tokens, 0).is_some_and(|first| keyword(&tokens[first].token) == Keyword::CREATE);
    let mut words = (0..tokens.len()).rev().filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let is = |at: usize, text: &str| is_word(&tokens[at].token, text);
    let (Some(data), Some(second), third) = (words.next(), words.next(), words.next()) else { return (tokens, false) };
    if !is_create || !is(data, "data") {
        return (tokens, false);
    }
    let (from, no_data) = match third {
        Some(third) if is(second, "no") && is(third, "with") => (third, true),
        _ if is(second, "with") => (second, false),
        _ => return (tokens, false),
    };
    drop(words);
    tokens.truncate(from);
    (tokens, no_data)
}

/// Notes WITH NO DATA.
pub(super) fn put_data(statement: &mut Statement, no_data: bool) {
    match statement {
        Statement::CreateTable(create) => create.copy_grants |= no_data,
        Statement::CreateView(create) => create.copy_grants |= no_data,
        _ => {}
    }
}

/// A query with INTO becomes CREATE TABLE AS.
pub(super) fn into_table(tree: Statement) -> Result<Statement> {
    let Statement::Query(mut query) = tree else {
        refuse_into(&tree)?;
        return Ok(tree);
    };
    let into = leftmost(&mut query.body).and_then(|select| select.into.take());
    refuse_into(&*query)?;
    let Some(into) = into else { return Ok(Statement::Query(query)) };
    let create = CreateTableBuilder::new(into.name).temporary(into.temporary).query(Some(query));
    Ok(Statement::CreateTable(create.build()))
}

/// The first SELECT of a query, whose INTO is that of the query.
fn leftmost(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => leftmost(left),
        _ => None,
    }
}

/// An error when a SELECT has INTO.
fn refuse_into(tree: &impl Visit) -> Result<()> {
    struct Into;
    impl Visitor for Into {
        type Break = ObjectName;

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<ObjectName> {
            ControlFlow::Continue(())
        }

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<ObjectName> {
            match &select.into {
                Some(into) => ControlFlow::Break(into.name.clone()),
                None => ControlFlow::Continue(()),
            }
        }
    }
    match tree.visit(&mut Into) {
        ControlFlow::Break(name) => {
            let error = Error::new(Code::SyntaxError, "SELECT ... INTO is not allowed here");
            Err(error.hint(format!("write CREATE TABLE {name} AS SELECT ...")))
        }
        ControlFlow::Continue(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str) -> String {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap();
        written_out(&tokens).iter().map(|token| token.token.to_string()).collect()
    }

    #[test]
    fn tables_are_queries_where_queries_stand() {
        let cases = [
            ("TABLE t", "SELECT * FROM t"),
            ("table only s.t order by 1", "SELECT * FROM  s.t order by 1"),
            ("TABLE a UNION ALL TABLE b", "SELECT * FROM a UNION ALL SELECT * FROM b"),
            ("SELECT (TABLE a) IN (TABLE b)", "SELECT (SELECT * FROM a) IN (SELECT * FROM b)"),
            ("CREATE TABLE u AS TABLE t", "CREATE TABLE u AS SELECT * FROM t"),
            ("CREATE VIEW v AS SELECT 1 AS table", "CREATE VIEW v AS SELECT 1 AS table"),
            ("CREATE VIEW v AS SELECT 1 AS table FROM t", "CREATE VIEW v AS SELECT 1 AS table FROM t"),
            ("INSERT INTO t TABLE s", "INSERT INTO t SELECT * FROM s"),
            ("INSERT INTO t (a) TABLE s", "INSERT INTO t (a) SELECT * FROM s"),
            ("WITH x AS (TABLE t) TABLE x", "WITH x AS (SELECT * FROM t) SELECT * FROM x"),
            ("EXPLAIN (COSTS OFF) TABLE t", "EXPLAIN (COSTS OFF) SELECT * FROM t"),
            ("ALTER TABLE t ADD a int", "ALTER TABLE t ADD a int"),
            ("GRANT SELECT (a) ON TABLE t TO b", "GRANT SELECT (a) ON TABLE t TO b"),
            ("DROP TABLE t", "DROP TABLE t"),
            ("TABLE t WHERE a = 1", "TABLE t WHERE a = 1"),
        ];
        for (sql, wanted) in cases {
            assert_eq!(written(sql), wanted);
        }
    }

    #[test]
    fn long_texts_are_written_in_one_pass() {
        let tables = vec!["TABLE only t"; 40_000].join(" UNION ");
        assert_eq!(written(&tables), vec!["SELECT * FROM  t"; 40_000].join(" UNION "));
        let likes = format!("CREATE TABLE t ({})", vec!["LIKE s"; 40_000].join(", "));
        assert_eq!(written(&likes).matches("\0like").count(), 40_000);
    }

    #[test]
    fn like_is_a_column() {
        let cases = [
            ("CREATE TABLE t (LIKE s)", "CREATE TABLE t (\"\0like\" \"s\")"),
            (
                "CREATE TEMP TABLE t (a int, LIKE \"Q\".S including all EXCLUDING Indexes , b int)",
                "CREATE TEMP TABLE t (a int, \"\0like\" \"Q\".\"s\"('including all','excluding indexes') , b int)",
            ),
            (
                "CREATE TABLE t (a text CHECK (a LIKE 'x'), CHECK (b LIKE a))",
                "CREATE TABLE t (a text CHECK (a LIKE 'x'), CHECK (b LIKE a))",
            ),
            ("CREATE TABLE t (LIKE", "CREATE TABLE t (LIKE"),
            ("CREATE TABLE t AS SELECT (LIKE", "CREATE TABLE t AS SELECT (LIKE"),
        ];
        for (sql, wanted) in cases {
            assert_eq!(written(sql), wanted);
        }
    }
}
