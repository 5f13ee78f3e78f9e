//! Binding of what chooses between expressions (CASE, coalesce, ...) and of function calls.

use sqlparser::ast::{CaseWhen, Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArguments};
use weft_expr::routines::{Signature, by_name, gives_rows};
use weft_expr::{Expr, Function, Node, common_type, is_integer, is_number};
use weft_format::predicate::CompareOp;
use weft_format::{Code, DataType, Error};

use super::Scope;
use super::bind::{BindError, BindResult, Binder, is_now, now, open, routine, unsupported};
use crate::parse::fold_all;
use crate::text;

/// Whether the query engine gives numerics of another scale, as it knows how many digits a constant asks for.
fn has_other_scale(name: &str, signature: &Signature) -> bool {
    const NAMES: &[&str] = &["round", "trunc", "ceil", "ceiling", "floor", "sign", "sqrt"];
    matches!(signature.result, DataType::Numeric { .. }) && NAMES.contains(&name)
}

impl Binder<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&SqlExpr>,
        conditions: &[CaseWhen],
        else_result: Option<&SqlExpr>,
        scope: &Scope,
        expected: Option<DataType>,
    ) -> BindResult<Expr> {
        let mut bound = Vec::with_capacity(conditions.len());
        for when in conditions {
            bound.push(match operand {
                Some(operand) => self.compare(CompareOp::Eq, operand, &when.condition, scope)?,
                None => self.bind_condition(&when.condition, scope)?,
            });
        }
        let mut results: Vec<&SqlExpr> = conditions.iter().map(|when| &when.result).collect();
        results.extend(else_result);
        let (mut results, data_type) = self.choice("CASE", &results, scope, expected)?;
        let otherwise = else_result.and_then(|_| results.pop()).map(Box::new);
        let branches = bound.into_iter().zip(results).collect();
        Ok(Expr::new(Node::Case { branches, otherwise }, data_type))
    }

    /// Binds expressions of which one is chosen: all are cast to their common type.
    pub(super) fn choice(
        &mut self,
        what: &str,
        exprs: &[&SqlExpr],
        scope: &Scope,
        expected: Option<DataType>,
    ) -> BindResult<(Vec<Expr>, DataType)> {
        let mut common: Option<DataType> = None;
        for expr in exprs {
            if !self.is_untyped(expr) {
                let data_type = self.bind(expr, scope, expected)?.data_type;
                common = Some(match common {
                    None => data_type,
                    Some(before) => common_type(before, data_type).ok_or_else(|| {
                        let (a, b) = (text::type_name(before), text::type_name(data_type));
                        let error =
                            Error::new(Code::DatatypeMismatch, format!("{what} types {a} and {b} cannot be matched"));
                        self.place(error, expr)
                    })?,
                });
            }
        }
        let mut data_type = common.or(expected).filter(|data_type| !data_type.is_text()).unwrap_or(DataType::Text);
        if data_type.is_bits() && exprs.iter().any(|expr| self.is_untyped(expr)) {
            // A literal has the length that it is written with.
            data_type = open(data_type);
        }
        let mut bound = Vec::with_capacity(exprs.len());
        for expr in exprs {
            bound.push(self.bind(expr, scope, Some(data_type))?.cast_to(data_type));
        }
        Ok((bound, data_type))
    }

    pub(super) fn function(
        &mut self,
        function: &sqlparser::ast::Function,
        scope: &Scope,
        expected: Option<DataType>,
    ) -> BindResult<Expr> {
        let name = fold_all(&function.name);
        let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
        let is_plain = function.filter.is_none()
            && function.over.is_none()
            && function.within_group.is_empty()
            && function.null_treatment.is_none()
            && function.parameters == FunctionArguments::None;
        let mut args = Vec::new();
        match &function.args {
            FunctionArguments::None if is_now(name) => {}
            FunctionArguments::List(list)
                if is_plain && list.duplicate_treatment.is_none() && list.clauses.is_empty() =>
            {
                for arg in &list.args {
                    match arg {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => args.push(expr),
                        _ => return unsupported(format!("the function call {name}(...)")),
                    }
                }
            }
            _ => return unsupported(format!("the function call {name}(...)")),
        }
        if is_now(name) && args.is_empty() {
            return Ok(now(name));
        }
        // A literal without a type is a pattern.
        let is_pattern = name == "substring" && args.iter().skip(1).any(|arg| self.is_untyped(arg));
        match Function::by_name(name).filter(|_| !is_pattern) {
            Some(known) => match self.call(known, &args, scope, expected) {
                Err(BindError::Unsupported(_)) => self.routine_call(name, &args, scope),
                bound => bound,
            },
            None => self.routine_call(name, &args, scope),
        }
    }

    /// A call of a routine.
    pub(super) fn routine_call(&mut self, name: &str, args: &[&SqlExpr], scope: &Scope) -> BindResult<Expr> {
        let mut bound = Vec::with_capacity(args.len());
        for arg in args {
            bound.push(if self.is_untyped(arg) { None } else { Some(self.bind(arg, scope, None)?) });
        }
        let given: Vec<Option<DataType>> = bound.iter().map(|arg| arg.as_ref().map(|arg| arg.data_type)).collect();
        // Of functions with many rows the routine gives an array, which the query engine takes apart.
        let is_known = |signature: &Signature| !gives_rows(name) && !has_other_scale(name, signature);
        let Some(signature) = by_name(name, &given).filter(is_known) else {
            return unsupported(format!("the function {name}"));
        };
        let mut typed = Vec::with_capacity(args.len());
        for ((arg, written), to) in bound.into_iter().zip(args).zip(&signature.args) {
            typed.push(match arg {
                Some(arg) => arg,
                None => self.bind(written, scope, Some(*to))?,
            });
        }
        Ok(routine(signature, typed))
    }

    pub(super) fn call(
        &mut self,
        function: Function,
        args: &[&SqlExpr],
        scope: &Scope,
        expected: Option<DataType>,
    ) -> BindResult<Expr> {
        let most = match function {
            Function::Coalesce | Function::Greatest | Function::Least => usize::MAX,
            Function::NullIf => 2,
            Function::Substring => 3,
            _ => 1,
        };
        let least = if matches!(function, Function::NullIf | Function::Substring) { 2 } else { 1 };
        if !(least..=most).contains(&args.len()) {
            return unsupported(format!("{function:?} with {} arguments", args.len()));
        }
        if function.is_choice() {
            let name = format!("{function:?}").to_uppercase();
            let (bound, data_type) = self.choice(&name, args, scope, expected)?;
            return Ok(Expr::new(Node::Call(function, bound), data_type));
        }
        let first = match function {
            Function::Abs | Function::Round => None,
            _ => Some(DataType::Text),
        };
        let mut bound = vec![self.bind(args[0], scope, first)?];
        for arg in &args[1..] {
            bound.push(self.bind(arg, scope, Some(DataType::Integer))?);
        }
        let given = bound[0].data_type;
        let result = match function {
            Function::Abs if is_number(given) => Some(given),
            Function::Round => match given {
                DataType::DoublePrecision => Some(given),
                DataType::Numeric { precision, .. } => Some(DataType::Numeric { precision, scale: 0 }),
                _ => None,
            },
            Function::Lower | Function::Upper if given.is_text() => Some(DataType::Text),
            Function::Length if given.is_text() => Some(DataType::Integer),
            Function::Substring if given.is_text() && bound[1..].iter().all(|arg| is_integer(arg.data_type)) => {
                Some(DataType::Text)
            }
            _ => None,
        };
        let name = if function == Function::Substring { "substring" } else { "length" };
        let types: Vec<Option<DataType>> = bound.iter().map(|arg| Some(arg.data_type)).collect();
        match result {
            Some(data_type) => Ok(Expr::new(Node::Call(function, bound), data_type)),
            None if given == DataType::Bytea && by_name(name, &types).is_some() => {
                let signature = by_name(name, &types).expect("it was found before");
                Ok(routine(signature, bound))
            }
            None if self.is_alone => {
                let types: Vec<_> = bound.iter().map(|arg| text::type_name(arg.data_type)).collect();
                let name = format!("{function:?}").to_lowercase();
                let message = format!("function {name}({}) does not exist", types.join(", "));
                let error = Error::new(Code::UndefinedFunction, message).hint("add explicit type casts");
                Err(self.place(error, args[0]).into())
            }
            None => unsupported(format!("{function:?} of {}", text::type_name(given))),
        }
    }
}
