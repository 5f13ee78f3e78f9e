//! What there is to dump, read from pg_catalog.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{Reader, Row, elements, literal, number, text};
use crate::failure::Failure;

/// A table, view or sequence.
pub(super) struct Relation {
    pub(super) oid: u32,
    /// Its name with its schema, quoted where that is needed.
    pub(super) name: String,
    /// Without the schema, as it is.
    pub(super) plain_name: String,
    /// `r` table, `v` view, `S` sequence.
    pub(super) kind: char,
    /// How a table stores its rows: the word behind USING.
    pub(super) method: String,
    /// What its WITH says: names and values.
    pub(super) options: Vec<(String, String)>,
}

impl Relation {
    /// What statements call one.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            'v' => "VIEW",
            'm' => "MATERIALIZED VIEW",
            'S' => "SEQUENCE",
            _ => "TABLE",
        }
    }
}

/// A column of a table.
pub(super) struct Column {
    /// Quoted where that is needed.
    pub(super) name: String,
    /// As it is.
    pub(super) plain_name: String,
    pub(super) type_name: String,
    pub(super) not_null: bool,
    /// `a` always, `d` by default; none: no identity.
    pub(super) identity: Option<char>,
    pub(super) default: Option<String>,
    /// `default` is the expression that it is computed by.
    pub(super) generated: bool,
}

/// A constraint of a table.
pub(super) struct Constraint {
    pub(super) table: u32,
    pub(super) name: String,
    /// `p`, `u`, `f`, `c`.
    pub(super) kind: char,
    pub(super) definition: String,
}

/// A sequence's options, and where it is.
pub(super) struct Sequence {
    pub(super) relation: u32,
    pub(super) type_name: String,
    pub(super) start: String,
    pub(super) increment: String,
    pub(super) min: String,
    pub(super) max: String,
    pub(super) cache: String,
    pub(super) cycles: bool,
    /// The number that it is at, and whether that was given already.
    pub(super) place: Option<(String, bool)>,
    pub(super) owner: Option<Owner>,
}

/// The column that a sequence goes with.
pub(super) struct Owner {
    pub(super) table: u32,
    /// As it is, without quotes.
    pub(super) column: String,
    /// Whether as its identity.
    pub(super) is_identity: bool,
}

/// A view.
pub(super) struct View {
    pub(super) relation: u32,
    /// The names of its columns, quoted where that is needed.
    pub(super) columns: Vec<String>,
    pub(super) query: String,
    pub(super) materialized: bool,
    /// Of a materialised one: whether it may be read.
    pub(super) populated: bool,
    /// The relations that it reads.
    pub(super) reads: Vec<u32>,
    /// Its options, as WITH takes them.
    pub(super) options: Vec<String>,
    /// The defaults of columns: the column, quoted where that is needed, and the expression.
    pub(super) defaults: Vec<(String, String)>,
}

/// The number of the role that a database begins with.
pub(super) const FIRST_SUPERUSER: u32 = 10;

/// A function.
pub(super) struct Function {
    /// Its name with its schema and its arguments.
    pub(super) name: String,
    /// CREATE FUNCTION.
    pub(super) create: String,
    /// The relation whose rows it gives; 0: none.
    pub(super) gives: u32,
    pub(super) owner: String,
    /// Its owner is not the first superuser.
    pub(super) is_given: bool,
    pub(super) acl: Option<String>,
    pub(super) comment: Option<String>,
}

/// Everything but the rows.
pub(super) struct Catalog {
    /// Quoted where that is needed; without `public`.
    pub(super) schemas: Vec<String>,
    /// CREATE TYPE statements.
    pub(super) types: Vec<String>,
    pub(super) functions: Vec<Function>,
    pub(super) relations: Vec<Relation>,
    pub(super) columns: BTreeMap<u32, Vec<Column>>,
    pub(super) constraints: Vec<Constraint>,
    /// CREATE INDEX statements, by table.
    pub(super) indexes: Vec<String>,
    pub(super) sequences: Vec<Sequence>,
    /// Those that read others after those.
    pub(super) views: Vec<View>,
    /// COMMENT statements.
    pub(super) comments: Vec<String>,
}

