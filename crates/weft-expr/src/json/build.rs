//! JSON text from parts.

/// Appends a JSON string.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// An object of canonical members: of equal keys the last one counts.
pub fn object_text(mut members: Vec<(String, String)>) -> String {
    // Stable, and turned around first: the last of equal keys comes first.
    members.reverse();
    members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
    members.dedup_by(|(later, _), (first, _)| later == first);
    let mut out = String::from("{");
    for (at, (key, member)) in members.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote(key, &mut out);
        out.push_str(": ");
        out.push_str(member);
    }
    out.push('}');
    out
}

/// An array of canonical elements.
pub fn array_text<'a>(elements: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::from("[");
    for (at, element) in elements.enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(element);
    }
    out.push(']');
    out
}
