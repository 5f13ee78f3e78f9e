//! Who does something, what it is done to, and how it is refused.

use weft_expr::Local;
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;
use weft_pgcatalog::rights::{Access, Target};

use crate::notice::Notice;
use crate::parse::RoleName;

/// Who does something, and with what.
pub(crate) struct Who<'a> {
    pub(crate) txn: &'a mut Transaction,
    /// The role whose rights count.
    pub(crate) role: u32,
    /// The role that logged in.
    pub(crate) session: u32,
    pub(crate) database: &'a str,
    pub(crate) notices: &'a mut Vec<Notice>,
    /// The session's zone and styles.
    pub(crate) local: &'a Local,
}

pub(super) fn denied(message: impl Into<String>) -> Error {
    Error::new(Code::InsufficientPrivilege, message)
}

pub(super) fn no_role(name: &str) -> Error {
    Error::new(Code::UndefinedObject, format!("role \"{name}\" does not exist"))
}

impl Who<'_> {
    /// The number of a role that a statement names.
    pub(super) fn oid(&self, access: &Access, name: &RoleName) -> Result<u32> {
        match name {
            RoleName::Named(name) => access.oid(name).ok_or_else(|| no_role(name)),
            RoleName::Current => Ok(self.role),
            RoleName::Session => Ok(self.session),
            RoleName::Public => Err(no_role("public")),
        }
    }
}

/// The object that a target names, for messages; none when it is not there.
pub(super) fn target_word(txn: &Transaction, target: Target, database: &str) -> Option<String> {
    match target {
        Target::Database => Some(format!("database {database}")),
        Target::Schema(weft_pgcatalog::PUBLIC) => Some("schema public".to_owned()),
        Target::Schema(oid) => {
            let object = txn.object_of(oid - weft_pgcatalog::FIRST)?;
            Some(format!("schema {}", object.name))
        }
        Target::Relation(oid) => {
            let id = oid - weft_pgcatalog::FIRST;
            if let Some(def) = txn.tables().iter().find(|def| def.oid == id) {
                return Some(format!("table {}", def.name));
            }
            let object = txn.object_of(id)?;
            let word = match object.kind {
                weft_kernel::ObjectKind::View => "view",
                weft_kernel::ObjectKind::Type => "type",
                weft_kernel::ObjectKind::Function => {
                    let shown = crate::functions::Function::of(&object).map(|function| function.shown(txn));
                    return Some(format!("function {}", shown.unwrap_or_else(|_| object.name.clone())));
                }
                _ => "sequence",
            };
            Some(format!("{word} {}", object.name))
        }
    }
}
