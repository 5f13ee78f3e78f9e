//! Values of parameters.

use weft::{DataType, Value};
use weft_format::{Code, Error, Result};
use weft_sql::{Local, binary, expr, oids};

/// Reads a parameter. Text is left to the statement, which knows its type; bytes are read as the type that the client
/// named, else as the statement's, and cast where the two differ.
pub(crate) fn read_parameter(
    bytes: &[u8],
    binary: bool,
    named_oid: u32,
    data_type: DataType,
    local: &Local,
) -> Result<Value> {
    if !binary || named_oid == oids::UNKNOWN {
        return binary::read(bytes, DataType::Text);
    }
    if named_oid == 0 || named_oid == oids::oid_of(data_type) {
        return binary::read(bytes, data_type);
    }
    if named_oid == oids::NUMERIC {
        return binary::read_numeric(bytes).map(|text| Value::Text(text.into()));
    }
    let Some(named) = oids::type_of(named_oid) else {
        let message = format!("a parameter of the type with OID {named_oid} cannot be read from its binary form");
        return Err(Error::new(Code::FeatureNotSupported, message).hint("send it as text"));
    };
    let value = binary::read(bytes, named)?;
    if named.is_text() { Ok(value) } else { expr::cast(value, named, data_type, local) }
}
