//! The tables of a scenario: their columns, keys, indexes and rows, and the statements that make them.

use crate::random::Random;
use crate::types::Type;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name: that of its type, so that USING and NATURAL find equal ones in other tables.
    pub name: String,
    /// The type of its values.
    pub data_type: Type,
    /// Its type as declared: `varchar(8)`, `numeric(10,2)`.
    pub declared: &'static str,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// The largest magnitude of its numbers.
    pub bound: f64,
}

/// A table with its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns; the first is `id`.
    pub columns: Vec<Column>,
    /// Whether `id` is its primary key.
    pub is_keyed: bool,
    /// Columns that have an index.
    pub indexed: Vec<usize>,
    /// Values as text; none is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    /// A random table of up to `rows_max` rows.
    pub fn random(random: &mut Random, name: String, rows_max: usize) -> Table {
        let id = Column { name: "id".into(), data_type: Type::Int4, declared: "int4", not_null: true, bound: 1000.0 };
        let mut columns = vec![id];
        let mut types = vec![Type::Int4, Type::Text];
        for data_type in [Type::Int2, Type::Int8, Type::Numeric, Type::Float8, Type::Bool, Type::Date, Type::Timestamp]
        {
            if random.chance(50) {
                types.push(data_type);
            }
        }
        for data_type in &Type::ALL[9..] {
            if random.chance(22) {
                types.push(*data_type);
            }
        }
        let mut edged = Vec::new();
        for data_type in types {
            let has_edges = random.chance(20) && !data_type.edges().is_empty();
            edged.push(has_edges);
            columns.push(Column::random(random, data_type, has_edges));
        }
        let rows = if rows_max > 8 { random.between(100, rows_max) } else { random.between(0, rows_max) };
        let rows = (0..rows).map(|row| {
            let mut values = vec![Some(row.to_string())];
            for (column, has_edges) in columns[1..].iter().zip(&edged) {
                values.push(column.value(random, *has_edges));
            }
            values
        });
        let rows = rows.collect();
        let mut indexed: Vec<usize> = (1..columns.len()).filter(|_| random.chance(20)).collect();
        indexed.retain(|&place| columns[place].data_type != Type::Jsonb);
        Table { name, columns, is_keyed: random.chance(80), indexed, rows }
    }

    /// The statements that make it.
    pub fn statements(&self) -> Vec<String> {
        let column = |column: &Column| {
            format!("{} {}{}", column.name, column.declared, if column.not_null { " NOT NULL" } else { "" })
        };
        let mut columns: Vec<String> = self.columns.iter().map(column).collect();
        if self.is_keyed {
            columns.push("PRIMARY KEY (id)".into());
        }
        let mut statements = vec![format!("CREATE TABLE {} ({})", self.name, columns.join(", "))];
        for chunk in self.rows.chunks(200) {
            let rows: Vec<String> = chunk.iter().map(|row| self.row(row)).collect();
            statements.push(format!("INSERT INTO {} VALUES\n  {}", self.name, rows.join(",\n  ")));
        }
        for &place in &self.indexed {
            if let Some(column) = self.columns.get(place) {
                statements.push(format!("CREATE INDEX ON {} ({})", self.name, column.name));
            }
        }
        statements
    }

    fn row(&self, row: &[Option<String>]) -> String {
        let values = row.iter().zip(&self.columns).map(|(value, column)| match value {
            Some(value) => column.data_type.literal(value, false),
            None => "NULL".to_owned(),
        });
        format!("({})", values.collect::<Vec<_>>().join(", "))
    }
}

impl Column {
    fn random(random: &mut Random, data_type: Type, has_edges: bool) -> Column {
        let declared = match data_type {
            Type::Text => random.word(&["text", "varchar(60)", "text"]),
            Type::Numeric => random.word(&["numeric(10,2)", "numeric", "numeric(12,4)"]),
            other => other.name(),
        };
        let bound = if !data_type.is_number() {
            0.0
        } else if has_edges {
            data_type
                .edges()
                .iter()
                .filter_map(|edge| edge.parse::<f64>().ok())
                .fold(1e8, |bound, edge| if edge.is_finite() { edge.abs().max(bound) } else { bound })
        } else {
            100.0
        };
        let name = data_type.column_name().to_owned();
        Column { name, data_type, declared, not_null: random.chance(20), bound }
    }

    /// A random value of the column.
    pub fn value(&self, random: &mut Random, has_edges: bool) -> Option<String> {
        if !self.not_null && random.chance(20) {
            return None;
        }
        let values = if has_edges && random.chance(30) { self.data_type.edges() } else { self.data_type.domain() };
        Some(random.word(values).to_owned())
    }
}
