//! In which order the relations of FROM come in: those first that constants or rows so far find, whatever is written.
//!
//! ```text
//!   FROM pg_class c, pg_class c2, pg_index i LEFT JOIN pg_constraint o ON o.conindid = i.indexrelid
//!   WHERE c.oid = 16387 AND c.oid = i.indrelid AND i.indexrelid = c2.oid
//!     c       by a constant
//!     i       by c's row           c2 would be all of pg_class here
//!     c2      by i's rows
//!     o       behind all that stood before its LEFT JOIN
//! ```
//!
//! 1. Relations of inner joins change places; others come in behind all that is written before them. Conditions of an
//!    inner join are conditions of WHERE, those of a LEFT JOIN stay its own. A FROM with RIGHT, FULL, USING or NATURAL
//!    joins keeps that item whole.
//! 2. Nothing here decides what a query means: a name that is not understood only leaves the order as it is written.

use sqlparser::ast::{
    BinaryOperator, Expr, JoinConstraint, JoinOperator, Select, SelectItem, TableFactor, TableWithJoins,
};

use crate::bind::{Binder, fold, plain_operator};
use crate::declared::{self, Relation};
use crate::tree::JoinKind;
use crate::wanted::{grows, is_key};

/// What comes in next.
#[derive(Clone, Copy)]
pub(crate) enum Step<'q> {
    /// An item of FROM with all its joins.
    Whole(&'q TableWithJoins),
    /// One of its factors: joined, with the conditions of a LEFT JOIN, to all before it.
    One(&'q TableFactor, JoinKind, Option<&'q JoinConstraint>),
}

/// FROM and WHERE of a SELECT: what comes in, one after the other, and the conditions on the product.
pub(crate) struct Steps<'q> {
    pub(crate) steps: Vec<Step<'q>>,
    pub(crate) conditions: Vec<&'q Expr>,
}

/// A relation of the catalog that may change its place.
struct Candidate {
    at: usize,
    alias: String,
    relation: &'static Relation,
}

/// One side of an equality.
enum Side {
    Column(usize, String),
    /// An expression over relations.
    Over(Vec<usize>),
    /// It has its value before there are rows.
    Free,
    Unknown,
}

/// What an equality finds: the rows of a relation by a column, by what is known of other relations.
struct Finds {
    of: usize,
    column: String,
    by: Vec<usize>,
}

/// The parts of a conjunction.
pub(crate) fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Nested(inner) => conjuncts(inner),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let mut all = conjuncts(left);
            all.extend(conjuncts(right));
            all
        }
        other => vec![other],
    }
}

impl Binder {
    /// FROM and WHERE of a SELECT, in the order in which they are best carried out.
    pub(crate) fn steps<'q>(&self, select: &'q Select) -> Steps<'q> {
        let mut found = Steps { steps: Vec::new(), conditions: Vec::new() };
        for item in &select.from {
            found.take(item);
        }
        found.conditions.extend(select.selection.iter().flat_map(conjuncts));
        let shows_all = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
        if found.steps.len() > 1 && !select.projection.iter().any(shows_all) {
            found.order(&self.movable(&found.steps));
        }
        found
    }

    /// The steps that may change places: relations of the catalog in inner joins.
    fn movable(&self, steps: &[Step<'_>]) -> Vec<Candidate> {
        let candidate = |(at, step): (usize, &Step<'_>)| {
            let Step::One(TableFactor::Table { name, alias, args: None, .. }, JoinKind::Inner, None) = step else {
                return None;
            };
            let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
            let (schema, table) = match &parts[..] {
                [table] if self.is_of_query(table) => return None,
                [table] => (None, table),
                [.., schema, table] => (Some(schema.as_str()), table),
                [] => return None,
            };
            if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                return None;
            }
            let alias = alias.as_ref().map_or_else(|| table.clone(), |alias| fold(&alias.name));
            Some(Candidate { at, alias, relation: declared::find(schema, table)? })
        };
        steps.iter().enumerate().filter_map(candidate).collect()
    }

    /// Whether a name is one of WITH.
    fn is_of_query(&self, name: &str) -> bool {
        self.with.iter().any(|with| with.name == *name) || self.recursive.iter().any(|(known, ..)| known == name)
    }
}

impl<'q> Steps<'q> {
    /// Takes an item of FROM apart, where that changes nothing.
    fn take(&mut self, item: &'q TableWithJoins) {
        let mut steps = vec![Step::One(&item.relation, JoinKind::Inner, None)];
        let mut conditions = Vec::new();
        for join in &item.joins {
            let step = match &join.join_operator {
                JoinOperator::Join(JoinConstraint::On(on)) | JoinOperator::Inner(JoinConstraint::On(on)) => {
                    conditions.extend(conjuncts(on));
                    Step::One(&join.relation, JoinKind::Inner, None)
                }
                JoinOperator::CrossJoin(JoinConstraint::None) => Step::One(&join.relation, JoinKind::Inner, None),
                JoinOperator::Left(on @ JoinConstraint::On(_))
                | JoinOperator::LeftOuter(on @ JoinConstraint::On(_)) => {
                    Step::One(&join.relation, JoinKind::Left, Some(on))
                }
                _ => {
                    self.steps.push(Step::Whole(item));
                    return;
                }
            };
            steps.push(step);
        }
        self.steps.extend(steps);
        self.conditions.extend(conditions);
    }

