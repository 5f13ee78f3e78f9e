//! The canonical text of a path: what values of type jsonpath are, and what PostgreSQL shows of them.
//!
//! ```text
//!   lax $.a[*]?(@.b > 1 && -@.c*2==$x)     $."a"[*]?(@."b" > 1 && (-@."c") * 2 == $"x")
//!   strict $ . ** . a + 1 + 2              strict (($.**."a" + 1) + 2)
//! ```
//!
//! 1. The text of a path reads as the same path, and is its own canonical text. PostgreSQL lacks parentheses before the
//!    accessors of some operators: `($.a + 1).type() == 2` it shows as `$."a" + 1.type() == 2`, and does not read that.
//!
//! Source: `printJsonPathItem` of PostgreSQL's `jsonpath.c`.

use weft_format::Result;

use super::parse::parse;
use super::path::{Chain, Comparison, Operator, Path, Predicate, Step};
use crate::json::quote;

/// Operators of a path bind from 0 (`||`) to this, which is no operator.
const TIGHTEST: u8 = 6;

/// Operators of one precedence in a row are each in the parentheses of the next: so many are read again without a test.
const ROW_MAX: usize = 64;

/// Reads a path and writes its canonical text.
pub(crate) fn canonical(text: &str) -> Result<String> {
    let printed = printed(&parse(text)?);
    if printed.bytes().filter(|byte| *byte == b'(').count() > ROW_MAX {
        parse(&printed)?;
    }
    Ok(printed)
}

fn printed(path: &Path) -> String {
    let mut printer = Printer { out: String::new() };
    if !path.is_lax {
        printer.out.push_str("strict ");
    }
    printer.chain(&path.steps, true);
    printer.out
}

struct Printer {
    out: String,
}

impl Printer {
    /// Steps; the operator that the first of them may be stands in parentheses if asked for.
    fn chain(&mut self, chain: &[Step], encloses: bool) {
        for (at, step) in chain.iter().enumerate() {
            let has_next = at + 1 < chain.len();
            self.step(step, at > 0, encloses || has_next, has_next);
        }
    }

    fn step(&mut self, step: &Step, is_behind: bool, encloses: bool, has_next: bool) {
        match step {
            Step::Root => self.out.push('$'),
            Step::Current => self.out.push('@'),
            Step::Last => self.out.push_str("last"),
            Step::Null => self.out.push_str("null"),
            Step::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            // A point behind a number would be its own.
            Step::Number(number) if has_next => self.out.push_str(&format!("({number})")),
            Step::Number(number) => self.out.push_str(number),
            Step::Text(text) => quote(text, &mut self.out),
            Step::Variable(name) => {
                self.out.push('$');
                quote(name, &mut self.out);
            }
            Step::Key(key) => {
                self.out.push('.');
                quote(key, &mut self.out);
            }
            Step::AnyKey => self.out.push_str(if is_behind { ".*" } else { "*" }),
            Step::AnyArray => self.out.push_str("[*]"),
            Step::Index(ranges) => self.ranges(ranges),
            Step::Deep(from, to) => self.deep(*from, *to),
            Step::Filter(condition) => {
                self.out.push_str("?(");
                self.predicate(condition, false);
                self.out.push(')');
            }
            Step::Condition(condition) if has_next => self.enclosed(!is_operator(condition), |printer| {
                printer.predicate(condition, true);
            }),
            Step::Condition(condition) => self.predicate(condition, encloses),
            Step::Method(method) => self.out.push_str(&format!(".{}()", method.name())),
            Step::Datetime(template) => {
                self.out.push_str(".datetime(");
                if let Some(template) = template {
                    quote(template, &mut self.out);
                }
                self.out.push(')');
            }
            Step::Sign(is_minus, operand) => self.enclosed(encloses, |printer| {
                printer.out.push(if *is_minus { '-' } else { '+' });
                printer.operand(operand, 5);
            }),
            Step::Sum(first, others) => self.sum(first, others, encloses),
        }
    }

    fn enclosed(&mut self, encloses: bool, inner: impl FnOnce(&mut Printer)) {
        if encloses {
            self.out.push('(');
        }
        inner(self);
        if encloses {
            self.out.push(')');
        }
    }

    /// An operand of an operator that binds so tightly.
    fn operand(&mut self, chain: &Chain, tightness: u8) {
        let own = chain.first().map_or(TIGHTEST, step_tightness);
        self.chain(chain, own <= tightness);
    }

