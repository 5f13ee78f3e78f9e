//! Functions of the server and of texts that tools call: settings as rows, key words, encodings, `row_to_json`.
//!
//! ```text
//!   SELECT name, setting FROM pg_show_all_settings()      the rows of pg_settings
//!   regexp_replace('a_1', '_(\d)', '-\1') = 'a-1'         the first place; 'g' for all
//! ```

use weft_format::{Code, Error, Result};

use crate::declared;
use crate::function::{
    Arguments, Function, boolean, function, int4, int8, json_text, lenient, name, nothing, null, oid, set, text, time,
    zero,
};
use crate::objects::Sequence;
use crate::pattern::Pattern;
use crate::relations::rows_of;
use crate::roles::setting;
use crate::value::{Datum, Type};

/// The functions, found after those of `functions`.
pub(crate) static SERVER: &[Function] = &[
    set(function("pg_show_all_settings", (0, 0), |_| row_of("pg_settings"), |call| rows(call, "pg_settings"))),
    set(function("pg_available_extensions", (0, 0), extensions, nothing)),
    set(function("pg_get_keywords", (0, 0), keywords, all_keywords)),
    set(function(
        "pg_stat_get_activity",
        (1, 1),
        |_| row_of("pg_stat_activity"),
        |call| rows(call, "pg_stat_activity"),
    )),
    set(function("pg_lock_status", (0, 0), |_| row_of("pg_locks"), |call| rows(call, "pg_locks"))),
    function("pg_blocking_pids", (1, 1), |_| Type::Array(Type::Int4.into()), nothing),
    function("pg_stat_get_backend_idset", (0, 0), int4, |call| Ok(Datum::Int(call.snapshot.backend))),
    function("pg_stat_get_tuples_inserted", (1, 1), int8, zero),
    function("pg_stat_get_db_conflict_all", (1, 1), int8, zero),
    function("pg_sequence_last_value", (1, 1), int8, |call| {
        let oid = call.relation(0);
        let found = call.snapshot.sequence(oid);
        Ok(found.and_then(|_| call.snapshot.figures.last(oid)).map_or(Datum::Null, Datum::Int))
    }),
    set(function("pg_get_sequence_data", (1, 1), sequence_data, |call| {
        let oid = call.relation(0);
        let row = |at: &Sequence| {
            let (value, is_called) = call.snapshot.figures.sequence(at.oid);
            Datum::list(vec![Datum::Int(value), Datum::Bool(is_called)])
        };
        Ok(Datum::list(call.snapshot.sequence(oid).map(row).into_iter().collect()))
    })),
    set(function("weft_view_reads", (1, 1), oid, |call| {
        let oid = call.relation(0);
        let views = call.snapshot.view(oid).into_iter().flat_map(|view| &view.reads);
        let materialized = call.snapshot.table(oid).and_then(|table| table.materialized.as_ref());
        let read = views.chain(materialized.into_iter().flat_map(|view| &view.reads));
        Ok(Datum::list(read.map(|oid| Datum::Int((*oid).into())).collect()))
    })),
    function("pg_relation_filenode", (1, 1), oid, |call| Ok(Datum::Int(call.relation(0).into()))),
    function("pg_describe_object", (3, 3), text, null),
    function("age", (1, 1), int4, zero),
    function("statement_timestamp", (0, 0), time, |call| Ok(Datum::Int(call.snapshot.now_micros))),
    function("clock_timestamp", (0, 0), time, |call| Ok(Datum::Int(call.snapshot.now_micros))),
    function("pg_current_logfile", (0, 1), text, null),
    function("pg_last_wal_receive_lsn", (0, 0), text, null),
    function("pg_last_wal_replay_lsn", (0, 0), text, null),
    function("pg_last_xact_replay_timestamp", (0, 0), time, null),
    function("has_foreign_data_wrapper_privilege", (2, 3), boolean, |_| Ok(Datum::Bool(true))),
    function("has_server_privilege", (2, 3), boolean, |_| Ok(Datum::Bool(true))),
    function("set_config", (3, 3), text, set_config),
    function("row_to_json", (1, 2), |_| Type::Json, row_to_json),
    function("to_char", (2, 2), text, to_char),
    function("bpchar", (1, 1), |_| Type::Varchar, |call| Ok(Datum::text(call.text(0)))),
    function("regexp_replace", (3, 4), text, regexp_replace),
    function("parse_ident", (1, 2), |_| Type::Array(Type::Text.into()), parse_ident),
    function("encode", (2, 2), text, |call| Ok(call.values[0].clone())),
    function("name", (1, 1), name, |call| Ok(Datum::text(call.text(0)))),
    lenient(function("num_nulls", (1, 100), int4, |call| {
        Ok(Datum::Int(call.values.iter().filter(|value| value.is_null()).count() as i64))
    })),
];

