//! Regular expressions and LIKE, as far as catalog queries go.
//!
//! ```text
//!   ^(cust.*)$    ^pg_    ^(a|b)$    [a-z]+    \d    x?          what psql and drivers send
//! ```
//!
//! 1. Matching is bounded: more than [`STEPS_MAX`] steps are an error, never an answer.
//!
//! Source: backtracking over the pattern's tree.

use weft_format::{Code, Error, Result};

/// How many steps one match may take.
const STEPS_MAX: u32 = 1_000_000;

enum Node {
    Any,
    Char(char),
    /// Ranges, and whether they are what does not match.
    Class(Vec<(char, char)>, bool),
    Start,
    End,
    /// Alternatives of sequences.
    Group(Vec<Vec<Node>>),
    /// Parentheses, with their number.
    Captured(usize, Vec<Vec<Node>>),
    /// A node, how often at least, and at most.
    Repeat(Box<Node>, u32, u32),
}

/// A compiled pattern.
pub(crate) struct Pattern {
    root: Node,
    insensitive: bool,
    groups: usize,
}

/// Where a pattern was found: from which character to which, and its parentheses.
pub(crate) struct Found {
    pub(crate) all: (usize, usize),
    pub(crate) groups: Vec<Option<(usize, usize)>>,
}

struct Reader<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    depth: u32,
    groups: usize,
}

fn invalid(what: &str) -> Error {
    Error::new(Code::InvalidParameterValue, format!("invalid regular expression: {what}"))
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Result<Vec<Vec<Node>>> {
        self.depth += 1;
        if self.depth > 50 {
            return Err(invalid("it nests too deep"));
        }
        let mut all = vec![Vec::new()];
        while let Some(&c) = self.chars.peek() {
            if c == ')' {
                break;
            }
            self.chars.next();
            if c == '|' {
                all.push(Vec::new());
                continue;
            }
            let node = self.node(c)?;
            let node = self.repeated(node)?;
            all.last_mut().expect("there is one alternative at least").push(node);
        }
        self.depth -= 1;
        Ok(all)
    }

    fn node(&mut self, c: char) -> Result<Node> {
        Ok(match c {
            '.' => Node::Any,
            '^' => Node::Start,
            '$' => Node::End,
            '[' => self.class()?,
            '(' => {
                let is_captured = self.chars.peek() != Some(&'?');
                if !is_captured {
                    self.chars.next();
                    if self.chars.next() != Some(':') {
                        return Err(invalid("lookaround is not supported"));
                    }
                }
                let number = self.groups;
                self.groups += usize::from(is_captured);
                let all = self.alternatives()?;
                let group = if is_captured { Node::Captured(number, all) } else { Node::Group(all) };
                if self.chars.next() != Some(')') {
                    return Err(invalid("parentheses () not balanced"));
                }
                group
            }
            '\\' => match self.chars.next() {
                Some('d') => Node::Class(vec![('0', '9')], false),
                Some('w') => Node::Class(vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')], false),
                Some('s') => Node::Class(vec![(' ', ' '), ('\t', '\r')], false),
                Some(c) => Node::Char(c),
                None => return Err(invalid("invalid escape \\ sequence")),
            },
            '*' | '+' | '?' => return Err(invalid("quantifier operand invalid")),
            c => Node::Char(c),
        })
    }

    fn repeated(&mut self, mut node: Node) -> Result<Node> {
        while let Some(&c) = self.chars.peek() {
            let (least, most) = match c {
                '*' => (0, u32::MAX),
                '+' => (1, u32::MAX),
                '?' => (0, 1),
                '{' => {
                    let rest: String = self.chars.clone().skip(1).take_while(|&c| c != '}').collect();
                    let (least, most) = rest.split_once(',').unwrap_or((&rest, &rest));
                    let number = |text: &str| text.parse::<u32>().map_err(|_| invalid("invalid repetition count(s)"));
                    let bounds = (number(least)?, if most.is_empty() { u32::MAX } else { number(most)? });
                    for _ in 0..=rest.chars().count() {
                        self.chars.next();
                    }
                    bounds
                }
                _ => break,
            };
            self.chars.next();
            node = Node::Repeat(Box::new(node), least, most);
        }
        Ok(node)
    }

    fn class(&mut self) -> Result<Node> {
        let unfinished = || invalid("brackets [] not balanced");
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        loop {
            let mut c = self.chars.next().ok_or_else(unfinished)?;
            if c == ']' && !ranges.is_empty() {
                return Ok(Node::Class(ranges, negated));
            }
            if c == '\\' {
                c = self.chars.next().ok_or_else(unfinished)?;
            }
            let mut ahead = self.chars.clone();
            if ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']') {
                self.chars.next();
                let end = self.chars.next().ok_or_else(unfinished)?;
                ranges.push((c, end));
            } else {
                ranges.push((c, c));
            }
        }
    }
}

