//! CREATE, ALTER and DROP ROLE, and who is a member of whom.

use weft_format::{Code, Error, Result};
use weft_pgcatalog::rights::{Access, Membership, OWNER, Role, predefined};

use super::catalog::{drop_member, drop_role, load, put_member, put_role};
use super::owners::dependents;
use super::verifier::Verifier;
use super::who::{Who, denied, no_role};
use crate::notice::Notice;
use crate::parse::{GrantRoles, RoleName, RoleOption};

fn check_name(name: &str) -> Result<()> {
    if name.starts_with("pg_") {
        let error = Error::new(Code::ReservedName, format!("role name \"{name}\" is reserved"));
        return Err(error.hint("Role names starting with \"pg_\" are reserved."));
    }
    if matches!(name, "public" | "none") {
        return Err(Error::new(Code::ReservedName, format!("role name \"{name}\" is reserved")));
    }
    if name.is_empty() {
        return Err(Error::new(Code::SyntaxError, "zero-length delimited identifier"));
    }
    Ok(())
}

/// Puts the attributes of a statement into a role.
fn apply(who: &mut Who<'_>, role: &mut Role, options: &[RoleOption]) -> Result<()> {
    for option in options {
        match option {
            RoleOption::Flag(name, value) => {
                let flag = match *name {
                    "superuser" => &mut role.superuser,
                    "createdb" => &mut role.create_db,
                    "createrole" => &mut role.create_role,
                    "inherit" => &mut role.inherit,
                    "login" => &mut role.login,
                    "replication" => &mut role.replication,
                    _ => &mut role.bypass_rls,
                };
                *flag = *value;
            }
            RoleOption::Password(None) => role.password = None,
            RoleOption::Password(Some(password)) => role.password = verifier(who, password),
            RoleOption::ConnectionLimit(limit) if *limit < -1 => {
                let message = format!("invalid connection limit: {limit}");
                return Err(Error::new(Code::InvalidParameterValue, message));
            }
            RoleOption::ConnectionLimit(limit) => role.connection_limit = *limit,
            RoleOption::ValidUntil(text) if text.eq_ignore_ascii_case("infinity") => role.valid_until = None,
            RoleOption::ValidUntil(text) => {
                role.valid_until = Some(weft_expr::text::parse_timestamptz(text, who.local)?);
            }
            RoleOption::InRole(_) | RoleOption::Members(..) => {}
        }
    }
    Ok(())
}

/// What is stored of a password, which may be a verifier already; none of an empty one.
fn verifier(who: &mut Who<'_>, password: &str) -> Option<String> {
    if Verifier::read(password).is_some() {
        return Some(password.to_owned());
    }
    if password.is_empty() {
        who.notices.push(Notice::plain("empty string is not a valid password, clearing password"));
        return None;
    }
    let rng = &who.txn.engine().env().rng;
    let mut salt = [0; 16];
    salt.chunks_mut(8).for_each(|part| part.copy_from_slice(&rng.next_u64().to_le_bytes()));
    Some(Verifier::of_password(password, salt).text())
}

/// CREATE ROLE
pub(crate) fn create_role(who: &mut Who<'_>, name: &str, options: &[RoleOption]) -> Result<()> {
    let access = load(who.txn)?;
    check_name(name)?;
    let mut role = Role { name: name.to_owned(), inherit: true, connection_limit: -1, ..Role::default() };
    apply(who, &mut role, options)?;
    if !access.is_superuser(who.role) {
        if role.superuser {
            return Err(denied("must be superuser to create superusers"));
        }
        if role.replication {
            return Err(denied("must be superuser to create replication users"));
        }
        if role.bypass_rls {
            return Err(denied("must be superuser to create bypassrls users"));
        }
        if !access.role(who.role).is_some_and(|own| own.create_role) {
            return Err(denied("permission denied to create role"));
        }
    }
    if access.oid(name).is_some() {
        return Err(Error::new(Code::DuplicateObject, format!("role \"{name}\" already exists")));
    }
    let oid = put_role(who.txn, &role, None)?;
    for option in options {
        let grants = match option {
            RoleOption::InRole(roles) => {
                let names = roles.iter().map(|role| who.oid(&access, role).map(|oid| access.shown(oid)));
                let roles = names.collect::<Result<Vec<String>>>()?;
                (roles, vec![RoleName::Named(name.to_owned())], false)
            }
            RoleOption::Members(members, admin) => (vec![name.to_owned()], members.clone(), *admin),
            _ => continue,
        };
        let (roles, members, admin) = grants;
        let grant = GrantRoles { revokes: false, roles, members, admin, by: None };
        change_members(who, &grant, Some(oid))?;
    }
    Ok(())
}