/// The type of a relation's rows.
fn row_of(relation: &str) -> Type {
    let found = declared::find(None, relation).expect("the catalog has this relation");
    let column = |(name, data_type): &(&str, Type)| ((*name).to_owned(), data_type.clone());
    Type::Record(found.columns.iter().map(column).collect())
}

fn rows(call: &Arguments<'_>, relation: &str) -> Result<Datum> {
    let found = declared::find(None, relation).expect("the catalog has this relation");
    Ok(Datum::list(rows_of(found, call.snapshot).into_iter().map(Datum::list).collect()))
}

fn extensions(_: &[Type]) -> Type {
    let fields = [("name", Type::Name), ("default_version", Type::Text), ("comment", Type::Text)];
    Type::Record(fields.into_iter().map(|(name, data_type)| (name.to_owned(), data_type)).collect())
}

fn sequence_data(_: &[Type]) -> Type {
    Type::Record(vec![("last_value".to_owned(), Type::Int8), ("is_called".to_owned(), Type::Bool)].into())
}

fn keywords(_: &[Type]) -> Type {
    let fields = [
        ("word", Type::Text),
        ("catcode", Type::Char),
        ("barelabel", Type::Bool),
        ("catdesc", Type::Text),
        ("baredesc", Type::Text),
    ];
    Type::Record(fields.into_iter().map(|(name, data_type)| (name.to_owned(), data_type)).collect())
}

/// The words of SQL by kind: `data/keywords.txt` has PostgreSQL 15's, since those are the ones that tools quote.
fn all_keywords(_: &Arguments<'_>) -> Result<Datum> {
    let mut all = Vec::new();
    for line in include_str!("../data/keywords.txt").lines() {
        let mut parts = line.split('|');
        let (Some(code), Some(bare), Some(words)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let says = match code {
            "U" => "unreserved",
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            _ => "reserved",
        };
        let label = if bare == "t" { "can be bare label" } else { "requires AS" };
        for word in words.split(' ') {
            all.push(vec![
                Datum::text(word),
                Datum::text(code),
                Datum::Bool(bare == "t"),
                Datum::text(says),
                Datum::text(label),
            ]);
        }
    }
    all.sort_by(|a, b| a[0].order(&b[0]));
    Ok(Datum::list(all.into_iter().map(Datum::list).collect()))
}

/// The name of an encoding's number; empty when there is none.
pub(crate) fn encoding_name(number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|at| ENCODINGS.get(at)).copied().unwrap_or("")
}

/// Names of encodings by their numbers in PostgreSQL; Weft's is `UTF8`.
const ENCODINGS: &[&str] = &[
    "SQL_ASCII",
    "EUC_JP",
    "EUC_CN",
    "EUC_KR",
    "EUC_TW",
    "EUC_JIS_2004",
    "UTF8",
    "MULE_INTERNAL",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "WIN1256",
    "WIN1258",
    "WIN866",
    "WIN874",
    "KOI8R",
    "WIN1251",
    "WIN1252",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "WIN1250",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1257",
    "KOI8U",
    "SJIS",
    "BIG5",
    "GBK",
    "UHC",
    "GB18030",
    "JOHAB",
    "SHIFT_JIS_2004",
];

/// A setting may be given the value that it has; others are the business of SET.
fn set_config(call: &Arguments<'_>) -> Result<Datum> {
    let (name, value) = (call.text(0), call.text(1));
    if setting(call.snapshot, &name).eq_ignore_ascii_case(&value) {
        return Ok(Datum::text(value));
    }
    let message = format!("set_config of \"{name}\" is not supported in queries of the catalog");
    Err(Error::new(Code::FeatureNotSupported, message).hint("use SET"))
}

fn row_to_json(call: &Arguments<'_>) -> Result<Datum> {
    let Type::Record(fields) = &call.types[0] else {
        return Err(Error::new(Code::UndefinedFunction, "row_to_json takes a row"));
    };
    let member = |((name, data_type), value): (&(String, Type), &Datum)| {
        let value = match value {
            Datum::Text(_) if *data_type == Type::Json => value.plain(),
            Datum::Int(_) if data_type.is_reg() || *data_type == Type::Timestamptz => {
                json_text(&Datum::text(crate::cast::text_of(call.snapshot, value, data_type)))
            }
            value => json_text(value),
        };
        format!("{}:{value}", json_text(&Datum::text(name)))
    };
    let members: Vec<String> = fields.iter().zip(call.values[0].items()).map(member).collect();
    Ok(Datum::text(format!("{{{}}}", members.join(","))))
}

