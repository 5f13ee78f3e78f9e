//! What the catalog keeps of a function.
//!
//! ```text
//!   f(integer,text)     the object's name: overloaded functions differ by the types of their arguments
//!     name⇥f            arg⇥i⇥a⇥INT⇥1        returns⇥one⇥type⇥TEXT        body⇥SELECT ...        volatility⇥i
//! ```

use std::sync::Arc;

use sqlparser::ast::{DataType as SqlType, Expr};
use weft_format::{DataType, Error, Result};
use weft_kernel::{Object, ObjectKind, SchemaId, TableDef, Transaction};

use crate::domains::{self, line, lines};
use crate::expr::data_type_of;
use crate::parse::{ArgumentMode, parse_expression};

/// The property of a function's object.
const FUNCTION: &str = "function";

/// A function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) id: u32,
    pub(crate) namespace: SchemaId,
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) is_set: bool,
    pub(crate) gives: Gives,
    pub(crate) body: String,
    /// The body is an expression behind RETURN.
    pub(crate) is_return: bool,
    /// i, s or v.
    pub(crate) volatility: char,
    pub(crate) strict: bool,
    pub(crate) definer: bool,
    pub(crate) leak_proof: bool,
    /// s, r or u.
    pub(crate) parallel: char,
    pub(crate) cost: Option<String>,
    pub(crate) rows: Option<String>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) mode: ArgumentMode,
    pub(crate) name: Option<String>,
    /// The type, with fixed names of users' types.
    pub(crate) data_type: String,
    pub(crate) default: Option<String>,
}

/// What a function gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gives {
    /// Nothing.
    Void,
    /// Values of a type.
    Type(String),
    /// Rows of the table or view of a number.
    Relation(u32),
    /// Rows of its OUT arguments or columns.
    Record,
}

/// A column of what is given.
#[derive(Clone, Debug)]
pub(crate) struct GivenColumn {
    pub(crate) name: String,
    /// The type, with fixed names.
    pub(crate) data_type: String,
}

fn mode_letter(mode: ArgumentMode) -> &'static str {
    match mode {
        ArgumentMode::In => "i",
        ArgumentMode::Out => "o",
        ArgumentMode::InOut => "b",
        ArgumentMode::Variadic => "v",
        ArgumentMode::Table => "t",
    }
}

fn mode_of(letter: &str) -> Option<ArgumentMode> {
    Some(match letter {
        "i" => ArgumentMode::In,
        "o" => ArgumentMode::Out,
        "b" => ArgumentMode::InOut,
        "v" => ArgumentMode::Variadic,
        "t" => ArgumentMode::Table,
        _ => return None,
    })
}

impl Argument {
    /// The mode, as `pg_proc` has it.
    pub(crate) fn mode_letter(&self) -> char {
        mode_letter(self.mode).chars().next().unwrap_or('i')
    }

    /// Whether a call gives it.
    pub(crate) fn is_input(&self) -> bool {
        matches!(self.mode, ArgumentMode::In | ArgumentMode::InOut | ArgumentMode::Variadic)
    }

    /// Whether the result has it.
    pub(crate) fn is_output(&self) -> bool {
        matches!(self.mode, ArgumentMode::Out | ArgumentMode::InOut | ArgumentMode::Table)
    }
}

impl Function {
    /// One that says nothing yet.
    pub(crate) fn new(namespace: SchemaId, name: impl Into<String>) -> Function {
        Function {
            id: 0,
            namespace,
            name: name.into(),
            arguments: Vec::new(),
            is_set: false,
            gives: Gives::Void,
            body: String::new(),
            is_return: false,
            volatility: 'v',
            strict: false,
            definer: false,
            leak_proof: false,
            parallel: 'u',
            cost: None,
            rows: None,
        }
    }

