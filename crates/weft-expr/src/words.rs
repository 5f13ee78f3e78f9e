//! Names as SQL writes them: in quotes where they would be folded, are no word, or are one of the language's own.
//!
//! ```text
//!   total     total        Total   "Total"        order   "order"        say "hi"   "say ""hi"""
//! ```
//!
//! Source: PostgreSQL's `quote_identifier`, which quotes every keyword that is not an unreserved one.

use std::borrow::Cow;

/// PostgreSQL's words that are not names everywhere without quotes, in order.
const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// Whether a name of lower-case letters is one in quotes only.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word).is_ok()
}

/// A name as SQL writes it.
pub fn quoted(name: &str) -> Cow<'_, str> {
    let is_of_word = |(at, c): (usize, char)| c.is_ascii_lowercase() || c == '_' || (at > 0 && c.is_ascii_digit());
    if !name.is_empty() && name.chars().enumerate().all(is_of_word) && !is_reserved(name) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_need_it() {
        assert!(RESERVED.is_sorted(), "they are searched");
        for plain in ["total", "_1", "a1", "orders", "text", "date"] {
            assert_eq!(quoted(plain), plain);
        }
        let wanted = [
            ("order", "\"order\""),
            ("between", "\"between\""),
            ("zone", "zone"),
            ("Total", "\"Total\""),
            ("1a", "\"1a\""),
            ("a$b", "\"a$b\""),
            ("", "\"\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
        ];
        wanted.iter().for_each(|(name, text)| assert_eq!(quoted(name), *text));
    }
}
