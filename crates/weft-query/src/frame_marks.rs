//! Frames of windows: what PostgreSQL refuses, and frames that the engine does not have, as marks.
//!
//! ```text
//!   sum(x) OVER (PARTITION BY a ORDER BY b RANGE 2 PRECEDING)
//!     sum(x) OVER (PARTITION BY a, "\1frame"('range', 'no', 'preceding', 'current', 2, NULL, b) ORDER BY b)
//! ```
//!
//! 1. The mark is no part of the partition: [`frames`](super::frames) takes it off again, once types are known.
//! 2. Marked are EXCLUDE, RANGE with an offset, offsets that are no plain numbers, and frames between two offsets of
//!    one direction, which may be empty.

use sqlparser::ast::{
    DataType as SqlType, Expr, Value, WindowFrame, WindowFrameBound as Bound, WindowFrameUnits as Units, WindowSpec,
};
use weft_format::{Code, Error, Result};
use weft_sql::expr::call;
use weft_sql::parse::{FRAME, frame_start};
use weft_sql::queries::has_of_its_own;

use super::typed_values::cast;

/// A bound by its name in a mark, and its offset.
struct End {
    kind: &'static str,
    offset: Option<Expr>,
}

/// Checks the frame of a window, and writes it as a mark where the engine does not have it.
pub(super) fn marked(spec: &mut WindowSpec) -> Result<()> {
    let Some(frame) = &spec.window_frame else { return Ok(()) };
    let (exclusion, start) = start_of(&frame.start_bound)?;
    let end = frame.end_bound.as_ref().map_or(End { kind: "current", offset: None }, plain_end);
    let has_end = frame.end_bound.is_some();
    check_ends(start.kind, end.kind, has_end)?;
    let has_offset = start.offset.is_some() || end.offset.is_some();
    check_keys(frame, spec.order_by.len(), has_offset)?;
    for offset in [&start.offset, &end.offset].into_iter().flatten() {
        check_variables(frame.units, offset)?;
    }
    let is_plain = |offset: &Option<Expr>| match offset {
        Some(Expr::Value(value)) => {
            matches!(&value.value, Value::Number(text, _) if text.bytes().all(|byte| byte.is_ascii_digit()))
        }
        Some(_) => false,
        None => true,
    };
    let is_known = exclusion == "no"
        && is_plain(&start.offset)
        && is_plain(&end.offset)
        && !(has_offset && frame.units == Units::Range)
        && !(start.offset.is_some() && start.kind == end.kind);
    if is_known {
        spec.window_frame = Some(plain(frame, &start, &end));
        return Ok(());
    }
    let key = (has_offset && frame.units == Units::Range).then(|| spec.order_by[0].expr.clone());
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.into()));
    let units = match frame.units {
        Units::Rows => "rows",
        Units::Range => "range",
        Units::Groups => "groups",
    };
    let mut args = vec![text(units), text(&exclusion), text(start.kind), text(end.kind)];
    let counted = |offset: Option<Expr>| offset.map(|offset| typed(frame.units, offset));
    args.extend(
        [counted(start.offset), counted(end.offset), key].map(|expr| expr.unwrap_or_else(|| Expr::value(Value::Null))),
    );
    spec.partition_by.push(call(FRAME, args));
    spec.window_frame = None;
    Ok(())
}

/// A parameter that counts rows or groups is a bigint.
fn typed(units: Units, offset: Expr) -> Expr {
    match &offset {
        Expr::Value(value) if units != Units::Range && matches!(value.value, Value::Placeholder(_)) => {
            cast(offset, SqlType::BigInt(None))
        }
        _ => offset,
    }
}

/// A frame that the engine has, without what was noted in it.
fn plain(frame: &WindowFrame, start: &End, end: &End) -> WindowFrame {
    let bound = |end: &End| match end.kind {
        "unbounded" => Bound::Preceding(None),
        "end" => Bound::Following(None),
        "preceding" => Bound::Preceding(end.offset.clone().map(Box::new)),
        "following" => Bound::Following(end.offset.clone().map(Box::new)),
        _ => Bound::CurrentRow,
    };
    let end_bound = frame.end_bound.as_ref().map(|_| bound(end));
    WindowFrame { units: frame.units, start_bound: bound(start), end_bound }
}

fn plain_end(bound: &Bound) -> End {
    let (kind, offset) = match bound {
        Bound::CurrentRow => ("current", None),
        Bound::Preceding(None) => ("unbounded", None),
        Bound::Following(None) => ("end", None),
        Bound::Preceding(Some(offset)) => ("preceding", Some((**offset).clone())),
        Bound::Following(Some(offset)) => ("following", Some((**offset).clone())),
    };
    End { kind, offset }
}

/// What is excluded, and the start.
fn start_of(bound: &Bound) -> Result<(String, End)> {
    let Bound::Preceding(Some(expr)) = bound else { return Ok(("no".into(), plain_end(bound))) };
    let Some(start) = frame_start(expr) else { return Ok(("no".into(), plain_end(bound))) };
    let kinds = ["unbounded", "end", "preceding", "following", "current"];
    let kind = kinds.into_iter().find(|kind| **kind == start.kind);
    let kind = kind.ok_or_else(|| Error::internal("a frame starts nowhere"))?;
    Ok((start.exclusion, End { kind, offset: start.offset }))
}

fn check_ends(start: &str, end: &str, has_end: bool) -> Result<()> {
    let message = match (start, end) {
        ("end", _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, "unbounded") if has_end => "frame end cannot be UNBOUNDED PRECEDING",
        ("following", "current") if !has_end => "frame starting from following row cannot end with current row",
        ("following", "preceding" | "current") => "frame starting from following row cannot have preceding rows",
        ("current", "preceding") => "frame starting from current row cannot have preceding rows",
        _ => return Ok(()),
    };
    Err(Error::new(Code::WindowingError, message))
}

fn check_keys(frame: &WindowFrame, keys: usize, has_offset: bool) -> Result<()> {
    let message = match frame.units {
        Units::Range if has_offset && keys != 1 => {
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
        }
        Units::Groups if keys == 0 => "GROUPS mode requires an ORDER BY clause",
        _ => return Ok(()),
    };
    Err(Error::new(Code::WindowingError, message))
}

/// Offsets are the same for all rows.
fn check_variables(units: Units, offset: &Expr) -> Result<()> {
    let is_variable = |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    if has_of_its_own(offset, is_variable) {
        let message = format!("argument of {units} must not contain variables");
        return Err(Error::new(Code::InvalidColumnReference, message));
    }
    Ok(())
}
