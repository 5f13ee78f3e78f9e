use weft_format::{DataType, ValueRef};

use super::shape::key_value;
use weft_format::Value;

#[test]
fn key_values_are_exact_or_nothing() {
    let numeric = |precision, scale| DataType::Numeric { precision, scale };
    assert_eq!(key_value(ValueRef::Int(70_000), DataType::Integer, DataType::SmallInt), None);
    assert_eq!(key_value(ValueRef::Int(7), DataType::Integer, DataType::SmallInt), Some(Value::Int(7)));
    assert_eq!(key_value(ValueRef::Int(7), DataType::Integer, numeric(4, 2)), Some(Value::Decimal(700)));
    assert_eq!(key_value(ValueRef::Int(100), DataType::Integer, numeric(4, 2)), None);
    assert_eq!(key_value(ValueRef::Decimal(1250), numeric(6, 3), numeric(4, 2)), Some(Value::Decimal(125)));
    assert_eq!(key_value(ValueRef::Decimal(1251), numeric(6, 3), numeric(4, 2)), None);
    assert_eq!(key_value(ValueRef::Null, DataType::Integer, DataType::Integer), None);
}