/// ALTER ROLE
pub(crate) fn alter_role(who: &mut Who<'_>, name: &RoleName, options: &[RoleOption]) -> Result<()> {
    let access = load(who.txn)?;
    let oid = who.oid(&access, name)?;
    let Some(known) = access.role(oid) else {
        let error = Error::new(Code::ReservedName, format!("role name \"{}\" is reserved", access.shown(oid)));
        return Err(error.hint("Role names starting with \"pg_\" are reserved."));
    };
    let mut role = known.clone();
    apply(who, &mut role, options)?;
    if !access.is_superuser(who.role) {
        if known.superuser || role.superuser {
            return Err(denied("must be superuser to alter superuser roles or change superuser attribute"));
        }
        if known.replication || role.replication != known.replication {
            return Err(denied("must be superuser to alter replication roles or change replication attribute"));
        }
        if role.bypass_rls != known.bypass_rls {
            return Err(denied("must be superuser to change bypassrls attribute"));
        }
        let only_password = options.iter().all(|option| matches!(option, RoleOption::Password(_)));
        let is_own = oid == who.role && only_password;
        if !is_own && !access.role(who.role).is_some_and(|own| own.create_role) {
            return Err(denied("permission denied"));
        }
    }
    if oid == OWNER && !role.superuser {
        return Err(Error::new(Code::FeatureNotSupported, "the first superuser stays one"));
    }
    put_role(who.txn, &role, None).map(|_| ())
}

/// ALTER ROLE ... RENAME TO
pub(crate) fn rename_role(who: &mut Who<'_>, name: &str, new: &str) -> Result<()> {
    let access = load(who.txn)?;
    let Some(known) = access.named(name) else {
        return match predefined(name) {
            Some(_) => check_name(name),
            None => Err(no_role(name)),
        };
    };
    if known.oid == who.session {
        return Err(Error::new(Code::FeatureNotSupported, "session user cannot be renamed"));
    }
    if known.oid == who.role {
        return Err(Error::new(Code::FeatureNotSupported, "current user cannot be renamed"));
    }
    check_name(new)?;
    if access.oid(new).is_some() {
        return Err(Error::new(Code::DuplicateObject, format!("role \"{new}\" already exists")));
    }
    if !access.is_superuser(who.role) {
        if known.superuser {
            return Err(denied("must be superuser to rename superusers"));
        }
        if !access.role(who.role).is_some_and(|own| own.create_role) {
            return Err(denied("permission denied to rename role"));
        }
    }
    let renamed = Role { name: new.to_owned(), ..known.clone() };
    put_role(who.txn, &renamed, Some(name)).map(|_| ())
}

