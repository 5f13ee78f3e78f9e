//! What reading lists of elements one by one and all at once have in common: the way to an array, and the list that it
//! becomes.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::Field;

use crate::document::cursor::Documents;
use crate::document::levels::Tag;
use crate::document::path::FieldStep;
use crate::document::plan::PlanNode;
use crate::error::{Code, Error};

/// The error of `jsonb_array_elements` of what is no array.
pub(crate) fn refused(what: &str) -> Error {
    Error::new(Code::InvalidParameterValue, format!("cannot extract elements from {what}"))
}

/// Lists that end there, of rows that have one.
pub(crate) fn list_array(ends: Vec<i32>, values: ArrayRef, is_there: Vec<bool>) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let nulls = Some(NullBuffer::from(is_there)).filter(|nulls| nulls.null_count() > 0);
    Arc::new(ListArray::new(field, OffsetBuffer::new(ScalarBuffer::from(ends)), values, nulls))
}

/// Whether texts are among the values of a path.
pub(crate) fn is_raw(documents: &Documents<'_>, node: &PlanNode) -> bool {
    node.has_stream && documents.front.streams[node.streams.start].counts[Tag::Raw as usize] > 0
}

/// The path of some keys, if nothing on the way was kept as text; with how many keys are left where there is none.
pub(crate) fn go<'a>(
    documents: &Documents<'_>,
    mut node: &'a PlanNode,
    keys: &[FieldStep],
) -> Option<(&'a PlanNode, usize)> {
    for (at, step) in keys.iter().enumerate() {
        let FieldStep::Key(key) = step else { return None };
        match node.member(key) {
            _ if is_raw(documents, node) => return None,
            Some(member) => node = member,
            None if node.rest.is_some() => return None,
            None => return Some((node, keys.len() - at)),
        }
    }
    Some((node, 0))
}
