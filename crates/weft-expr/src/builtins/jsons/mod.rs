//! JSON: made of arrays and of lists of keys and values, changed, and the functions behind operators.
//!
//! ```text
//!   json_object('{a,1,b,NULL}')                        {"a" : "1", "b" : null}   made
//!   array_to_json('{1,NULL}')                          [1,null]                  made
//!   jsonb_insert('{"a": [1, 2]}', '{a,1}', '9')        {"a": [1, 9, 2]}          inserted
//!   jsonb_set_lax('{"a": 1}', '{a}', NULL)             {"a": null}               read
//!   json_extract_path('{"a": {"b": 7}}', 'a', 'b')     7                         read
//!   json_each('{"a": 7}')                              keys, and values          members
//!   json_agg(x), json_object_agg(k, v)                 of an array_agg           collected
//!   row_to_json(t), json_to_record('{"a": 7}')         to and from columns       records
//! ```

mod collected;
mod inserted;
mod made;
mod members;
mod read;
mod records;
mod rows;
#[cfg(test)]
mod tests;
mod texts;

pub use collected::{JSON_ITEM, JSON_LIST, JSON_OBJECT, JSON_PAIR, JSONB_OBJECT, JSONB_PAIR};
pub(super) use records::read as read_as;
pub use records::{JSON_FIELD, JSON_ROW, ROW_TEXT};
pub(super) use rows::ROWS;
pub(super) use texts::texts;
