//! Roles: who may log in, and with which password.
//!
//! ```text
//!   pg_authid   name  superuser  login  verifier
//!               weft  t          t      SCRAM-SHA-256$4096:...
//! ```
//!
//! Roles are rows of an ordinary table, so that changing them is transactional and durable as everything else is.

use weft_format::{Code, Error, Result, Value};

use weft_kernel::{SchemaId, TableDef};

use crate::session::Session;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS public.pg_authid (rolname text PRIMARY KEY, rolsuper boolean NOT NULL, \
                     rolcanlogin boolean NOT NULL, rolpassword text)";

/// All roles, those with every right first: name, whether every right is its, whether it may log in.
pub(crate) const LIST: &str =
    "SELECT rolname, rolsuper, rolcanlogin FROM public.pg_authid ORDER BY rolsuper DESC, rolname";

/// Whether a table is that of the roles, which is not one of the users' tables.
pub(crate) fn is_of_roles(def: &TableDef) -> bool {
    def.namespace == SchemaId::PUBLIC && def.name == "pg_authid"
}

/// What a login is decided by.
#[derive(Clone, Debug)]
pub struct Login {
    /// Whether every right is the role's.
    pub superuser: bool,
    /// Whether it may log in at all.
    pub can_login: bool,
    /// What its password is tested with; none: no password fits.
    pub verifier: Option<String>,
}

/// Makes the first role, or gives it another verifier.
pub fn put_superuser(session: &mut Session, name: &str, verifier: Option<&str>) -> Result<()> {
    session.execute(TABLE)?;
    let text = |text: &str| Value::Text(text.into());
    let verifier = verifier.map_or(Value::Null, text);
    let sql = "INSERT INTO public.pg_authid VALUES ($1, true, true, $2) \
               ON CONFLICT (rolname) DO UPDATE SET rolpassword = excluded.rolpassword";
    session.execute_params(sql, &[text(name), verifier]).map(|_| ())
}

/// A role's login; none when there is no such role.
pub fn login(session: &mut Session, name: &str) -> Result<Option<Login>> {
    let sql = "SELECT rolsuper, rolcanlogin, rolpassword FROM public.pg_authid WHERE rolname = $1";
    let found = match session.execute_params(sql, &[Value::Text(name.into())]) {
        Err(error) if error.code() == Code::UndefinedTable => return Ok(None),
        found => found?,
    };
    let Some(row) = found.rows.iter().next() else { return Ok(None) };
    match <[Value; 3]>::try_from(row) {
        Ok([Value::Bool(superuser), Value::Bool(can_login), verifier]) => {
            let verifier = match verifier {
                Value::Text(text) => Some(text.into()),
                _ => None,
            };
            Ok(Some(Login { superuser, can_login, verifier }))
        }
        _ => Err(Error::corrupt(format!("role \"{name}\" in pg_authid has values of wrong types"))),
    }
}
