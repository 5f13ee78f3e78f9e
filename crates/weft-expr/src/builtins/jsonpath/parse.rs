//! Tokens become a path.
//!
//! ```text
//!   condition   comparison && comparison || ...          all of conditions, or one expression
//!   comparison  sum == sum, sum starts with "a", !(condition), exists(sum), (condition) is unknown
//!   sum         product + product - ...
//!   product     signed * signed / ...
//!   signed      -signed, or a primary with its accessors:  $.a[0] ? (@ > 1).size()
//! ```
//!
//! 1. What is in parentheses may be an expression or a condition; behind a condition accessors make it an expression.
//!
//! Source: the grammar of PostgreSQL 15's manual, 8.14.7 and 9.16.2.

use weft_format::{Code, Error, Result};

use super::errors::{syntax, too_complex};
use super::path::{Chain, Comparison, LikeRegex, Method, Operator, Path, Predicate, Step};
use super::tokens::{Token, Tokens};
use crate::builtins::patterns::{Matcher, MatcherOptions};
use crate::json;

/// How many parentheses, brackets and signs a path has within each other.
const NEST_MAX: usize = 400;

/// A path of a text.
pub(super) fn parse(text: &str) -> Result<Path> {
    let mut parser =
        Parser { tokens: Tokens::new(text)?, nested: 0, filters: 0, subscripts: 0, chain_only: false, late: None };
    let is_strict = parser.takes_word("strict")?;
    let is_lax = !is_strict && parser.takes_word("lax")?;
    if parser.tokens.now == Token::End && !is_strict && !is_lax {
        return Err(Error::new(Code::InvalidText, format!("invalid input syntax for type jsonpath: \"{text}\"")));
    }
    let steps = match parser.condition()? {
        Parsed::Chain(steps) => steps,
        Parsed::Predicate(predicate) => vec![Step::Condition(Box::new(predicate))],
    };
    if parser.tokens.now != Token::End {
        return Err(parser.unexpected());
    }
    match parser.late {
        Some(error) => Err(error),
        None => Ok(Path { is_lax: !is_strict, steps }),
    }
}

enum Parsed {
    Chain(Chain),
    Predicate(Predicate),
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    nested: usize,
    /// Filters and subscripts around the token at hand.
    filters: usize,
    subscripts: usize,
    /// Whether a condition without accessors cannot stand here.
    chain_only: bool,
    /// What is wrong with a path whose grammar is right.
    late: Option<Error>,
}

