//! Which relation a name in a query belongs to.
//!
//! ```text
//!   SELECT a, (SELECT max(u.b) FROM u WHERE u.c = d) FROM t, (SELECT 1 AS e) x ORDER BY a
//!     outer select   t (a, d), x (e)         a → t
//!     inner select   u (b, c)                b, c → u      d → not in u: outwards → t
//! ```

use std::collections::HashSet;

/// Something in FROM.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The name that it goes by.
    pub(super) alias: String,
    /// Its columns, with their numbers; none: not known.
    pub(super) columns: Option<Vec<(String, i64)>>,
    /// The need that reading its columns adds to.
    pub(super) need: Option<usize>,
}

/// A query or a select around the place that is looked at.
pub(super) enum Frame {
    Query {
        /// WITH queries in sight, and their columns as far as they are known.
        with: Vec<(String, Option<Vec<String>>)>,
        /// What the select that has just ended reads from: ORDER BY sees it.
        ended: Vec<Source>,
    },
    Select(Vec<Source>),
}

/// Which columns of which needs a name may mean: the need, and a number, or all of them.
pub(super) type Uses = Vec<(usize, Option<i64>)>;

/// The frames around a place, the innermost last.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) frames: Vec<Frame>,
    /// Expressions that name columns of the result, by their address.
    pub(super) of_result: HashSet<usize>,
}

impl Scope {
    /// The sources in sight, those of one level together, from the inside.
    fn levels(&self) -> impl Iterator<Item = &[Source]> {
        let count = self.frames.len();
        (0..count).rev().filter_map(move |at| match &self.frames[at] {
            Frame::Select(sources) => Some(sources.as_slice()),
            Frame::Query { ended, .. } => {
                let is_behind = !matches!(self.frames.get(at + 1), Some(Frame::Select(_)));
                is_behind.then_some(ended.as_slice())
            }
        })
    }

    /// A WITH query of a name, and its columns.
    pub(super) fn with_named(&self, name: &str) -> Option<Option<Vec<String>>> {
        self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Query { with, .. } => {
                with.iter().rev().find(|(known, _)| known == name).map(|(_, columns)| columns.clone())
            }
            Frame::Select(_) => None,
        })
    }

    /// What a column's name, perhaps behind a relation's, means.
    pub(super) fn column(&self, relation: Option<&str>, name: &str) -> Uses {
        let mut uses = Uses::new();
        for level in self.levels() {
            let mut found = false;
            for source in level.iter().filter(|source| relation.is_none_or(|relation| source.alias == relation)) {
                found |= relation.is_some();
                let Some(columns) = &source.columns else { continue };
                if let Some((_, number)) = columns.iter().find(|(known, _)| known == name) {
                    found = true;
                    uses.extend(source.need.map(|need| (need, Some(*number))));
                }
            }
            if !found && relation.is_none() {
                // A whole row: SELECT t FROM t.
                for source in level.iter().filter(|source| source.alias == name) {
                    found = true;
                    uses.extend(source.need.map(|need| (need, None)));
                }
            }
            if found {
                break;
            }
        }
        uses
    }

    /// What `*` or `t.*` means.
    pub(super) fn all(&self, relation: Option<&str>) -> Uses {
        let mut uses = Uses::new();
        for level in self.levels() {
            let fits = |source: &&Source| relation.is_none_or(|relation| source.alias == relation);
            let found: Vec<&Source> = level.iter().filter(fits).collect();
            uses.extend(found.iter().filter_map(|source| Some((source.need?, None))));
            if relation.is_none() || !found.is_empty() {
                break;
            }
        }
        uses
    }

    /// Whether a relation of a name is in sight.
    pub(super) fn has_relation(&self, name: &str) -> bool {
        self.levels().any(|level| level.iter().any(|source| source.alias == name))
    }
}