/// DROP ROLE
pub(crate) fn drop_roles(who: &mut Who<'_>, names: &[RoleName], if_exists: bool) -> Result<()> {
    let access = load(who.txn)?;
    let may = access.is_superuser(who.role) || access.role(who.role).is_some_and(|own| own.create_role);
    if !may {
        return Err(denied("permission denied to drop role"));
    }
    for name in names {
        let RoleName::Named(name) = name else {
            return Err(Error::new(Code::InvalidParameterValue, "cannot use special role specifier in DROP ROLE"));
        };
        let Some(role) = access.named(name) else {
            if predefined(name).is_some() {
                let message = format!("cannot drop role {name} because it is required by the database system");
                return Err(Error::new(Code::DependentObjects, message));
            }
            if !if_exists {
                return Err(no_role(name));
            }
            who.notices.push(Notice::plain(format!("role \"{name}\" does not exist, skipping")));
            continue;
        };
        if role.oid == who.role {
            return Err(Error::new(Code::ObjectInUse, "current user cannot be dropped"));
        }
        if role.oid == who.session {
            return Err(Error::new(Code::ObjectInUse, "session user cannot be dropped"));
        }
        if role.superuser && !access.is_superuser(who.role) {
            return Err(denied("must be superuser to drop superusers"));
        }
        if role.oid == OWNER {
            let message = format!("cannot drop role {name} because it is required by the database system");
            return Err(Error::new(Code::DependentObjects, message));
        }
        let needed = dependents(who.txn, &access, role.oid, who.database);
        if !needed.is_empty() {
            let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
            return Err(Error::new(Code::DependentObjects, message).hint(needed.join("\n")));
        }
        for of in &role.member_of {
            drop_member(who.txn, role.oid, of.role)?;
        }
        let members = access.roles.iter().map(|member| (member.oid, &member.member_of));
        let members = members.chain(access.predefined.iter().map(|(member, of)| (*member, of)));
        for (member, of) in members {
            if of.iter().any(|of| of.role == role.oid) {
                drop_member(who.txn, member, role.oid)?;
            }
        }
        drop_role(who.txn, role)?;
    }
    Ok(())
}

/// GRANT and REVOKE of memberships.
pub(crate) fn grant_roles(who: &mut Who<'_>, grant: &GrantRoles) -> Result<()> {
    change_members(who, grant, None)
}

fn change_members(who: &mut Who<'_>, grant: &GrantRoles, just_made: Option<u32>) -> Result<()> {
    for name in &grant.roles {
        let mut access = load(who.txn)?;
        let role = access.oid(name).ok_or_else(|| no_role(name))?;
        if access.is_superuser(role) && !access.is_superuser(who.role) {
            return Err(denied("must be superuser to alter superusers"));
        }
        let creates = access.role(who.role).is_some_and(|own| own.create_role);
        if !creates && just_made != Some(role) && !access.is_admin(who.role, role) {
            return Err(denied(format!("must have admin option on role \"{name}\"")));
        }
        let grantor = match &grant.by {
            Some(by) => who.oid(&access, by)?,
            None => who.role,
        };
        if role == predefined("pg_database_owner").unwrap_or_default() {
            let message = format!("role \"{name}\" cannot have explicit members");
            return Err(Error::new(Code::InvalidGrant, message));
        }
        for member in &grant.members {
            let oid = who.oid(&access, member)?;
            change_member(who, &access, (role, name), oid, grant, grantor)?;
            access = load(who.txn)?;
        }
    }
    Ok(())
}

fn change_member(
    who: &mut Who<'_>,
    access: &Access,
    (role, name): (u32, &str),
    member: u32,
    grant: &GrantRoles,
    grantor: u32,
) -> Result<()> {
    let of = access.role(member).map(|role| &role.member_of).or_else(|| access.predefined.get(&member));
    let known = of.into_iter().flatten().find(|of| of.role == role).copied();
    let shown = access.shown(member);
    if grant.revokes {
        return match known {
            None => {
                let message = format!("role \"{shown}\" is not a member of role \"{name}\"");
                who.notices.push(Notice::warning("01000", message));
                Ok(())
            }
            Some(known) if grant.admin => put_member(who.txn, member, Membership { admin: false, ..known }),
            Some(_) => drop_member(who.txn, member, role),
        };
    }
    if member == role || access.roles_of(role, false).contains(&member) {
        let message = format!("role \"{name}\" is a member of role \"{shown}\"");
        return Err(Error::new(Code::InvalidGrant, message));
    }
    if known.is_some_and(|known| known.admin || !grant.admin) {
        let message = format!("role \"{shown}\" is already a member of role \"{name}\"");
        who.notices.push(Notice::plain(message));
        return Ok(());
    }
    put_member(who.txn, member, Membership { role, grantor, admin: grant.admin })
}