/// Not the schemas of temporary relations, either.
const OWN: &str = "n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_temp_'";

impl Catalog {
    /// Reads all, or only tables with these names (`t` or `schema.t`) and what goes with them.
    pub(super) fn read(reader: &mut Reader<'_>, only: &[String]) -> Result<Catalog, Failure> {
        let mut relations = reader.relations()?;
        let mut sequences = reader.sequences(&relations)?;
        let mut schemas = reader.schemas()?;
        let mut types = reader.types()?;
        let mut functions = reader.functions()?;
        if !only.is_empty() {
            let named =
                |relation: &Relation| only.iter().any(|name| *name == relation.plain_name || *name == relation.name);
            let tables: BTreeSet<u32> = relations.iter().filter(|r| r.kind == 'r' && named(r)).map(|r| r.oid).collect();
            if tables.is_empty() {
                return Err(Failure::Other(format!("there is no table {}", only.join(", "))));
            }
            sequences.retain(|sequence| sequence.owner.as_ref().is_some_and(|owner| tables.contains(&owner.table)));
            let owned: BTreeSet<u32> = sequences.iter().map(|sequence| sequence.relation).collect();
            relations.retain(|relation| tables.contains(&relation.oid) || owned.contains(&relation.oid));
            schemas.clear();
            types.clear();
            functions.clear();
        }
        let kept: BTreeSet<u32> = relations.iter().map(|relation| relation.oid).collect();
        Ok(Catalog {
            columns: reader.columns()?,
            constraints: reader.constraints(&kept)?,
            indexes: reader.indexes(&kept)?,
            views: reader.views(&kept)?,
            comments: reader.comments(&relations, &kept, only.is_empty())?,
            schemas,
            types,
            functions,
            relations,
            sequences,
        })
    }

    /// The name of a relation with its schema.
    pub(super) fn name_of(&self, oid: u32) -> Option<&str> {
        self.relations.iter().find(|relation| relation.oid == oid).map(|relation| relation.name.as_str())
    }
}

