//! Questions to the catalog, and what its answers are made of.

use std::collections::BTreeSet;

use weft_server::client::Client;

use crate::failure::Failure;

pub(super) type Row = Vec<Option<String>>;

/// Who asks for parts of the catalog.
pub(super) struct Reader<'a> {
    client: &'a mut Client,
    reserved: BTreeSet<&'static str>,
}

/// PostgreSQL's words that are names only in quotes.
const RESERVED: &str = "\
    all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both \
    case cast char character check coalesce collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp current_user dec \
    decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign \
    freeze from full grant greatest group grouping having ilike in initially inner inout int integer intersect \
    interval into is isnull join lateral leading least left like limit localtime localtimestamp national natural \
    nchar none normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay \
    placing position precision primary real references returning right row select session_user setof similar \
    smallint some substring symmetric table tablesample then time timestamp to trailing treat trim true union \
    unique user using values varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement \
    xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

impl<'a> Reader<'a> {
    pub(super) fn new(client: &'a mut Client) -> Reader<'a> {
        Reader { client, reserved: RESERVED.split_whitespace().collect() }
    }

    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        Ok(self.client.query(sql)?.pop().map(|result| result.rows).unwrap_or_default())
    }

    /// A name as SQL writes it: in quotes where it needs them.
    pub(super) fn quoted(&self, name: &str) -> String {
        let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if plain && !self.reserved.contains(name) {
            name.to_owned()
        } else {
            format!("\"{}\"", name.replace('"', "\"\""))
        }
    }
}

/// The elements of an array of texts, as PostgreSQL prints it: `{a=1,"b=x y","c=say \"hi\""}`.
pub(super) fn elements(array: &str) -> Vec<String> {
    let inner = array.strip_prefix('{').and_then(|array| array.strip_suffix('}')).unwrap_or_default();
    let mut elements = Vec::new();
    let (mut element, mut is_quoted, mut letters) = (String::new(), false, inner.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => element.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => elements.push(std::mem::take(&mut element)),
            _ => element.push(letter),
        }
    }
    if !inner.is_empty() {
        elements.push(element);
    }
    elements
}

/// A text in quotes.
pub(super) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') { format!(" E'{}'", quoted.replace('\\', "\\\\")) } else { format!("'{quoted}'") }
}

pub(super) fn text(row: &Row, column: usize) -> String {
    row.get(column).cloned().flatten().unwrap_or_default()
}

pub(super) fn number(row: &Row, column: usize) -> u32 {
    text(row, column).parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_as_they_are_printed() {
        assert!(elements("").is_empty() && elements("{}").is_empty());
        assert_eq!(elements("{a=1}"), ["a=1"]);
        assert_eq!(elements(r#"{a=1,"b=x, y","c=say \"hi\" \\"}"#), ["a=1", "b=x, y", r#"c=say "hi" \"#]);
    }
}