impl Parser<'_> {
    fn unexpected(&self) -> Error {
        self.tokens.error("syntax error")
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(&self.tokens.now, Token::Symbol(now) if *now == symbol)
    }

    fn takes(&mut self, symbol: &str) -> Result<bool> {
        let found = self.is(symbol);
        if found {
            self.tokens.next()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.takes(symbol)? { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A keyword; `true`, `false` and `null` are none in capitals.
    fn is_word(&self, keyword: &str) -> bool {
        match &self.tokens.now {
            Token::Word(word) if matches!(keyword, "true" | "false" | "null") => word == keyword,
            Token::Word(word) => word.eq_ignore_ascii_case(keyword),
            _ => false,
        }
    }

    fn takes_word(&mut self, keyword: &str) -> Result<bool> {
        let found = self.is_word(keyword);
        if found {
            self.tokens.next()?;
        }
        Ok(found)
    }

    fn within<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nested == NEST_MAX {
            return Err(too_complex(&format!("a jsonpath is nested more than {NEST_MAX} deep")));
        }
        self.nested += 1;
        let parsed = inner(self);
        self.nested -= 1;
        parsed
    }

    fn condition(&mut self) -> Result<Parsed> {
        let before = std::mem::replace(&mut self.chain_only, false);
        let condition = self.disjunction();
        self.chain_only = before;
        condition
    }

    fn disjunction(&mut self) -> Result<Parsed> {
        let first = self.conjunction()?;
        if !self.is("||") {
            return Ok(first);
        }
        let mut all = match self.as_predicate(first)? {
            Predicate::Any(all) => all,
            other => vec![other],
        };
        while self.takes("||")? {
            let next = self.conjunction()?;
            all.push(self.as_predicate(next)?);
        }
        Ok(Parsed::Predicate(Predicate::Any(all)))
    }

    fn conjunction(&mut self) -> Result<Parsed> {
        let first = self.comparison()?;
        if !self.is("&&") {
            return Ok(first);
        }
        let mut all = match self.as_predicate(first)? {
            Predicate::All(all) => all,
            other => vec![other],
        };
        while self.takes("&&")? {
            let next = self.comparison()?;
            all.push(self.as_predicate(next)?);
        }
        Ok(Parsed::Predicate(Predicate::All(all)))
    }

    /// A condition, or an error at the token behind what is none.
    fn as_predicate(&self, parsed: Parsed) -> Result<Predicate> {
        match parsed {
            Parsed::Predicate(predicate) => Ok(predicate),
            Parsed::Chain(_) => Err(self.unexpected()),
        }
    }

    /// What is no condition.
    fn chain(&mut self, parse: fn(&mut Self) -> Result<Parsed>) -> Result<Chain> {
        let before = std::mem::replace(&mut self.chain_only, true);
        let parsed = parse(self);
        self.chain_only = before;
        match parsed? {
            Parsed::Chain(chain) => Ok(chain),
            Parsed::Predicate(_) => Err(self.unexpected()),
        }
    }

    fn comparison(&mut self) -> Result<Parsed> {
        if self.takes("!")? {
            let negated = if self.takes("(")? { self.closed_condition()? } else { self.exists()? };
            return Ok(Parsed::Predicate(Predicate::Not(Box::new(negated))));
        }
        let left = match self.sum()? {
            Parsed::Chain(left) => left,
            predicate => return Ok(predicate),
        };
        if let Some(comparison) = self.comparison_sign()? {
            let right = self.chain(Self::sum)?;
            return Ok(Parsed::Predicate(Predicate::Compare(comparison, left, right)));
        }
        if self.takes_word("starts")? {
            if !self.takes_word("with")? {
                return Err(self.unexpected());
            }
            let start = match self.tokens.now.clone() {
                Token::Text(text) => Step::Text(text),
                Token::Variable(name) => Step::Variable(name),
                _ => return Err(self.unexpected()),
            };
            self.tokens.next()?;
            return Ok(Parsed::Predicate(Predicate::StartsWith(left, vec![start])));
        }
        if self.takes_word("like_regex")? {
            let pattern = self.text()?;
            let flags = if self.takes_word("flag")? { self.text()? } else { String::new() };
            let matcher = matcher(&pattern, &flags)?;
            let flags = "ismxq".chars().filter(|flag| flags.contains(*flag)).collect();
            let found = LikeRegex { texts: left, pattern, flags, matcher };
            return Ok(Parsed::Predicate(Predicate::LikeRegex(Box::new(found))));
        }
        Ok(Parsed::Chain(left))
    }

    fn comparison_sign(&mut self) -> Result<Option<Comparison>> {
        let comparison = match self.tokens.now {
            Token::Symbol("==") => Comparison::Equal,
            Token::Symbol("!=" | "<>") => Comparison::NotEqual,
            Token::Symbol("<") => Comparison::Less,
            Token::Symbol("<=") => Comparison::LessOrEqual,
            Token::Symbol(">") => Comparison::Greater,
            Token::Symbol(">=") => Comparison::GreaterOrEqual,
            _ => return Ok(None),
        };
        self.tokens.next()?;
        Ok(Some(comparison))
    }

    fn text(&mut self) -> Result<String> {
        let Token::Text(text) = &self.tokens.now else { return Err(self.unexpected()) };
        let text = text.clone();
        self.tokens.next()?;
        Ok(text)
    }

    /// A condition and the parenthesis behind it.
    fn closed_condition(&mut self) -> Result<Predicate> {
        let condition = self.within(Self::condition)?;
        let condition = self.as_predicate(condition)?;
        self.expect(")")?;
        Ok(condition)
    }

    fn exists(&mut self) -> Result<Predicate> {
        if !self.takes_word("exists")? {
            return Err(self.unexpected());
        }
        self.expect("(")?;
        let chain = self.within(|parser| parser.chain(Self::sum))?;
        self.expect(")")?;
        Ok(Predicate::Exists(chain))
    }

    fn sum(&mut self) -> Result<Parsed> {
        self.operators(Self::product, &[("+", Operator::Add), ("-", Operator::Subtract)])
    }

    fn product(&mut self) -> Result<Parsed> {
        let signs = [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.operators(Self::signed, &signs)
    }

    fn operators(&mut self, operand: fn(&mut Self) -> Result<Parsed>, signs: &[(&str, Operator)]) -> Result<Parsed> {
        let first = operand(self)?;
        let Parsed::Chain(mut first) = first else { return Ok(first) };
        let is_same = |others: &[(Operator, Chain)]| signs.iter().any(|(_, sign)| *sign == others[0].0);
        // `(a + b) + c` is `a + b + c`.
        let mut others = match &mut first[..] {
            [Step::Sum(inner, others)] if is_same(others) => {
                let (inner, others) = (std::mem::take(inner), std::mem::take(others));
                first = inner;
                others
            }
            _ => Vec::new(),
        };
        while let Some((_, operator)) = signs.iter().find(|(sign, _)| self.is(sign)) {
            self.tokens.next()?;
            others.push((*operator, self.chain(operand)?));
        }
        Ok(Parsed::Chain(if others.is_empty() { first } else { vec![Step::Sum(first, others)] }))
    }

    fn signed(&mut self) -> Result<Parsed> {
        let is_minus = self.is("-");
        if !is_minus && !self.is("+") {
            return self.primary();
        }
        self.tokens.next()?;
        let operand = self.within(|parser| parser.chain(Self::signed))?;
        Ok(Parsed::Chain(match &operand[..] {
            [Step::Number(number)] if is_minus => vec![Step::Number(negated(number))],
            [Step::Number(_)] => operand,
            _ => vec![Step::Sign(is_minus, operand)],
        }))
    }

    /// What a chain begins with, and its accessors.
    fn primary(&mut self) -> Result<Parsed> {
        if self.is_word("exists") && !self.chain_only {
            return self.exists().map(Parsed::Predicate);
        }
        if !self.takes("(")? {
            let first = self.first_step()?;
            return self.accessors(vec![first]);
        }
        let inner = self.within(Self::condition)?;
        self.expect(")")?;
        match inner {
            Parsed::Chain(chain) => self.accessors(chain),
            Parsed::Predicate(predicate) if self.is(".") || self.is("[") || self.is("?") => {
                self.accessors(vec![Step::Condition(Box::new(predicate))])
            }
            Parsed::Predicate(_) if self.chain_only => Err(self.unexpected()),
            Parsed::Predicate(predicate) if self.takes_word("is")? => {
                if !self.takes_word("unknown")? {
                    return Err(self.unexpected());
                }
                Ok(Parsed::Predicate(Predicate::IsUnknown(Box::new(predicate))))
            }
            predicate => Ok(predicate),
        }
    }

    fn first_step(&mut self) -> Result<Step> {
        let step = match self.tokens.now.clone() {
            Token::Text(text) => Step::Text(text),
            Token::Variable(name) => Step::Variable(name),
            Token::Number(number) | Token::Integer(number) => Step::Number(canonical(&number)?),
            Token::Symbol("$") => Step::Root,
            Token::Symbol("@") => {
                if self.filters == 0 {
                    self.late.get_or_insert_with(|| syntax("@ is not allowed in root expressions"));
                }
                Step::Current
            }
            Token::Word(_) if self.is_word("null") => Step::Null,
            Token::Word(_) if self.is_word("true") => Step::Bool(true),
            Token::Word(_) if self.is_word("false") => Step::Bool(false),
            Token::Word(_) if self.is_word("last") => {
                if self.subscripts == 0 {
                    self.late.get_or_insert_with(|| syntax("LAST is allowed only in array subscripts"));
                }
                Step::Last
            }
            _ => return Err(self.unexpected()),
        };
        self.tokens.next()?;
        Ok(step)
    }

    fn accessors(&mut self, mut chain: Chain) -> Result<Parsed> {
        loop {
            let step = if self.takes(".")? {
                self.member()?
            } else if self.takes("[")? {
                self.brackets()?
            } else if self.takes("?")? {
                self.expect("(")?;
                self.filters += 1;
                let condition = self.closed_condition()?;
                self.filters -= 1;
                Step::Filter(condition)
            } else {
                return Ok(Parsed::Chain(chain));
            };
            chain.push(step);
        }
    }

    /// What stands behind a point.
    fn member(&mut self) -> Result<Step> {
        if self.takes("*")? {
            return Ok(Step::AnyKey);
        }
        if self.takes("**")? {
            return self.depths();
        }
        let key = match self.tokens.now.clone() {
            Token::Text(key) => {
                self.tokens.next()?;
                return Ok(Step::Key(key));
            }
            Token::Word(key) => key,
            _ => return Err(self.unexpected()),
        };
        self.tokens.next()?;
        let method = Method::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(&key));
        let is_datetime = key.eq_ignore_ascii_case("datetime");
        if (method.is_none() && !is_datetime) || !self.takes("(")? {
            return Ok(Step::Key(key));
        }
        let template = match &self.tokens.now {
            Token::Text(_) if is_datetime => Some(self.text()?),
            _ => None,
        };
        self.expect(")")?;
        Ok(method.map_or(Step::Datetime(template), Step::Method))
    }

    /// The bounds behind `**`.
    fn depths(&mut self) -> Result<Step> {
        if !self.takes("{")? {
            return Ok(Step::Deep(Some(0), None));
        }
        let from = self.depth()?;
        let to = if self.takes_word("to")? { self.depth()? } else { from };
        self.expect("}")?;
        Ok(Step::Deep(from, to))
    }

    fn depth(&mut self) -> Result<Option<u32>> {
        if self.takes_word("last")? {
            return Ok(None);
        }
        let Token::Integer(number) = &self.tokens.now else { return Err(self.unexpected()) };
        let depth = number.parse::<i32>().map_err(|_| {
            let message = format!("value \"{number}\" is out of range for type integer");
            Error::new(Code::NumericOutOfRange, message)
        })?;
        self.tokens.next()?;
        Ok(Some(depth.unsigned_abs()))
    }

    /// What stands behind `[`.
    fn brackets(&mut self) -> Result<Step> {
        if self.takes("*")? {
            self.expect("]")?;
            return Ok(Step::AnyArray);
        }
        self.subscripts += 1;
        let mut all = Vec::new();
        loop {
            let from = self.within(|parser| parser.chain(Self::sum))?;
            let to = if self.takes_word("to")? { Some(self.within(|parser| parser.chain(Self::sum))?) } else { None };
            all.push((from, to));
            if !self.takes(",")? {
                break;
            }
        }
        self.expect("]")?;
        self.subscripts -= 1;
        Ok(Step::Index(all))
    }
}

/// The canonical text of a number, which may lack digits on one side of its point.
fn canonical(number: &str) -> Result<String> {
    let (mantissa, exponent) = number.split_at(number.find(['e', 'E']).unwrap_or(number.len()));
    let zero = if mantissa.starts_with('.') { "0" } else { "" };
    json::canonical(&format!("{zero}{}{exponent}", mantissa.trim_end_matches('.')))
}

fn negated(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None if number.bytes().all(|byte| matches!(byte, b'0' | b'.')) => number.to_owned(),
        None => format!("-{number}"),
    }
}

/// The regular expression of XQuery's flags; without `s` a point is no newline.
fn matcher(pattern: &str, flags: &str) -> Result<Matcher> {
    let mut options = MatcherOptions { any_case: false, quoted: false, dot_all: false, lines: false };
    let mut is_expanded = false;
    for flag in flags.chars() {
        match flag {
            'i' => options.any_case = true,
            's' => options.dot_all = true,
            'm' => options.lines = true,
            'x' => is_expanded = true,
            'q' => options.quoted = true,
            _ => {
                let detail = format!("Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate.");
                return Err(syntax("invalid input syntax for type jsonpath").detail(detail));
            }
        }
    }
    if is_expanded && !options.quoted {
        let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
        return Err(Error::new(Code::FeatureNotSupported, message));
    }
    Matcher::new(pattern, options)
}