/// Times and numbers in the patterns that tools write; others are refused.
fn to_char(call: &Arguments<'_>) -> Result<Datum> {
    let pattern = call.text(1);
    let refused = || {
        let message = format!("to_char with the pattern \"{pattern}\" is not supported in queries of the catalog");
        Error::new(Code::FeatureNotSupported, message)
    };
    if call.types[0] != Type::Timestamptz {
        return Err(refused());
    }
    // 2026-11-22 01:02:03.45+00
    let written = crate::cast::text_of(call.snapshot, &call.values[0], &Type::Timestamptz);
    let part = |from: usize, to: usize| written.get(from..to).unwrap_or("").to_owned();
    let parts = [
        ("YYYY", part(0, 4)),
        ("MM", part(5, 7)),
        ("DD", part(8, 10)),
        ("HH24", part(11, 13)),
        ("MI", part(14, 16)),
        ("SS", part(17, 19)),
        ("TZ", "UTC".to_owned()),
    ];
    let (mut out, mut rest) = (String::new(), pattern.as_str());
    while let Some(c) = rest.chars().next() {
        match parts.iter().find(|(word, _)| rest.starts_with(word)) {
            Some((word, value)) => {
                out.push_str(value);
                rest = &rest[word.len()..];
            }
            None if c.is_alphanumeric() => return Err(refused()),
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    Ok(Datum::text(out))
}

/// `substring(text, pattern)`: what the first parentheses match, or all of it.
pub(crate) fn regex_part(call: &Arguments<'_>) -> Result<Datum> {
    let text: Vec<char> = call.text(0).chars().collect();
    let Some(found) = Pattern::regex(&call.text(1), false)?.find(&text, 0)? else { return Ok(Datum::Null) };
    let part = found.groups.first().copied().unwrap_or(Some(found.all));
    Ok(part.map_or(Datum::Null, |(from, to)| Datum::text(text[from..to].iter().collect::<String>())))
}

fn regexp_replace(call: &Arguments<'_>) -> Result<Datum> {
    let text: Vec<char> = call.text(0).chars().collect();
    let flags = if call.values.len() > 3 { call.text(3) } else { String::new() };
    let pattern = Pattern::regex(&call.text(1), flags.contains('i'))?;
    let replacement: Vec<char> = call.text(2).chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    while let Some(found) = pattern.find(&text, at)? {
        let (from, to) = found.all;
        out.extend(&text[at..from]);
        let mut chars = replacement.iter();
        while let Some(c) = chars.next() {
            let group = match c {
                '\\' => match chars.next() {
                    Some('&') => Some(found.all),
                    Some(digit) => match digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()) {
                        Some(number) => number.checked_sub(1).and_then(|at| found.groups.get(at).copied().flatten()),
                        None => {
                            out.push(*digit);
                            None
                        }
                    },
                    None => None,
                },
                c => {
                    out.push(*c);
                    None
                }
            };
            if let Some((from, to)) = group {
                out.extend(&text[from..to]);
            }
        }
        at = to;
        if from == to {
            // Nothing was matched: go on behind the next character.
            let Some(c) = text.get(at) else { break };
            out.push(*c);
            at += 1;
        }
        if !flags.contains('g') {
            break;
        }
    }
    out.extend(text.get(at..).unwrap_or_default());
    Ok(Datum::text(out))
}

/// Takes a dotted name apart; what is not one is an error, or without `strict` ends it.
fn parse_ident(call: &Arguments<'_>) -> Result<Datum> {
    let given = call.text(0);
    let is_strict = !matches!(call.values.get(1), Some(Datum::Bool(false)));
    let wrong = |detail: &str| {
        let message = format!("string is not a valid identifier: \"{given}\"");
        let error = Error::new(Code::InvalidParameterValue, message);
        if detail.is_empty() { error } else { error.detail(detail) }
    };
    let mut parts = Vec::new();
    let mut rest = given.trim_start();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted).map_err(&wrong)?,
            None => folded(rest),
        };
        if part.is_empty() {
            return Err(wrong(match (rest.starts_with('.'), parts.is_empty()) {
                (true, _) => "No valid identifier before \".\".",
                (false, true) => "",
                (false, false) => "No valid identifier after \".\".",
            }));
        }
        parts.push(Datum::text(part));
        rest = match behind.trim_start().strip_prefix('.') {
            Some(next) => next.trim_start(),
            None if is_strict && !behind.trim_start().is_empty() => return Err(wrong("")),
            None => return Ok(Datum::list(parts)),
        };
    }
}

/// A quoted name, whose first quote is read, and what is behind it.
fn unquoted(text: &str) -> std::result::Result<(String, &str), &'static str> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let end = rest.find('"').ok_or("String has unclosed double quotes.")?;
        name += &rest[..end];
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => rest = more,
            None if name.is_empty() => return Err("Quoted identifier must not be empty."),
            None => return Ok((name, rest)),
        }
        name.push('"');
    }
}

/// A name without quotes, in small letters, and what is behind it; empty where none begins.
fn folded(text: &str) -> (String, &str) {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let goes_on = |c: char| begins(c) || c.is_ascii_digit() || c == '$';
    if !text.starts_with(begins) {
        return (String::new(), text);
    }
    let (name, rest) = text.split_at(text.find(|c| !goes_on(c)).unwrap_or(text.len()));
    (name.to_ascii_lowercase(), rest)
}

#[cfg(test)]
mod tests;
