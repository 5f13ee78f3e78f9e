//! Where a field is within documents, and what its values are wanted as.

use std::fmt;
use std::sync::Arc;

use arrow_schema::Field;

use crate::types::DataType;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldStep {
    /// A member of an object: `-> 'key'`.
    Key(Box<str>),
    /// An element of an array, counted from its end when negative: `-> 0`.
    Index(i64),
    /// Either, by what the value is: a step of `#>`.
    Either(Box<str>),
    /// All elements of an array: what UNNEST asks for.
    Elements,
    /// The same of what has to be an array where it is there: what `jsonb_array_elements` asks for. Anything else
    /// raises its error.
    ArrayElements,
}

impl FieldStep {
    /// Whether it goes to all elements of an array.
    pub(crate) fn is_elements(&self) -> bool {
        matches!(self, FieldStep::Elements | FieldStep::ArrayElements)
    }
}

/// The path of a field within documents, and the type that its values are wanted in.
///
/// | type | value |
/// |---|---|
/// | jsonb | as `->` gives it |
/// | text | as `->>` gives it: a string without quotes, NULL for null |
/// | bigint | a number without a fraction that fits |
/// | double precision | a number |
/// | boolean | true or false |
/// | text, unless bigint (or double precision) | as text, but NULL for what bigint has |
/// | jsonb, unless an array | as jsonb, but NULL for an array |
///
/// Other values are NULL, and counted ([`FieldValues::others`](super::FieldValues::others)): a cast that raises an
/// error for them asks for text then.
///
/// With a step of [`FieldStep::Elements`] a row has a list: one value for each element, NULL where it is not there.
/// What is there but no array gives no list, and is counted, or is an error ([`FieldStep::ArrayElements`]). Of arrays
/// within elements the elements are side by side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath {
    /// From the document.
    pub steps: Vec<FieldStep>,
    /// One of those above.
    pub data_type: DataType,
    /// Values that are wanted by themselves as this type are none here: the two together have all.
    pub unless: Option<DataType>,
}

/// As SQL writes it behind the column.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            let is_last = number + 1 == self.steps.len() && self.data_type != DataType::Jsonb;
            let arrow = if is_last { "->>" } else { "->" };
            match step {
                FieldStep::Key(key) | FieldStep::Either(key) => write!(f, "{arrow}'{}'", key.replace('\'', "''"))?,
                FieldStep::Index(at) => write!(f, "{arrow}{at}")?,
                FieldStep::Elements | FieldStep::ArrayElements => f.write_str("[*]")?,
            }
        }
        match self.unless {
            Some(data_type) => write!(f, " unless {data_type}"),
            None => Ok(()),
        }
    }
}

impl FieldPath {
    /// All values at the end of some steps, wanted as a type.
    pub fn new(steps: Vec<FieldStep>, data_type: DataType) -> FieldPath {
        FieldPath { steps, data_type, unless: None }
    }

    /// A path of keys, wanted as a type.
    pub fn of_keys(keys: &[&str], data_type: DataType) -> FieldPath {
        FieldPath::new(keys.iter().map(|&key| FieldStep::Key(key.into())).collect(), data_type)
    }

    /// Whether its values are lists, one for each row: those of the elements of an array.
    pub fn is_list(&self) -> bool {
        self.steps.iter().any(FieldStep::is_elements)
    }

    /// The Arrow type of its values.
    pub fn arrow(&self) -> arrow_schema::DataType {
        let value = self.data_type.arrow();
        if self.is_list() {
            return arrow_schema::DataType::List(Arc::new(Field::new_list_field(value, true)));
        }
        value
    }
}
