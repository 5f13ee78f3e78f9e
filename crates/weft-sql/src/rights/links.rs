//! What the owner of a view needs of what is below it, when the view is changed.
//!
//! ```text
//!   v (x) AS SELECT a FROM t WHERE b > 0       UPDATE v SET x = 1 WHERE x = 2
//!     v   UPDATE of x, SELECT of x             as v's owner: t   UPDATE of a, SELECT of a and b
//! ```

use super::need::Needs;
use super::numbers::number_of;
use crate::updatable::{LayerColumn, UpdatableView};

/// A view that is changed, and what is below it: what the statement does to the one, its owner does to the other.
pub(super) struct Link {
    view: usize,
    below: usize,
    /// The numbers of the view's columns, and those of what they are below.
    columns: Vec<(i64, i64)>,
}

impl Link {
    /// The owner needs below what is needed of the view; the columns that the view's query reads only when some are
    /// read (PostgreSQL's rewriteTargetView).
    pub(super) fn hand_down(&self, needs: &mut Needs) {
        let of = needs.relations[self.view].clone();
        let below = |number: &i64| self.columns.iter().find(|(own, _)| own == number).map(|(_, below)| *below);
        let need = &mut needs.relations[self.below];
        need.rights = of.rights;
        need.insert.numbers.extend(of.insert.numbers.iter().filter_map(below));
        need.update.numbers.extend(of.update.numbers.iter().filter_map(below));
        (need.insert.all, need.update.all) = (of.insert.all, of.update.all);
    }
}

/// What is below a view that is changed; the needs of its query follow its own.
pub(super) fn links(at: usize, view: &UpdatableView) -> Vec<Link> {
    let mut links = Vec::with_capacity(view.layers.len());
    for (depth, layer) in view.layers.iter().enumerate() {
        let number_below = |name: &str| match view.layers.get(depth + 1) {
            Some(below) => below.columns.iter().zip(1..).find(|(column, _)| column.name == name).map(|(_, at)| at),
            None => view.table.def.schema.visible_ordinal(name).map(|at| number_of(&view.table.def, at)),
        };
        let below = |(column, number): (&LayerColumn, i64)| Some((number, number_below(column.below()?)?));
        let columns = layer.columns.iter().zip(1..).filter_map(below).collect();
        links.push(Link { view: at + depth, below: at + depth + 1, columns });
    }
    links
}