impl Pattern {
    /// A regular expression.
    pub(crate) fn regex(text: &str, insensitive: bool) -> Result<Pattern> {
        let text = if insensitive { text.to_lowercase() } else { text.to_owned() };
        let mut reader =
            Reader { chars: text.strip_prefix("***:").unwrap_or(&text).chars().peekable(), depth: 0, groups: 0 };
        let all = reader.alternatives()?;
        if reader.chars.next().is_some() {
            return Err(invalid("parentheses () not balanced"));
        }
        Ok(Pattern { root: Node::Group(all), insensitive, groups: reader.groups })
    }

    /// A pattern of LIKE.
    pub(crate) fn like(text: &str, escape: Option<char>, insensitive: bool) -> Pattern {
        let text = if insensitive { text.to_lowercase() } else { text.to_owned() };
        let mut nodes = vec![Node::Start];
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            nodes.push(match c {
                c if Some(c) == escape => Node::Char(chars.next().unwrap_or(c)),
                '%' => Node::Repeat(Box::new(Node::Any), 0, u32::MAX),
                '_' => Node::Any,
                c => Node::Char(c),
            });
        }
        nodes.push(Node::End);
        Pattern { root: Node::Group(vec![nodes]), insensitive, groups: 0 }
    }

    /// Whether it is found in a text.
    pub(crate) fn is_in(&self, text: &str) -> Result<bool> {
        let chars: Vec<char> =
            if self.insensitive { text.to_lowercase().chars().collect() } else { text.chars().collect() };
        let mut matcher = Matcher { text: &chars, steps: 0, groups: Vec::new() };
        let found = (0..=chars.len()).any(|at| matcher.node(&self.root, at, &mut |_, _| true));
        matcher.told(found)
    }

    /// Where it is found first, from a character on.
    pub(crate) fn find(&self, text: &[char], from: usize) -> Result<Option<Found>> {
        let lower = |c: &char| c.to_lowercase().next().unwrap_or(*c);
        let chars: Vec<char> = if self.insensitive { text.iter().map(lower).collect() } else { text.to_vec() };
        let mut matcher = Matcher { text: &chars, steps: 0, groups: vec![None; self.groups] };
        for start in from..=chars.len() {
            let mut found = None;
            let mut end = |matcher: &mut Matcher<'_>, end| {
                found = Some(Found { all: (start, end), groups: matcher.groups.clone() });
                true
            };
            if matcher.node(&self.root, start, &mut end) {
                return matcher.told(found);
            }
        }
        matcher.told(None)
    }
}

struct Matcher<'a> {
    text: &'a [char],
    steps: u32,
    groups: Vec<Option<(usize, usize)>>,
}

