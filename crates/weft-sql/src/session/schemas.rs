//! Schemas: CREATE, DROP and ALTER SCHEMA, and the search path.

use std::sync::Arc;

use sqlparser::ast::{ObjectName, SchemaName};
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, ObjectKind, SchemaId, Transaction};
use weft_pgcatalog::rights::Rights;

use super::Session;
use super::objects::{drop_object, drop_table};
use super::own_schema::Temporary;
use super::user_types::drop_type;
use super::work::Work;
use crate::ddl::comment::{self, About};
use crate::ddl::dependents;
use crate::notice::Notice;
use crate::outcome::{Outcome, Tag};
use crate::parse::fold;
use crate::resolve::{self, TEMPORARY};
use crate::rights::{Permit, give_schema};
use crate::settings::{SEARCH_PATH, Settings};

/// Looks up the schemas of a search path; those that are not there, or that the role may not look into, are left out.
pub(super) fn set_search_path(txn: &mut Transaction, settings: &Settings, permit: &Permit, temporary: &Temporary) {
    let path = settings.search_path.as_str();
    let is_usual = matches!(**txn.search_path(), [SchemaId::PUBLIC]);
    if path == SEARCH_PATH && !txn.has_objects(ObjectKind::Schema) && permit.may_look_in(SchemaId::PUBLIC) {
        if !is_usual {
            txn.set_search_path(Arc::new([SchemaId::PUBLIC]));
        }
        return;
    }
    let mut schemas: Vec<SchemaId> = Vec::new();
    let (own, names) = (temporary.schema(txn), names_of(path));
    // First, unless the path says where.
    schemas.extend(own.filter(|_| !names.iter().any(|name| name == TEMPORARY)));
    for name in &names {
        if name == TEMPORARY {
            schemas.extend(own.filter(|own| !schemas.contains(own)));
            continue;
        }
        let name = if name == "$user" { &settings.user } else { name };
        let usable = |id: &SchemaId| !schemas.contains(id) && permit.may_look_in(*id);
        if let Some(id) = resolve::schema_of(txn, name).filter(usable) {
            schemas.push(id);
        }
    }
    if **txn.search_path() != *schemas {
        txn.set_search_path(schemas.into());
    }
}

/// The names of a search path: those outside of quotes in small letters.
///
/// ```text
///   "$user", Public, "a, ""b"""      $user   public   a, "b"
/// ```
fn names_of(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let (mut is_quoted, mut before) = (false, ' ');
    for letter in path.chars() {
        let name = names.last_mut().expect("there is a name");
        match letter {
            '"' => {
                // Two within quotes are one of the name.
                if !is_quoted && before == '"' {
                    name.push('"');
                }
                is_quoted = !is_quoted;
            }
            ',' if !is_quoted => names.push(String::new()),
            letter if is_quoted => name.push(letter),
            letter if letter.is_whitespace() => {}
            letter => name.extend(letter.to_lowercase()),
        }
        before = letter;
    }
    names
}

/// A schema's name: one word, or with the database before it.
fn schema_name(name: &ObjectName) -> Result<String> {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map(fold).ok_or_else(|| Error::new(Code::SyntaxError, format!("\"{name}\" is not a schema name")))
}

fn is_reserved(name: &str) -> bool {
    name.starts_with("pg_") || name == "information_schema"
}

pub(super) fn create(session: &mut Session, name: &SchemaName, if_not_exists: bool) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("CREATE SCHEMA")?;
        let (name, owner) = match name {
            SchemaName::Simple(name) => (schema_name(name)?, None),
            SchemaName::NamedAuthorization(name, user) => (schema_name(name)?, Some(fold(user))),
            SchemaName::UnnamedAuthorization(user) => (fold(user), Some(fold(user))),
        };
        work.permit.check_database(Rights::CREATE, &work.settings.database)?;
        if is_reserved(&name) {
            let error = Error::new(Code::ReservedName, format!("unacceptable schema name \"{name}\""));
            return Err(error.hint("the prefix \"pg_\" is reserved for system schemas"));
        }
        if resolve::schema_of(work.txn, &name).is_some() {
            let message = format!("schema \"{name}\" already exists");
            if !if_not_exists {
                return Err(Error::new(Code::DuplicateSchema, message));
            }
            work.notices.push(Notice { sqlstate: "42P06", ..Notice::plain(format!("{message}, skipping")) });
            return Ok(Outcome::done(Tag::Done("CREATE SCHEMA")));
        }
        let made = work.txn.put_object(Object::new(ObjectKind::Schema, SchemaId::PUBLIC, name))?;
        if let Some(owner) = owner {
            give_schema(&mut work.who(), SchemaId(made.id), &owner)?;
        }
        Ok(Outcome::done(Tag::Done("CREATE SCHEMA")))
    })
}

