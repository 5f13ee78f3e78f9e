//! What `pg_type` and `pg_enum` have of users' enums.

use weft_format::bloom::hash_word;

use crate::making::Rows;
use crate::user_types::{TypeKind, UserType, array_oid};
use crate::value::Datum;

/// An enum, and the type of arrays of it.
pub(crate) fn types(rows: &mut Rows<'_>, known: &UserType, owner: u32) {
    let TypeKind::Enum(_) = known.kind else { return };
    let (array, owner) = (array_oid(known.oid), i64::from(owner));
    let kinds = [
        (known.oid, known.name.clone(), ("e", "E", 4), (0, array), "enum_"),
        (array, format!("_{}", known.name), ("b", "A", -1), (known.oid, 0), "array_"),
    ];
    for (oid, name, (kind, category, length), (element, own_array), stem) in kinds {
        let is_enum = kind == "e";
        let function = |ending: &str| Datum::text(format!("{stem}{ending}"));
        rows.add([
            ("oid", Datum::Int(oid.into())),
            ("typname", Datum::text(name)),
            ("typnamespace", Datum::Int(known.schema.into())),
            ("typowner", Datum::Int(owner)),
            ("typlen", Datum::Int(length)),
            ("typbyval", Datum::Bool(is_enum)),
            ("typtype", Datum::text(kind)),
            ("typcategory", Datum::text(category)),
            ("typispreferred", Datum::Bool(false)),
            ("typisdefined", Datum::Bool(true)),
            ("typdelim", Datum::text(",")),
            ("typrelid", Datum::Int(0)),
            ("typsubscript", Datum::text(if is_enum { "-" } else { "array_subscript_handler" })),
            ("typelem", Datum::Int(element.into())),
            ("typarray", Datum::Int(own_array.into())),
            ("typinput", function("in")),
            ("typoutput", function("out")),
            ("typreceive", function("recv")),
            ("typsend", function("send")),
            ("typmodin", Datum::text("-")),
            ("typmodout", Datum::text("-")),
            ("typanalyze", Datum::text(if is_enum { "-" } else { "array_typanalyze" })),
            ("typalign", Datum::text("i")),
            ("typstorage", Datum::text(if is_enum { "p" } else { "x" })),
            ("typtypmod", Datum::Int(-1)),
        ]);
    }
}

/// The labels of an enum, in their order.
pub(crate) fn labels(rows: &mut Rows<'_>, known: &UserType) {
    let TypeKind::Enum(labels) = &known.kind else { return };
    for (number, (code, label)) in (1..).zip(labels) {
        // Numbers of labels are of a range of their own, and stay when others come.
        let hash = hash_word(u64::from(known.oid) << 40 ^ code.cast_unsigned()) as u32;
        let oid = i64::from(0x6000_0000 | hash & 0x0fff_ffff);
        rows.add([
            ("oid", Datum::Int(oid)),
            ("enumtypid", Datum::Int(known.oid.into())),
            ("enumsortorder", Datum::Float(f64::from(number))),
            ("enumlabel", Datum::text(label)),
        ]);
    }
}