type Then<'t> = &'t mut dyn FnMut(&mut Matcher<'_>, usize) -> bool;

impl Matcher<'_> {
    /// Invariant 1.
    fn told<T>(&self, answer: T) -> Result<T> {
        if self.steps > STEPS_MAX {
            let error = Error::new(Code::StatementTooComplex, "the regular expression takes too many steps");
            return Err(error.hint("write it without repetitions of alternatives that begin alike"));
        }
        Ok(answer)
    }

    fn node(&mut self, node: &Node, at: usize, then: Then<'_>) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return false;
        }
        let one = |matches: bool| matches.then_some(at + 1);
        let next = match node {
            Node::Any => one(at < self.text.len()),
            Node::Char(c) => one(self.text.get(at) == Some(c)),
            Node::Class(ranges, negated) => {
                let is_in = |c: &char| ranges.iter().any(|(from, to)| from <= c && c <= to) != *negated;
                one(self.text.get(at).is_some_and(is_in))
            }
            Node::Start => (at == 0).then_some(at),
            Node::End => (at == self.text.len()).then_some(at),
            Node::Group(all) => return all.iter().any(|nodes| self.sequence(nodes, at, then)),
            Node::Captured(number, all) => {
                let mut noted = |matcher: &mut Matcher<'_>, end: usize| {
                    let before = matcher.groups.get(*number).copied();
                    if let Some(group) = matcher.groups.get_mut(*number) {
                        *group = Some((at, end));
                    }
                    let holds = then(matcher, end);
                    if let (false, Some(group), Some(before)) = (holds, matcher.groups.get_mut(*number), before) {
                        *group = before;
                    }
                    holds
                };
                return all.iter().any(|nodes| self.sequence(nodes, at, &mut noted));
            }
            Node::Repeat(node, least, most) => return self.repeat(node, *least, *most, at, then),
        };
        next.is_some_and(|next| then(self, next))
    }

    fn sequence(&mut self, nodes: &[Node], at: usize, then: Then<'_>) -> bool {
        match nodes.split_first() {
            None => then(self, at),
            Some((first, rest)) => self.node(first, at, &mut |matcher, at| matcher.sequence(rest, at, then)),
        }
    }

    fn repeat(&mut self, node: &Node, least: u32, most: u32, at: usize, then: Then<'_>) -> bool {
        // Single characters are taken without recursion.
        if matches!(node, Node::Any | Node::Char(_) | Node::Class(..)) {
            let mut end = at;
            while end - at < most as usize && self.node(node, end, &mut |_, _| true) {
                end += 1;
            }
            return (at..=end).rev().take_while(|&stop| stop - at >= least as usize).any(|stop| then(self, stop));
        }
        if most == 0 {
            return then(self, at);
        }
        let again = self.node(node, at, &mut |matcher, next| {
            next > at && matcher.repeat(node, least.saturating_sub(1), most.saturating_sub(1), next, then)
        });
        again || least == 0 && then(self, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_postgresql() {
        let cases = [
            ("^(customers)$", "customers", true),
            ("^(customers)$", "customers2", false),
            ("^(cust.*)$", "customers", true),
            ("^pg_", "pg_class", true),
            ("^pg_", "a_pg_", false),
            ("a|b+c", "xbbcx", true),
            ("^(a|bc)*$", "abcbca", true),
            ("^[a-c_]{2,3}$", "a_b", true),
            ("^[^x]+$", "axb", false),
            ("\\d\\.", "a1.", true),
        ];
        for (pattern, text, wanted) in cases {
            assert_eq!(Pattern::regex(pattern, false).unwrap().is_in(text).unwrap(), wanted, "{pattern} in {text}");
        }
        assert!(Pattern::regex("(a", false).is_err() && Pattern::regex("*a", false).is_err());
        assert!(Pattern::like("a\\_%c", Some('\\'), false).is_in("a_xc").unwrap());
        assert!(!Pattern::like("a\\_%c", Some('\\'), false).is_in("abxc").unwrap());
        assert!(Pattern::like("PUB%", Some('\\'), true).is_in("public").unwrap());
    }
}