pub(super) fn drop(session: &mut Session, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("DROP SCHEMA")?;
        for name in names {
            let name = schema_name(name)?;
            let Some(id) = resolve::schema_of(work.txn, &name) else {
                if !if_exists {
                    return Err(resolve::no_schema(&name));
                }
                work.notices.push(Notice::plain(format!("schema \"{name}\" does not exist, skipping")));
                continue;
            };
            work.permit.check_owns_schema(id, &name)?;
            if id == SchemaId::PUBLIC {
                let message = "the schema public cannot be dropped";
                return Err(Error::new(Code::FeatureNotSupported, message).hint("drop what is in it"));
            }
            drop_contents(work.txn, id, &name, cascade, work.notices)?;
            comment::set(work.txn, &About::Schema(id), None)?;
            if let Some(schema) = work.txn.object(ObjectKind::Schema, SchemaId::PUBLIC, &name) {
                work.txn.drop_object(&schema)?;
            }
        }
        Ok(Outcome::done(Tag::Done("DROP SCHEMA")))
    })
}

/// Drops schemas by their numbers.
pub(super) fn drop_numbered(work: &mut Work<'_>, ids: &[SchemaId], cascade: bool) -> Result<()> {
    for id in ids {
        let Some(schema) = work.txn.object_of(id.0) else { continue };
        drop_contents(work.txn, *id, &schema.name, cascade, work.notices)?;
        comment::set(work.txn, &About::Schema(*id), None)?;
        work.txn.drop_object(&schema)?;
    }
    Ok(())
}

/// Drops what is in a schema, or refuses when something is.
pub(super) fn drop_contents(
    txn: &mut Transaction,
    id: SchemaId,
    name: &str,
    cascade: bool,
    notices: &mut Vec<Notice>,
) -> Result<()> {
    let is_in = |object: &Arc<Object>| object.namespace == id && object.kind.is_relation();
    let objects: Vec<Arc<Object>> = txn.objects().into_iter().filter(is_in).collect();
    let types = txn.objects_of(ObjectKind::Type).into_iter().map(|(object, _)| object);
    let types: Vec<Arc<Object>> = types.filter(|object| object.namespace == id).collect();
    let tables: Vec<_> = txn.tables().into_iter().filter(|def| def.namespace == id).collect();
    let first = tables.first().map(|def| format!("table {name}.{}", def.name));
    let first = first.or_else(|| objects.first().map(|object| format!("{name}.{}", object.name)));
    let first = first.or_else(|| types.first().map(|object| format!("type {name}.{}", object.name)));
    let functions = txn.objects_of(ObjectKind::Function).into_iter().map(|(object, _)| object);
    let functions: Vec<Arc<Object>> = functions.filter(|object| object.namespace == id).collect();
    let first = first.or_else(|| functions.first().map(|object| format!("function {name}.{}", object.name)));
    let Some(first) = first else { return Ok(()) };
    if !cascade {
        let message = format!("cannot drop schema {name} because other objects depend on it");
        let hint = format!("{first} depends on schema {name}; use DROP ... CASCADE to drop the dependent objects too");
        return Err(Error::new(Code::DependentObjects, message).hint(hint));
    }
    let ids: Vec<_> = tables.iter().map(|def| def.id).collect();
    for def in tables {
        if let Some(table) = txn.table_of(def.id) {
            notices.push(Notice::plain(format!("drop cascades to table {name}.{}", def.name)));
            drop_table(txn, &table, &ids, true, notices)?;
        }
    }
    for object in objects {
        // It may have gone with a table.
        if let Some(object) = txn.object_of(object.id) {
            drop_object(txn, &object, true, notices)?;
        }
    }
    for object in functions {
        if let Some(object) = txn.object_of(object.id) {
            dependents::drop_function(txn, &object, true, notices)?;
        }
    }
    for object in types {
        drop_type(txn, &object, true, notices)?;
    }
    Ok(())
}

pub(super) fn rename(session: &mut Session, name: &str, new: &str) -> Result<Outcome> {
    session.in_statement(|work| {
        work.check_writable("ALTER SCHEMA")?;
        let known = work.txn.object(ObjectKind::Schema, SchemaId::PUBLIC, name);
        let known = known.ok_or_else(|| resolve::no_schema(name))?;
        work.permit.check_owns_schema(SchemaId(known.id), name)?;
        work.permit.check_database(Rights::CREATE, &work.settings.database)?;
        if is_reserved(new) {
            return Err(Error::new(Code::ReservedName, format!("unacceptable schema name \"{new}\"")));
        }
        if resolve::schema_of(work.txn, new).is_some() {
            return Err(Error::new(Code::DuplicateSchema, format!("schema \"{new}\" already exists")));
        }
        let views = work.txn.objects().into_iter().filter(|object| object.kind == ObjectKind::View);
        let prefix = format!("{name}.");
        if let Some(view) = views.into_iter().find(|view| view.property("query").is_some_and(|q| q.contains(&prefix))) {
            let name = dependents::name_of(&view);
            let message = format!("renaming a schema that view \"{name}\" names is not supported");
            return Err(Error::new(Code::FeatureNotSupported, message));
        }
        let mut renamed = (*known).clone();
        renamed.name = new.to_owned();
        work.txn.put_object(renamed)?;
        Ok(Outcome::done(Tag::Done("ALTER SCHEMA")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_search_path_are_read_as_set_writes_them() {
        assert_eq!(names_of(SEARCH_PATH), ["$user", "public"]);
        assert_eq!(names_of(r#"Public,"a, ""b""","C""d" , e"#), ["public", r#"a, "b""#, r#"C"d"#, "e"]);
        assert_eq!(names_of(r#""""a""#), [r#""a"#]);
        assert_eq!(names_of(r#""""#), [""]);
    }
}