    fn sum(&mut self, first: &Chain, others: &[(Operator, Chain)], encloses: bool) {
        // Each operator encloses the ones before it.
        let open = others.len() - usize::from(!encloses);
        self.out.extend(std::iter::repeat_n('(', open));
        let tightness = others.first().map_or(TIGHTEST, |(operator, _)| operator_tightness(*operator));
        self.operand(first, tightness);
        for (at, (operator, operand)) in others.iter().enumerate() {
            self.out.push_str(&format!(" {} ", operator.sign()));
            self.operand(operand, tightness);
            if encloses || at + 1 < others.len() {
                self.out.push(')');
            }
        }
    }

    fn ranges(&mut self, ranges: &[(Chain, Option<Chain>)]) {
        self.out.push('[');
        for (at, (from, to)) in ranges.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.chain(from, false);
            if let Some(to) = to {
                self.out.push_str(" to ");
                self.chain(to, false);
            }
        }
        self.out.push(']');
    }

    fn deep(&mut self, from: Option<u32>, to: Option<u32>) {
        self.out.push_str(&match (from, to) {
            (Some(0), None) => ".**".to_owned(),
            (None, None) => ".**{last}".to_owned(),
            (Some(from), Some(to)) if from == to => format!(".**{{{from}}}"),
            (None, Some(to)) => format!(".**{{last to {to}}}"),
            (Some(from), None) => format!(".**{{{from} to last}}"),
            (Some(from), Some(to)) => format!(".**{{{from} to {to}}}"),
        });
    }

    fn predicate(&mut self, predicate: &Predicate, encloses: bool) {
        match predicate {
            Predicate::All(parts) => self.row(parts, " && ", 1, encloses),
            Predicate::Any(parts) => self.row(parts, " || ", 0, encloses),
            Predicate::Not(inner) => {
                self.out.push_str("!(");
                self.predicate(inner, false);
                self.out.push(')');
            }
            Predicate::IsUnknown(inner) => {
                self.out.push('(');
                self.predicate(inner, false);
                self.out.push_str(") is unknown");
            }
            Predicate::Exists(chain) => {
                self.out.push_str("exists (");
                self.chain(chain, false);
                self.out.push(')');
            }
            Predicate::Compare(comparison, left, right) => {
                self.both(left, &format!(" {} ", comparison_sign(*comparison)), right, encloses);
            }
            Predicate::StartsWith(left, right) => self.both(left, " starts with ", right, encloses),
            Predicate::LikeRegex(pattern) => self.enclosed(encloses, |printer| {
                printer.operand(&pattern.texts, TIGHTEST);
                printer.out.push_str(" like_regex ");
                quote(&pattern.pattern, &mut printer.out);
                if !pattern.flags.is_empty() {
                    printer.out.push_str(&format!(" flag \"{}\"", pattern.flags));
                }
            }),
        }
    }

    fn both(&mut self, left: &Chain, sign: &str, right: &Chain, encloses: bool) {
        self.enclosed(encloses, |printer| {
            printer.operand(left, 2);
            printer.out.push_str(sign);
            printer.operand(right, 2);
        });
    }

    fn row(&mut self, parts: &[Predicate], sign: &str, tightness: u8, encloses: bool) {
        let last = parts.len() - 1;
        self.out.extend(std::iter::repeat_n('(', last - usize::from(!encloses)));
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.out.push_str(sign);
            }
            self.predicate(part, predicate_tightness(part) <= tightness);
            if at > 0 && (encloses || at < last) {
                self.out.push(')');
            }
        }
    }
}

/// Whether parentheses are put around a condition that is asked to have some.
fn is_operator(condition: &Predicate) -> bool {
    !matches!(condition, Predicate::Not(_) | Predicate::IsUnknown(_) | Predicate::Exists(_))
}

/// How tightly what a step is binds its operands (`operationPriority`).
fn step_tightness(step: &Step) -> u8 {
    match step {
        Step::Condition(condition) => predicate_tightness(condition),
        Step::Sign(..) => 5,
        Step::Sum(_, others) => others.first().map_or(TIGHTEST, |(operator, _)| operator_tightness(*operator)),
        _ => TIGHTEST,
    }
}

fn predicate_tightness(predicate: &Predicate) -> u8 {
    match predicate {
        Predicate::Any(_) => 0,
        Predicate::All(_) => 1,
        Predicate::Compare(..) | Predicate::StartsWith(..) => 2,
        _ => TIGHTEST,
    }
}

fn operator_tightness(operator: Operator) -> u8 {
    match operator {
        Operator::Add | Operator::Subtract => 3,
        Operator::Multiply | Operator::Divide | Operator::Remainder => 4,
    }
}

fn comparison_sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
