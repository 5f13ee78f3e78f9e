//! JSON: made of arrays and of lists of keys and values, changed, and the functions behind operators.
//!
//! ```text
//!   json_object('{a,1,b,NULL}')                        {"a" : "1", "b" : null}   made
//!   array_to_json('{1,NULL}')                          [1,null]                  made
//!   jsonb_insert('{"a": [1, 2]}', '{a,1}', '9')        {"a": [1, 9, 2]}          inserted
//!   jsonb_set_lax('{"a": 1}', '{a}', NULL)             {"a": null}               read
//!   json_extract_path('{"a": {"b": 7}}', 'a', 'b')     7                         read
//! ```

mod inserted;
mod made;
mod read;
mod rows;
#[cfg(test)]
mod tests;
mod texts;

pub(super) use rows::ROWS;
