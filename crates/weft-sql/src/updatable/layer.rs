//! The layers between a view and the table that is changed through it.

use sqlparser::ast::Expr;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::TableRef;

/// What a statement does to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl Verb {
    /// In front of a relation.
    fn of_relation(self) -> &'static str {
        match self {
            Verb::Insert => "insert into",
            Verb::Update => "update",
            Verb::Delete => "delete from",
        }
    }

    /// Why a view cannot be changed.
    pub(super) fn refusal(self, view: &str, why: &str) -> Error {
        let (doing, event) = match self {
            Verb::Insert => ("inserting into", "INSERT"),
            Verb::Update => ("updating", "UPDATE"),
            Verb::Delete => ("deleting from", "DELETE"),
        };
        let message = format!("cannot {} view \"{view}\"", self.of_relation());
        let hint = format!(
            "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO \
             INSTEAD rule."
        );
        Error::new(Code::NotInPrerequisiteState, message).detail(why).hint(hint)
    }

    /// Why a column of a view cannot be changed.
    fn refusal_of_column(self, column: &str, view: &str, why: &str) -> Error {
        let message = format!("cannot {} column \"{column}\" of view \"{view}\"", self.of_relation());
        Error::new(Code::FeatureNotSupported, message).detail(why)
    }
}

/// Where a column of a layer comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A column of what is below.
    Column(String),
    /// Something that cannot be written to, and why.
    Other(&'static str),
}

/// A column of a view.
#[derive(Clone, Debug)]
pub(crate) struct LayerColumn {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    /// What it is, over the columns of what is below.
    pub(crate) expr: Expr,
    pub(crate) source: Source,
    /// The default that ALTER VIEW gave it.
    pub(crate) default: Option<String>,
}

impl LayerColumn {
    /// The column below that it is.
    pub(crate) fn below(&self) -> Option<&str> {
        match &self.source {
            Source::Column(name) => Some(name),
            Source::Other(_) => None,
        }
    }
}

/// A view over one relation.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) name: String,
    /// What its query calls the relation below.
    pub(crate) alias: String,
    pub(crate) columns: Vec<LayerColumn>,
    /// Its WHERE.
    pub(crate) selection: Option<Expr>,
    /// Whether new rows must meet the WHERE.
    pub(crate) is_checked: bool,
}

impl Layer {
    fn column(&self, name: &str) -> Option<&LayerColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A view whose rows are rows of one table.
#[derive(Clone)]
pub struct UpdatableView {
    /// The table that is changed.
    pub(crate) table: TableRef,
    /// From the view to the one over the table.
    pub(crate) layers: Vec<Layer>,
}

impl UpdatableView {
    /// The view's name.
    pub(crate) fn name(&self) -> &str {
        self.layers.first().map_or("", |layer| &layer.name)
    }

    /// Whether new rows must meet some condition.
    pub(crate) fn checks(&self) -> bool {
        self.layers.iter().any(|layer| layer.is_checked && layer.selection.is_some())
    }

    /// The ordinal in the table of a column of the view.
    pub(crate) fn ordinal(&self, name: &str, verb: Verb) -> Result<usize> {
        self.ordinal_below(0, name, verb)
    }

    /// The same from a layer on.
    fn ordinal_below(&self, from: usize, name: &str, verb: Verb) -> Result<usize> {
        let mut name = name;
        for layer in &self.layers[from..] {
            let column = layer.column(name).ok_or_else(|| undefined(name, &layer.name))?;
            match &column.source {
                Source::Column(below) => name = below,
                Source::Other(why) => return Err(verb.refusal_of_column(name, &layer.name, why)),
            }
        }
        self.table.def.schema.visible_ordinal(name).ok_or_else(|| undefined(name, &self.table.def.name))
    }

    /// The ordinals of columns that an INSERT gives values for: the named ones, or as many of the first ones as it has
    /// values in a row.
    pub(crate) fn given(&self, named: &[String], width: usize) -> Result<Vec<usize>> {
        let all: Vec<&str> = match named {
            [] => self.names().take(width).collect(),
            named => named.iter().map(String::as_str).collect(),
        };
        if let Some(unknown) = all.iter().find(|name| self.layers.iter().take(1).all(|it| it.column(name).is_none())) {
            return Err(undefined(unknown, self.name()));
        }
        if let Some(twice) = (1..all.len()).find(|&at| all[..at].contains(&all[at])) {
            let message = format!("column \"{}\" specified more than once", all[twice]);
            return Err(Error::new(Code::DuplicateColumn, message));
        }
        let ordinals = all.iter().map(|name| self.ordinal(name, Verb::Insert)).collect::<Result<Vec<usize>>>()?;
        match (1..ordinals.len()).find(|&at| ordinals[..at].contains(&ordinals[at])) {
            Some(twice) => Err(self.assigned_twice(ordinals[twice])),
            None => Ok(ordinals),
        }
    }

    /// The error of a column of the table that two columns of the view are.
    fn assigned_twice(&self, ordinal: usize) -> Error {
        let name = &self.table.def.schema.columns[ordinal].name;
        Error::new(Code::SyntaxError, format!("multiple assignments to same column \"{name}\""))
    }

    /// The names of the view's columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().take(1).flat_map(|layer| &layer.columns).map(|column| column.name.as_str())
    }

    /// The defaults of an INSERT that differ from the table's, by ordinal: a layer's go before those below it.
    pub(crate) fn insert_defaults(&self) -> Result<Vec<(usize, &str)>> {
        let mut defaults: Vec<(usize, &str)> = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            for column in &layer.columns {
                let Some(default) = &column.default else { continue };
                let ordinal = self.ordinal_below(at, &column.name, Verb::Insert)?;
                if defaults.iter().all(|(known, _)| *known != ordinal) {
                    defaults.push((ordinal, default));
                }
            }
        }
        Ok(defaults)
    }

    /// What `SET column = DEFAULT` makes of a column of the table: the view's own default, or NULL, as in PostgreSQL.
    pub(crate) fn update_default(&self, ordinal: usize) -> Option<&str> {
        let columns = self.layers.iter().take(1).flat_map(|layer| &layer.columns);
        let mut own = columns.filter(|column| self.ordinal(&column.name, Verb::Update).is_ok_and(|of| of == ordinal));
        own.find_map(|column| column.default.as_deref())
    }
}

fn undefined(column: &str, relation: &str) -> Error {
    let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
    Error::new(Code::UndefinedColumn, message).about(relation, Some(column), None)
}