    /// That of an object.
    pub(crate) fn of(object: &Object) -> Result<Function> {
        let damaged = || Error::corrupt(format!("the catalog's entry of function \"{}\" is damaged", object.name));
        let mut function = Function { id: object.id, ..Function::new(object.namespace, "") };
        for line in lines(object.property(FUNCTION).ok_or_else(damaged)?) {
            let parts: Vec<&str> = line.iter().map(String::as_str).collect();
            match parts[..] {
                ["name", name] => name.clone_into(&mut function.name),
                ["arg", mode, name, data_type, ref default @ ..] => function.arguments.push(Argument {
                    mode: mode_of(mode).ok_or_else(damaged)?,
                    name: (!name.is_empty()).then(|| name.to_owned()),
                    data_type: data_type.to_owned(),
                    default: default.first().map(|text| (*text).to_owned()),
                }),
                ["returns", how, kind, text] => {
                    function.is_set = how == "set";
                    function.gives = match kind {
                        "void" => Gives::Void,
                        "type" => Gives::Type(text.to_owned()),
                        "relation" => Gives::Relation(text.parse().map_err(|_| damaged())?),
                        "record" => Gives::Record,
                        _ => return Err(damaged()),
                    };
                }
                ["body", text] => text.clone_into(&mut function.body),
                ["return"] => function.is_return = true,
                ["volatility", letter] => function.volatility = letter.chars().next().ok_or_else(damaged)?,
                ["parallel", letter] => function.parallel = letter.chars().next().ok_or_else(damaged)?,
                ["strict"] => function.strict = true,
                ["definer"] => function.definer = true,
                ["leakproof"] => function.leak_proof = true,
                ["cost", text] => function.cost = Some(text.to_owned()),
                ["rows", text] => function.rows = Some(text.to_owned()),
                _ => return Err(damaged()),
            }
        }
        Ok(function)
    }

    /// The object that keeps it.
    pub(crate) fn to_object(&self) -> Object {
        let mut text = line(&["name", &self.name]);
        for argument in &self.arguments {
            let (mode, name) = (mode_letter(argument.mode), argument.name.as_deref().unwrap_or_default());
            text += &match &argument.default {
                Some(default) => line(&["arg", mode, name, &argument.data_type, default]),
                None => line(&["arg", mode, name, &argument.data_type]),
            };
        }
        let how = if self.is_set { "set" } else { "one" };
        text += &match &self.gives {
            Gives::Void => line(&["returns", how, "void", ""]),
            Gives::Type(data_type) => line(&["returns", how, "type", data_type]),
            Gives::Relation(id) => line(&["returns", how, "relation", &id.to_string()]),
            Gives::Record => line(&["returns", how, "record", ""]),
        };
        text += &line(&["body", &self.body]);
        text += &line(&["volatility", &self.volatility.to_string()]);
        text += &line(&["parallel", &self.parallel.to_string()]);
        let flags = [
            (self.is_return, "return"),
            (self.strict, "strict"),
            (self.definer, "definer"),
            (self.leak_proof, "leakproof"),
        ];
        flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, word)| text += &line(&[word]));
        for (word, value) in [("cost", &self.cost), ("rows", &self.rows)] {
            text += &value.as_ref().map_or_else(String::new, |value| line(&[word, value]));
        }
        let mut object = Object::new(ObjectKind::Function, self.namespace, self.key());
        object.id = self.id;
        object.properties.insert(FUNCTION.to_owned(), text);
        if let Gives::Relation(id) = self.gives {
            object.needs.push(id);
        }
        object
    }

    /// The name of its object.
    pub(crate) fn key(&self) -> String {
        let types: Vec<&str> = self.inputs().map(|argument| argument.data_type.as_str()).collect();
        format!("{}({})", self.name, types.join(","))
    }

    /// The arguments that a call gives.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| argument.is_input())
    }

    /// The function of a number.
    pub(crate) fn of_number(txn: &Transaction, id: u32) -> Result<Option<Function>> {
        let object = txn.object_of(id).filter(|object| object.kind == ObjectKind::Function);
        object.map(|object| Function::of(&object)).transpose()
    }

    /// The columns that it gives in FROM, when they have names of their own.
    pub(crate) fn columns(&self, txn: &Transaction) -> Result<Option<Vec<GivenColumn>>> {
        let outputs: Vec<GivenColumn> = self
            .arguments
            .iter()
            .filter(|argument| argument.is_output())
            .enumerate()
            .map(|(at, argument)| GivenColumn {
                name: argument.name.clone().unwrap_or_else(|| format!("column{}", at + 1)),
                data_type: argument.data_type.clone(),
            })
            .collect();
        if !outputs.is_empty() {
            return Ok(Some(outputs));
        }
        let Gives::Relation(id) = self.gives else { return Ok(None) };
        Ok(Some(relation_columns(txn, id)))
    }

    /// Whether a call of it is a statement of its own: it is for what it does.
    pub(crate) fn is_alone(&self) -> bool {
        self.gives == Gives::Void
    }

    /// Whether what it gives are rows, not values.
    pub(crate) fn gives_rows(&self) -> bool {
        matches!(self.gives, Gives::Relation(_) | Gives::Record)
    }

    /// What messages call it: with the types of its arguments.
    pub(crate) fn shown(&self, txn: &Transaction) -> String {
        let types: Vec<String> = self.inputs().map(|argument| shown_type(txn, &argument.data_type)).collect();
        format!("{}({})", self.name, types.join(","))
    }
}