    /// Puts the steps into the order in which each finds its rows best.
    fn order(&mut self, candidates: &[Candidate]) {
        let known_all = candidates.len() == self.steps.len();
        let finds: Vec<Finds> = self.conditions.iter().flat_map(|part| found_by(part, candidates, known_all)).collect();
        let mut left: Vec<usize> = (0..self.steps.len()).collect();
        let mut placed: Vec<usize> = Vec::new();
        while !left.is_empty() {
            let rank = |candidate: &&Candidate| {
                let rank = rank(candidate, &finds, &placed)?;
                Some((rank, candidate.at))
            };
            let waiting = candidates.iter().filter(|candidate| left.contains(&candidate.at));
            let best = waiting.filter_map(|candidate| rank(&candidate)).min().map(|(_, at)| at);
            let next = best.unwrap_or(left[0]);
            left.retain(|at| *at != next);
            placed.push(next);
        }
        self.steps = placed.into_iter().map(|at| self.steps[at]).collect();
    }
}

/// How well a relation finds its rows when others are there; the lower, the better.
fn rank(candidate: &Candidate, finds: &[Finds], placed: &[usize]) -> Option<u8> {
    let known = |find: &&Finds| find.of == candidate.at && find.by.iter().all(|at| placed.contains(at));
    let is_small = !grows(candidate.relation.name);
    let rank = |find: &Finds| match (is_key(candidate.relation.name, &find.column) || is_small, find.by.is_empty()) {
        (true, true) => Some(0),
        (true, false) => Some(1),
        (false, false) => Some(2),
        (false, true) => None,
    };
    finds.iter().filter(known).filter_map(rank).min()
}

/// What a condition finds.
fn found_by(part: &Expr, candidates: &[Candidate], known_all: bool) -> Vec<Finds> {
    let side = |expr: &Expr| side_of(expr, candidates, known_all);
    let find = |column: Side, by: Side| match (column, by) {
        (Side::Column(of, column), Side::Free) => Some(Finds { of, column, by: Vec::new() }),
        (Side::Column(of, column), Side::Column(at, _)) if at != of => Some(Finds { of, column, by: vec![at] }),
        (Side::Column(of, column), Side::Over(by)) if !by.contains(&of) => Some(Finds { of, column, by }),
        _ => None,
    };
    match part {
        Expr::Nested(inner) => found_by(inner, candidates, known_all),
        Expr::BinaryOp { left, op, right } => match plain_operator(op) {
            BinaryOperator::Eq => {
                [find(side(left), side(right)), find(side(right), side(left))].into_iter().flatten().collect()
            }
            BinaryOperator::PGRegexMatch => find(side(left), side(right)).into_iter().collect(),
            _ => Vec::new(),
        },
        Expr::InList { expr, list, negated: false } if list.iter().all(|item| matches!(side(item), Side::Free)) => {
            find(side(expr), Side::Free).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What an expression reads.
fn side_of(expr: &Expr, candidates: &[Candidate], known_all: bool) -> Side {
    let has = |candidate: &&Candidate, name: &str| candidate.relation.columns.iter().any(|(known, _)| *known == name);
    match expr {
        Expr::Nested(inner) => side_of(inner, candidates, known_all),
        Expr::Value(_) | Expr::TypedString(_) => Side::Free,
        Expr::Cast { expr, .. } | Expr::Collate { expr, .. } => match side_of(expr, candidates, known_all) {
            Side::Column(of, _) => Side::Over(vec![of]),
            other => other,
        },
        Expr::Identifier(name) => {
            let name = fold(name);
            match candidates.iter().find(|candidate| has(candidate, &name)) {
                _ if !known_all => Side::Unknown,
                Some(candidate) => Side::Column(candidate.at, name),
                None => Side::Free,
            }
        }
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<String> = parts.iter().map(fold).collect();
            let [.., alias, name] = &parts[..] else { return Side::Unknown };
            match candidates.iter().find(|candidate| candidate.alias == *alias) {
                Some(candidate) if has(&candidate, name) => Side::Column(candidate.at, name.clone()),
                Some(_) => Side::Unknown,
                None if known_all => Side::Free,
                None => Side::Unknown,
            }
        }
        _ => Side::Unknown,
    }
}

#[cfg(test)]
mod tests;
