//! Functions that users made, as plain data.

use weft_format::DataType;

/// The type of an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionType {
    /// A type of values.
    Plain(DataType),
    /// The domain of a number.
    Domain(u32),
    /// Rows of the relation of a number.
    Row(u32),
    /// Rows of columns that the function itself says.
    Record,
    /// Nothing.
    Void,
}

/// An argument, or a column of the result.
#[derive(Clone, Debug)]
pub struct FunctionArgument {
    /// i, o, b (both), v (VARIADIC) or t (a column of RETURNS TABLE).
    pub mode: char,
    /// Name.
    pub name: Option<String>,
    /// Type.
    pub data_type: FunctionType,
    /// DEFAULT
    pub default: Option<String>,
}

/// A function that a user made.
#[derive(Clone, Debug)]
pub struct UserFunction {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// Arguments and columns of the result.
    pub arguments: Vec<FunctionArgument>,
    /// What it gives.
    pub result: FunctionType,
    /// Many of these.
    pub is_set: bool,
    /// Its text.
    pub body: String,
    /// The text is an expression behind RETURN.
    pub is_return: bool,
    /// i, s or v.
    pub volatility: char,
    /// STRICT
    pub strict: bool,
    /// SECURITY DEFINER
    pub definer: bool,
    /// LEAKPROOF
    pub leak_proof: bool,
    /// s, r or u.
    pub parallel: char,
    /// COST
    pub cost: Option<f64>,
    /// ROWS
    pub rows: Option<f64>,
}