/// The columns of a table or a view.
fn relation_columns(txn: &Transaction, id: u32) -> Vec<GivenColumn> {
    let given = |name: &str, data_type: DataType| GivenColumn { name: name.into(), data_type: data_type.to_string() };
    if let Some(def) = txn.tables().into_iter().find(|def: &Arc<TableDef>| def.oid == id) {
        return def.schema.visible().map(|(_, column)| given(&column.name, column.data_type)).collect();
    }
    let columns = txn.object_of(id).map(|view| crate::view_columns::view_columns(&view)).unwrap_or_default();
    columns.into_iter().map(|(name, data_type)| given(&name, data_type)).collect()
}

/// A type's text as users read it.
pub(crate) fn shown_type(txn: &Transaction, text: &str) -> String {
    match plain_type_of(txn, text) {
        Ok((data_type, None)) => crate::text::type_name(data_type).to_string(),
        _ => crate::types::shown(text, &|named| crate::types::name_of(txn, named)).into_owned(),
    }
}

/// The type that a stored text names, and the domain that it is.
pub(crate) fn plain_type_of(txn: &Transaction, text: &str) -> Result<(DataType, Option<u32>)> {
    let named = sql_type_of(text)?;
    if let Some(resolved) = domains::plain_type(txn, &named)? {
        return Ok((data_type_of(&resolved.base)?, Some(resolved.rules.id)));
    }
    Ok((data_type_of(&named)?, None))
}

/// A stored type as the parser's tree.
pub(crate) fn sql_type_of(text: &str) -> Result<SqlType> {
    match parse_expression(&format!("CAST(NULL AS {text})"))? {
        Expr::Cast { data_type, .. } => Ok(data_type),
        _ => Err(Error::corrupt(format!("{text} is no type"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_kept_as_it_is() {
        let mut function = Function::new(SchemaId::PUBLIC, "f");
        let argument = |mode, name: Option<&str>, data_type: &str, default: Option<&str>| Argument {
            mode,
            name: name.map(str::to_owned),
            data_type: data_type.to_owned(),
            default: default.map(str::to_owned),
        };
        function.arguments = vec![
            argument(ArgumentMode::In, Some("a"), "INT", None),
            argument(ArgumentMode::In, None, "TEXT", Some("'x\ty'")),
            argument(ArgumentMode::Out, Some("b"), "BOOLEAN", None),
        ];
        function.gives = Gives::Type("BOOLEAN".into());
        function.body = "SELECT\n a = 1\t\\".into();
        function.strict = true;
        function.volatility = 's';
        let object = function.to_object();
        assert_eq!(object.name, "f(INT,TEXT)");
        let read = Function::of(&object).expect("it is read");
        assert_eq!((read.arguments, read.gives, read.body), (function.arguments, function.gives, function.body));
        assert_eq!((read.strict, read.volatility, read.is_set), (true, 's', false));
    }
}
