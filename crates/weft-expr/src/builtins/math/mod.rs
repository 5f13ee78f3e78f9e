//! Mathematical functions (PostgreSQL's documentation, 9.3).
//!
//! ```text
//!   sqrt(2)  exp(1)  width_bucket(0.5, 0, 1, 4)     double precision     floats
//!   sin(1)  sind(30)  asinh(1)                      double precision     angles
//!   ceil(1.5)  div(9, 4)  sqrt(2.0)                 numeric              numerics, by numbers of 256 bits (wide)
//!   gcd(12, 18)  mod(9, 4)                          integers             integers
//!   width_bucket(5, '{1,3,9}')                      anything in order    buckets
//! ```
//!
//! 1. An integer is taken as double precision where there is no function of its own, as in PostgreSQL.
//! 2. `exp`, `ln`, `log` and `power` are of double precision only: a numeric has not as many digits as PostgreSQL's.

mod angles;
mod buckets;
mod floats;
mod integers;
mod numerics;
mod wide;

use weft_format::DataType;

use super::builtin::{Arg, Builtin, Call, builtin};

const SMALLINT: Arg = Arg::Of(DataType::SmallInt);
const INT: Arg = Arg::Of(DataType::Integer);
const BIGINT: Arg = Arg::Of(DataType::BigInt);
const REAL: Arg = Arg::Of(DataType::Real);
const FLOAT: Arg = Arg::Of(DataType::DoublePrecision);
const WHOLE: DataType = DataType::Numeric { precision: 38, scale: 0 };

type Compute = fn(&Call<'_>) -> weft_format::Result<weft_format::Value>;

/// Of one double precision.
const fn float(oid: u32, name: &'static str, compute: Compute) -> Builtin {
    builtin(oid, name, &[FLOAT], DataType::DoublePrecision, compute)
}

/// Of two.
const fn floats(oid: u32, name: &'static str, compute: Compute) -> Builtin {
    builtin(oid, name, &[FLOAT, FLOAT], DataType::DoublePrecision, compute)
}

/// Of a numeric, with a type by its type.
const fn numeric(oid: u32, name: &'static str, gives: fn(&[DataType]) -> DataType, compute: Compute) -> Builtin {
    builtin(oid, name, &[Arg::Numeric], WHOLE, compute).giving(gives)
}

/// Of two.
const fn numerics(oid: u32, name: &'static str, gives: fn(&[DataType]) -> DataType, compute: Compute) -> Builtin {
    builtin(oid, name, &[Arg::Numeric, Arg::Numeric], WHOLE, compute).giving(gives)
}

pub(super) static ROWS: &[Builtin] = &[
    builtin(1398, "abs", &[SMALLINT], DataType::SmallInt, integers::abs),
    builtin(1397, "abs", &[INT], DataType::Integer, integers::abs),
    builtin(1396, "abs", &[BIGINT], DataType::BigInt, integers::abs),
    builtin(1394, "abs", &[REAL], DataType::Real, floats::abs),
    float(1395, "abs", floats::abs),
    numeric(1705, "abs", numerics::same, numerics::abs),
    float(1345, "cbrt", floats::cbrt),
    float(2308, "ceil", floats::ceil),
    float(2320, "ceiling", floats::ceil),
    numeric(1711, "ceil", numerics::whole, numerics::ceil),
    numeric(2167, "ceiling", numerics::whole, numerics::ceil),
    float(1608, "degrees", floats::degrees),
    numerics(1973, "div", numerics::quotient, numerics::div),
    float(1347, "exp", floats::exp),
    builtin(1376, "factorial", &[BIGINT], WHOLE, numerics::factorial),
    float(2309, "floor", floats::floor),
    numeric(1712, "floor", numerics::whole, numerics::floor),
    builtin(5044, "gcd", &[INT, INT], DataType::Integer, integers::gcd),
    builtin(5045, "gcd", &[BIGINT, BIGINT], DataType::BigInt, integers::gcd),
    numerics(5048, "gcd", numerics::divisor, numerics::gcd),
    builtin(5046, "lcm", &[INT, INT], DataType::Integer, integers::lcm),
    builtin(5047, "lcm", &[BIGINT, BIGINT], DataType::BigInt, integers::lcm),
    numerics(5049, "lcm", numerics::multiple, numerics::lcm),
    float(1341, "ln", floats::ln),
    float(1340, "log", floats::log10),
    float(1194, "log10", floats::log10),
    builtin(5042, "min_scale", &[Arg::Numeric], DataType::Integer, numerics::min_scale),
    builtin(940, "mod", &[SMALLINT, SMALLINT], DataType::SmallInt, integers::remainder),
    builtin(941, "mod", &[INT, INT], DataType::Integer, integers::remainder),
    builtin(947, "mod", &[BIGINT, BIGINT], DataType::BigInt, integers::remainder),
    numerics(1728, "mod", numerics::remainder, numerics::modulo),
    builtin(1610, "pi", &[], DataType::DoublePrecision, floats::pi),
    floats(1368, "power", floats::power),
    floats(1346, "pow", floats::power),
    float(1609, "radians", floats::radians),
    float(1342, "round", floats::round),
    numeric(1708, "round", numerics::whole, numerics::round),
    builtin(1707, "round", &[Arg::Numeric, INT], WHOLE, numerics::round_to).giving(numerics::rounded),
    builtin(3281, "scale", &[Arg::Numeric], DataType::Integer, numerics::scale),
    float(2310, "sign", floats::sign),
    numeric(1706, "sign", numerics::one_digit, numerics::sign),
    float(1344, "sqrt", floats::sqrt),
    numeric(1730, "sqrt", numerics::root, numerics::sqrt),
    numeric(5043, "trim_scale", numerics::trimmed, numerics::trim_scale),
    float(1343, "trunc", floats::trunc),
    numeric(1710, "trunc", numerics::whole, numerics::trunc),
    builtin(1709, "trunc", &[Arg::Numeric, INT], WHOLE, numerics::trunc_to).giving(numerics::same),
    builtin(320, "width_bucket", &[FLOAT, FLOAT, FLOAT, INT], DataType::Integer, floats::width_bucket),
    builtin(
        2170,
        "width_bucket",
        &[Arg::Numeric, Arg::Numeric, Arg::Numeric, INT],
        DataType::Integer,
        buckets::of_numerics,
    ),
    builtin(3218, "width_bucket", &[Arg::Any, Arg::AnyArray], DataType::Integer, buckets::of_array),
    float(1604, "sin", angles::sin),
    float(1605, "cos", angles::cos),
    float(1606, "tan", angles::tan),
    float(1607, "cot", angles::cot),
    float(1600, "asin", angles::asin),
    float(1601, "acos", angles::acos),
    float(1602, "atan", angles::atan),
    floats(1603, "atan2", angles::atan2),
    float(2735, "sind", angles::sind),
    float(2736, "cosd", angles::cosd),
    float(2737, "tand", angles::tand),
    float(2738, "cotd", angles::cotd),
    float(2731, "asind", angles::asind),
    float(2732, "acosd", angles::acosd),
    float(2733, "atand", angles::atand),
    floats(2734, "atan2d", angles::atan2d),
    float(2462, "sinh", angles::sinh),
    float(2463, "cosh", angles::cosh),
    float(2464, "tanh", angles::tanh),
    float(2465, "asinh", angles::asinh),
    float(2466, "acosh", angles::acosh),
    float(2467, "atanh", angles::atanh),
];

#[cfg(test)]
mod tests;
