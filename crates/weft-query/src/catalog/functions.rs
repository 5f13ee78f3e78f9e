//! Functions that read what the catalog shows.
//!
//! ```text
//!   pg_get_indexdef(i.indexrelid)     Call, stable: of constants it is computed when an execution is planned
//!   'customers'::regclass             regclass_in('customers') = 16387
//!   c.oid::regclass, shown            regclass_out(c.oid) = customers
//! ```

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use weft_format::{Code, DataType, Error, Value};
use weft_pgcatalog::{Reg, Shape, Snapshot, call, offered_functions, result_of, vector_text};

use super::shapes::{field_of_shape, shape_of_field};
use super::shown::snapshot_of;
use crate::error::wrap;
use crate::routines::computed;
use crate::types::field_type;

/// The catalog's functions by name.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    offered_functions().into_iter().map(|name| made(name, What::Call)).collect()
}

/// Whether a function is one of the catalog's.
pub(crate) fn is_of_catalog(function: &ScalarUDF) -> bool {
    function.inner().is::<Function>()
}

fn made(name: &str, what: What) -> Arc<ScalarUDF> {
    let volatility = match what {
        What::Bare | What::As(_) | What::VectorOut => Volatility::Immutable,
        What::Call | What::In(_) | What::Out(_) => Volatility::Stable,
    };
    let signature = Signature::user_defined(volatility);
    Arc::new(ScalarUDF::new_from_impl(Function { name: name.to_owned(), what, signature }))
}

/// The number of the object that a text names.
pub(super) fn reg_in(reg: Reg, text: Expr) -> Expr {
    made(&format!("{}_in", reg.name()), What::In(reg)).call(vec![text])
}

/// The name of the object of a number.
pub(super) fn reg_out(reg: Reg, number: Expr) -> Expr {
    made(&format!("{}_out", reg.name()), What::Out(reg)).call(vec![number])
}

/// A number as that of an object of a kind.
pub(super) fn as_reg(reg: Reg, number: Expr) -> Expr {
    made(reg.name(), What::As(reg)).call(vec![number])
}

/// A value that is no more than a number or an array.
pub(super) fn bare(value: Expr) -> Expr {
    made("bare", What::Bare).call(vec![value])
}

/// An int2vector or oidvector as it is shown.
pub(super) fn vector_out(vector: Expr) -> Expr {
    made("vector_out", What::VectorOut).call(vec![vector])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Call,
    In(Reg),
    Out(Reg),
    As(Reg),
    Bare,
    VectorOut,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: String,
    what: What,
    signature: Signature,
}

impl Function {
    /// The type of the result for arguments of these types.
    fn result(&self, arguments: &[Shape]) -> Result<Shape> {
        let text = Shape::Plain(DataType::Text);
        let first = arguments.first().copied().unwrap_or(text);
        Ok(match self.what {
            What::Call => result_of(&self.name, arguments).ok_or_else(|| {
                let (name, count) = (&self.name, arguments.len());
                let message = format!("function {name} with {count} arguments does not exist");
                wrap(Error::new(Code::UndefinedFunction, message))
            })?,
            What::In(reg) | What::As(reg) => Shape::Reg(reg),
            What::Out(_) | What::VectorOut => text,
            What::Bare => Shape::Plain(first.data_type()),
        })
    }

    fn value(&self, snapshot: &Snapshot, values: &[Value], shapes: &[Shape]) -> weft_format::Result<Value> {
        match (self.what, values) {
            (What::Call, values) => call(&self.name, snapshot, values, shapes),
            (What::In(reg), [Value::Text(text)]) => Ok(Value::Int(reg.read(snapshot, text)?.into())),
            (What::Out(reg), [Value::Int(oid)]) => {
                Ok(Value::Text(reg.write(snapshot, u32::try_from(*oid).unwrap_or(0)).into()))
            }
            _ => Ok(Value::Null),
        }
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        let shapes: Vec<Shape> =
            types.iter().map(|arrow| shape_of_field(&Field::new("", arrow.clone(), true))).collect();
        Ok(self.result(&shapes)?.data_type().arrow())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let shapes: Vec<Shape> = args.arg_fields.iter().map(|field| shape_of_field(field)).collect();
        Ok(Arc::new(field_of_shape(&self.name, self.result(&shapes)?)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if matches!(self.what, What::As(_) | What::Bare) {
            return Ok(args.args[0].clone());
        }
        let given: Vec<DataType> = args.arg_fields.iter().map(|field| field_type(field)).collect();
        let shapes: Vec<Shape> = args.arg_fields.iter().map(|field| shape_of_field(field)).collect();
        let result = self.result(&shapes)?.data_type();
        if self.what == What::VectorOut {
            let text = |values: &[Value]| Ok(vector_text(&values[0], given[0]).map_or(Value::Null, text_of));
            return computed(&args, &given, &given, result, text);
        }
        let config = Arc::clone(&args.config_options);
        let Some(snapshot) = snapshot_of(&config) else {
            let name = &self.name;
            return Err(wrap(Error::internal(format!("{name} was called where nothing is shown of the catalog"))));
        };
        computed(&args, &given, &given, result, |values| self.value(snapshot, values, &shapes))
    }
}

fn text_of(text: String) -> Value {
    Value::Text(text.into())
}