impl Reader<'_> {
    fn schemas(&mut self) -> Result<Vec<String>, Failure> {
        let rows = self.rows(&format!("SELECT n.nspname FROM pg_namespace n WHERE {OWN} ORDER BY n.oid"))?;
        Ok(rows.iter().map(|row| text(row, 0)).filter(|name| name != "public").map(|name| self.quoted(&name)).collect())
    }

    fn types(&mut self) -> Result<Vec<String>, Failure> {
        let rows = self.rows(&format!(
            "SELECT n.nspname, t.typname, e.enumlabel FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace \
             LEFT JOIN pg_enum e ON e.enumtypid = t.oid WHERE {OWN} AND t.typtype = 'e' \
             ORDER BY t.oid, e.enumsortorder"
        ))?;
        let mut types: Vec<(String, Vec<String>)> = Vec::new();
        for row in &rows {
            let name = format!("{}.{}", self.quoted(&text(row, 0)), self.quoted(&text(row, 1)));
            if types.last().is_none_or(|(last, _)| *last != name) {
                types.push((name, Vec::new()));
            }
            if let (Some((_, labels)), Some(label)) = (types.last_mut(), row.get(2).and_then(Option::as_ref)) {
                labels.push(literal(label));
            }
        }
        let statement =
            |(name, labels): &(String, Vec<String>)| format!("CREATE TYPE {name} AS ENUM ({});", labels.join(", "));
        let mut statements: Vec<String> = types.iter().map(statement).collect();
        statements.extend(self.domains()?);
        Ok(statements)
    }

    /// Functions, in the order in which they were made.
    fn functions(&mut self) -> Result<Vec<Function>, Failure> {
        let rows = self.rows(&format!(
            "SELECT n.nspname, p.proname, pg_get_function_identity_arguments(p.oid), pg_get_functiondef(p.oid), \
             t.typrelid, pg_get_userbyid(p.proowner), p.proowner, p.proacl, obj_description(p.oid, 'pg_proc') \
             FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_type t ON t.oid = p.prorettype \
             WHERE {OWN} AND p.prolang = 14 ORDER BY p.oid"
        ))?;
        let function = |row: &Row| Function {
            name: format!("{}.{}({})", self.quoted(&text(row, 0)), self.quoted(&text(row, 1)), text(row, 2)),
            create: format!("{};", text(row, 3).trim_end()),
            gives: text(row, 4).parse().unwrap_or(0),
            owner: self.quoted(&text(row, 5)),
            is_given: number(row, 6) != FIRST_SUPERUSER,
            acl: row.get(7).cloned().flatten(),
            comment: row.get(8).cloned().flatten(),
        };
        Ok(rows.iter().map(function).collect())
    }

    /// Domains, those that others are made of first.
    fn domains(&mut self) -> Result<Vec<String>, Failure> {
        let checks = self.rows(
            "SELECT c.contypid, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.contypid <> 0 \
             ORDER BY c.contypid, c.conname",
        )?;
        let rows = self.rows(&format!(
            "SELECT t.oid, n.nspname, t.typname, format_type(t.typbasetype, t.typtypmod), t.typdefault, t.typnotnull \
             FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE {OWN} AND t.typtype = 'd' \
             ORDER BY t.oid"
        ))?;
        let mut statements = Vec::with_capacity(rows.len());
        for row in &rows {
            let name = format!("{}.{}", self.quoted(&text(row, 1)), self.quoted(&text(row, 2)));
            let mut create = format!("CREATE DOMAIN {name} AS {}", text(row, 3));
            if let Some(default) = row.get(4).and_then(Option::as_ref) {
                create += &format!(" DEFAULT {default}");
            }
            if text(row, 5) == "t" {
                create += " NOT NULL";
            }
            let mut unchecked = Vec::new();
            for check in checks.iter().filter(|check| text(check, 0) == text(row, 0)) {
                let constraint = format!("CONSTRAINT {} {}", self.quoted(&text(check, 1)), text(check, 2));
                match constraint.ends_with(" NOT VALID") {
                    true => unchecked.push(format!("ALTER DOMAIN {name} ADD {constraint};")),
                    false => create += &format!(" {constraint}"),
                }
            }
            statements.push(create + ";");
            statements.extend(unchecked);
        }
        Ok(statements)
    }

    fn relations(&mut self) -> Result<Vec<Relation>, Failure> {
        let rows = self.rows(&format!(
            "SELECT c.oid, n.nspname, c.relname, c.relkind, c.reloptions, m.amname FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am m ON m.oid = c.relam \
             WHERE {OWN} AND c.relkind IN ('r', 'v', 'm', 'S') ORDER BY c.oid"
        ))?;
        let relation = |row: &Row| Relation {
            oid: number(row, 0),
            name: format!("{}.{}", self.quoted(&text(row, 1)), self.quoted(&text(row, 2))),
            plain_name: text(row, 2),
            kind: text(row, 3).chars().next().unwrap_or(' '),
            options: elements(&text(row, 4)).iter().filter_map(|option| pair(option)).collect(),
            method: text(row, 5),
        };
        Ok(rows.iter().map(relation).collect())
    }

    fn columns(&mut self) -> Result<BTreeMap<u32, Vec<Column>>, Failure> {
        let rows = self.rows(&format!(
            "SELECT a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, \
             pg_get_expr(d.adbin, d.adrelid), a.attgenerated FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE {OWN} AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum"
        ))?;
        let mut columns: BTreeMap<u32, Vec<Column>> = BTreeMap::new();
        for row in &rows {
            columns.entry(number(row, 0)).or_default().push(Column {
                name: self.quoted(&text(row, 1)),
                plain_name: text(row, 1),
                type_name: text(row, 2),
                not_null: text(row, 3) == "t",
                identity: text(row, 4).chars().next(),
                default: row.get(5).cloned().flatten(),
                generated: text(row, 6) == "s",
            });
        }
        Ok(columns)
    }

    fn constraints(&mut self, kept: &BTreeSet<u32>) -> Result<Vec<Constraint>, Failure> {
        let rows = self.rows(
            "SELECT r.conrelid, r.conname, r.contype, pg_get_constraintdef(r.oid) FROM pg_constraint r \
             WHERE r.contype IN ('p', 'u', 'f', 'c') ORDER BY r.conrelid, r.conname",
        )?;
        let constraint = |row: &Row| Constraint {
            table: number(row, 0),
            name: self.quoted(&text(row, 1)),
            kind: text(row, 2).chars().next().unwrap_or(' '),
            definition: text(row, 3),
        };
        Ok(rows.iter().map(constraint).filter(|constraint| kept.contains(&constraint.table)).collect())
    }

    fn indexes(&mut self, kept: &BTreeSet<u32>) -> Result<Vec<String>, Failure> {
        let rows = self.rows(
            "SELECT i.indrelid, pg_get_indexdef(i.indexrelid), i.indexrelid FROM pg_index i ORDER BY i.indexrelid",
        )?;
        let of_constraints = self.rows("SELECT conindid FROM pg_constraint WHERE contype IN ('p', 'u')")?;
        let of_constraints: BTreeSet<u32> = of_constraints.iter().map(|row| number(row, 0)).collect();
        let is_own = |row: &&Row| kept.contains(&number(row, 0)) && !of_constraints.contains(&number(row, 2));
        Ok(rows.iter().filter(is_own).map(|row| text(row, 1)).collect())
    }

    fn views(&mut self, kept: &BTreeSet<u32>) -> Result<Vec<View>, Failure> {
        let rows = self.rows(&format!(
            "SELECT c.oid, pg_get_viewdef(c.oid), c.relkind, c.relispopulated, \
             CASE c.relkind WHEN 'v' THEN array_to_string(c.reloptions, ',') END FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {OWN} AND c.relkind IN ('v', 'm') ORDER BY c.oid"
        ))?;
        let columns = self.rows(&format!(
            "SELECT a.attrelid, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE {OWN} AND c.relkind IN ('v', 'm') AND a.attnum > 0 ORDER BY a.attrelid, a.attnum"
        ))?;
        let reads = self.rows(
            "SELECT c.oid, r FROM pg_class c, weft_view_reads(c.oid) r WHERE c.relkind IN ('v', 'm') ORDER BY c.oid",
        )?;
        let defaults = self.rows(&format!(
            "SELECT d.adrelid, a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d \
             JOIN pg_class c ON c.oid = d.adrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
             JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum \
             WHERE {OWN} AND c.relkind = 'v' ORDER BY d.adrelid, d.adnum"
        ))?;
        let of = |rows: &[Row], view: u32| -> Vec<Row> {
            rows.iter().filter(|row| number(row, 0) == view).cloned().collect()
        };
        let view = |row: &Row| {
            let relation = number(row, 0);
            View {
                relation,
                columns: of(&columns, relation).iter().map(|column| self.quoted(&text(column, 1))).collect(),
                query: text(row, 1).trim().trim_end_matches(';').to_owned(),
                materialized: text(row, 2) == "m",
                populated: text(row, 3) == "t",
                reads: of(&reads, relation).iter().map(|read| number(read, 1)).collect(),
                options: text(row, 4).split(',').filter(|option| !option.is_empty()).map(str::to_owned).collect(),
                defaults: of(&defaults, relation)
                    .iter()
                    .map(|default| (self.quoted(&text(default, 1)), text(default, 2)))
                    .collect(),
            }
        };
        Ok(in_order(rows.iter().map(view).filter(|view| kept.contains(&view.relation)).collect()))
    }

    fn sequences(&mut self, relations: &[Relation]) -> Result<Vec<Sequence>, Failure> {
        let rows = self.rows(
            "SELECT s.seqrelid, format_type(s.seqtypid, NULL), s.seqstart, s.seqincrement, s.seqmin, s.seqmax, \
             s.seqcache, s.seqcycle FROM pg_sequence s ORDER BY s.seqrelid",
        )?;
        let owners = self.rows(
            "SELECT d.objid, d.refobjid, a.attname, d.deptype FROM pg_depend d \
             JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid \
             JOIN pg_class c ON c.oid = d.objid WHERE c.relkind = 'S' AND d.deptype IN ('a', 'i')",
        )?;
        let places = self.rows(
            "SELECT c.oid, s.last_value, s.is_called FROM pg_class c, pg_get_sequence_data(c.oid) s \
             WHERE c.relkind = 'S'",
        )?;
        let mut sequences = Vec::new();
        for row in &rows {
            let relation = number(row, 0);
            if !relations.iter().any(|known| known.oid == relation) {
                continue;
            }
            let place = places.iter().find(|place| number(place, 0) == relation);
            let place = place.map(|place| (text(place, 1), text(place, 2) == "t"));
            let owner = owners.iter().find(|owner| number(owner, 0) == relation);
            sequences.push(Sequence {
                relation,
                type_name: text(row, 1),
                start: text(row, 2),
                increment: text(row, 3),
                min: text(row, 4),
                max: text(row, 5),
                cache: text(row, 6),
                cycles: text(row, 7) == "t",
                place,
                owner: owner.map(|owner| Owner {
                    table: number(owner, 1),
                    column: text(owner, 2),
                    is_identity: text(owner, 3) == "i",
                }),
            });
        }
        Ok(sequences)
    }

    fn comments(&mut self, relations: &[Relation], kept: &BTreeSet<u32>, whole: bool) -> Result<Vec<String>, Failure> {
        let rows = self.rows(
            "SELECT d.objoid, d.objsubid, d.description, a.attname FROM pg_description d \
             LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid ORDER BY d.objoid, d.objsubid",
        )?;
        let schemas = self.rows(&format!("SELECT n.oid, n.nspname FROM pg_namespace n WHERE {OWN}"))?;
        let indexes = self.rows(
            "SELECT c.oid, n.nspname, c.relname, i.indrelid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid \
             JOIN pg_namespace n ON n.oid = c.relnamespace",
        )?;
        let mut comments = Vec::new();
        for row in &rows {
            let (oid, sub, said) = (number(row, 0), number(row, 1), literal(&text(row, 2)));
            if let Some(relation) = relations.iter().find(|relation| relation.oid == oid) {
                let name = &relation.name;
                let what = match sub {
                    0 => format!("{} {name}", relation.word()),
                    _ => format!("COLUMN {name}.{}", self.quoted(&text(row, 3))),
                };
                comments.push(format!("COMMENT ON {what} IS {said};"));
            } else if let Some(index) = indexes.iter().find(|index| number(index, 0) == oid) {
                if kept.contains(&number(index, 3)) {
                    let (schema, name) = (self.quoted(&text(index, 1)), self.quoted(&text(index, 2)));
                    comments.push(format!("COMMENT ON INDEX {schema}.{name} IS {said};"));
                }
            } else if let Some(schema) = schemas.iter().find(|schema| whole && number(schema, 0) == oid) {
                comments.push(format!("COMMENT ON SCHEMA {} IS {said};", self.quoted(&text(schema, 1))));
            }
        }
        Ok(comments)
    }
}

/// Views in an order in which they can be made: one that reads others comes after those. There is no circle of views.
fn in_order(mut left: Vec<View>) -> Vec<View> {
    let mut views = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |view: &View| left.iter().any(|other| view.reads.contains(&other.relation));
        let at = left.iter().position(|view| !waits(view)).unwrap_or(0);
        views.push(left.remove(at));
    }
    views
}

/// An option of a table.
fn pair(option: &str) -> Option<(String, String)> {
    let (name, value) = option.split_once('=')?;
    Some((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_comes_after_those_that_it_reads() {
        let view = |relation, reads: &[u32]| View {
            relation,
            columns: Vec::new(),
            query: String::new(),
            materialized: false,
            populated: true,
            reads: reads.to_vec(),
            options: Vec::new(),
            defaults: Vec::new(),
        };
        let ordered = in_order(vec![view(1, &[9, 3]), view(2, &[]), view(3, &[4, 9]), view(4, &[2])]);
        assert_eq!(ordered.iter().map(|view| view.relation).collect::<Vec<_>>(), [2, 4, 3, 1]);
    }

    #[test]
    fn an_option_ends_at_its_first_sign() {
        assert_eq!(pair("b=x=y"), Some(("b".to_owned(), "x=y".to_owned())));
    }
}
