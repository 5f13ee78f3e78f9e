//! Who may do what: roles, memberships and the lists of all objects, and the answers from them.

use std::collections::BTreeMap;

use super::acl::{Acl, Rights};

/// The number of the first superuser, which owns what nobody else does.
pub const OWNER: u32 = 10;
/// Everybody.
pub const PUBLIC_ROLE: u32 = 0;
/// The role that the owner of the database is a member of.
const DATABASE_OWNER: u32 = 6171;
const READ_ALL_DATA: u32 = 6181;
const WRITE_ALL_DATA: u32 = 6182;

/// Roles that are always there: number, name, and the one of them that they are members of.
pub const PREDEFINED: &[(u32, &str, &[u32])] = &[
    (DATABASE_OWNER, "pg_database_owner", &[]),
    (READ_ALL_DATA, "pg_read_all_data", &[]),
    (WRITE_ALL_DATA, "pg_write_all_data", &[]),
    (3373, "pg_monitor", &[3374, 3375, 3377]),
    (3374, "pg_read_all_settings", &[]),
    (3375, "pg_read_all_stats", &[]),
    (3377, "pg_stat_scan_tables", &[]),
    (4569, "pg_read_server_files", &[]),
    (4570, "pg_write_server_files", &[]),
    (4571, "pg_execute_server_program", &[]),
    (4200, "pg_signal_backend", &[]),
    (4544, "pg_checkpoint", &[]),
];

/// The number of a role that is always there.
pub fn predefined(name: &str) -> Option<u32> {
    PREDEFINED.iter().find(|(_, known, _)| *known == name).map(|(oid, ..)| *oid)
}

/// That a role is a member of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Of which.
    pub role: u32,
    /// Who said so.
    pub grantor: u32,
    /// WITH ADMIN OPTION
    pub admin: bool,
}

/// A role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// Its number.
    pub oid: u32,
    /// Name.
    pub name: String,
    /// Every right is its.
    pub superuser: bool,
    /// It may log in.
    pub login: bool,
    /// It has the rights of the roles that it is a member of without asking.
    pub inherit: bool,
    /// It may make roles.
    pub create_role: bool,
    /// CREATEDB
    pub create_db: bool,
    /// REPLICATION
    pub replication: bool,
    /// BYPASSRLS
    pub bypass_rls: bool,
    /// How many sessions it may have; negative: any number.
    pub connection_limit: i64,
    /// What its password is tested with.
    pub password: Option<String>,
    /// Until when, as text; microseconds since 1970.
    pub valid_until: Option<i64>,
    /// The roles that it is a member of.
    pub member_of: Vec<Membership>,
}

/// What an object is, for the rights on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A table or a view.
    Table,
    /// A sequence.
    Sequence,
    /// A schema.
    Schema,
    /// The database.
    Database,
    /// A column.
    Column,
    /// A type: everybody may use it.
    Type,
    /// A function: everybody may call it.
    Function,
}

impl Kind {
    /// All rights on one.
    pub fn all(self) -> Rights {
        match self {
            Kind::Table => Rights(0x7f),
            Kind::Sequence => Rights::SELECT.and(Rights::UPDATE).and(Rights::USAGE),
            Kind::Schema => Rights::USAGE.and(Rights::CREATE),
            Kind::Database => Rights::CREATE.and(Rights::TEMPORARY).and(Rights::CONNECT),
            Kind::Column => Rights::SELECT.and(Rights::INSERT).and(Rights::UPDATE).and(Rights::REFERENCES),
            Kind::Type => Rights::USAGE,
            Kind::Function => Rights::EXECUTE,
        }
    }

    /// The list that an object begins with.
    pub fn initial(self, owner: u32) -> Acl {
        match self {
            Kind::Column => Acl::default(),
            Kind::Database => Acl::of(owner, self.all(), Rights::TEMPORARY.and(Rights::CONNECT)),
            Kind::Type => Acl::of(owner, self.all(), Rights::USAGE),
            Kind::Function => Acl::of(owner, self.all(), Rights::EXECUTE),
            _ => Acl::of(owner, self.all(), Rights::NONE),
        }
    }

    /// What messages call it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Sequence => "sequence",
            Kind::Schema => "schema",
            Kind::Database => "database",
            Kind::Column => "column",
            Kind::Type => "type",
            Kind::Function => "function",
        }
    }
}

/// What a list is about: numbers as they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A table, a view, a sequence.
    Relation(u32),
    /// A schema.
    Schema(u32),
    /// The database.
    Database,
}

/// Who owns an object, and who may what with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The owner.
    pub owner: u32,
    /// None: what objects of the kind begin with.
    pub acl: Option<Acl>,
    /// The lists of columns, by number.
    pub columns: BTreeMap<i64, Acl>,
}

/// Roles and lists, as of one moment.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// All roles but those that are always there, the first superuser first.
    pub roles: Vec<Role>,
    /// What is not as it began.
    pub entries: BTreeMap<Target, Entry>,
    /// The memberships of roles that are always there.
    pub predefined: BTreeMap<u32, Vec<Membership>>,
    /// ALTER DEFAULT PRIVILEGES: of whom, in which schema (0: all), of what, and the list.
    pub defaults: Vec<(u32, u32, Kind, Acl)>,
}

impl Access {
    /// A role by its name; those that are always there are none.
    pub fn named(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// A role by its number.
    pub fn role(&self, oid: u32) -> Option<&Role> {
        self.roles.iter().find(|role| role.oid == oid)
    }

    /// The number of a role of any kind.
    pub fn oid(&self, name: &str) -> Option<u32> {
        self.named(name).map(|role| role.oid).or_else(|| predefined(name))
    }

    /// The name of a role of any kind.
    pub fn name(&self, oid: u32) -> Option<&str> {
        let own = self.role(oid).map(|role| role.name.as_str());
        own.or_else(|| PREDEFINED.iter().find(|(known, ..)| *known == oid).map(|(_, name, _)| *name))
    }

    /// A name, or what stands for one that is gone.
    pub fn shown(&self, oid: u32) -> String {
        self.name(oid).map_or_else(|| oid.to_string(), str::to_owned)
    }

    /// Whether a role is a superuser.
    pub fn is_superuser(&self, role: u32) -> bool {
        match self.role(role) {
            Some(role) => role.superuser,
            None => role == OWNER,
        }
    }

    fn direct(&self, member: u32) -> Vec<u32> {
        let mut of: Vec<u32> = match self.role(member) {
            Some(role) => role.member_of.iter().map(|membership| membership.role).collect(),
            None => {
                let fixed = PREDEFINED.iter().find(|(oid, ..)| *oid == member).map_or(&[][..], |(_, _, of)| of);
                let given = self.predefined.get(&member).into_iter().flatten().map(|membership| membership.role);
                fixed.iter().copied().chain(given).collect()
            }
        };
        if member == self.owner(Target::Database) {
            of.push(DATABASE_OWNER);
        }
        of
    }

    /// The roles that a role is a member of, itself first; with `inherited`, only those whose rights it has.
    pub fn roles_of(&self, member: u32, inherited: bool) -> Vec<u32> {
        let mut all = vec![member];
        let mut at = 0;
        while let Some(&role) = all.get(at) {
            at += 1;
            if inherited && self.role(role).is_some_and(|role| !role.inherit) {
                continue;
            }
            for of in self.direct(role) {
                if !all.contains(&of) {
                    all.push(of);
                }
            }
        }
        all
    }

    /// Whether a role has the rights of another.
    pub fn has_rights_of(&self, member: u32, role: u32) -> bool {
        member == role || self.is_superuser(member) || self.roles_of(member, true).contains(&role)
    }

    /// Whether a role is a member of another.
    pub fn is_member(&self, member: u32, role: u32) -> bool {
        member == role || self.is_superuser(member) || self.roles_of(member, false).contains(&role)
    }

    /// Whether a role may make others members of a role.
    pub fn is_admin(&self, member: u32, role: u32) -> bool {
        self.is_superuser(member)
            || self.roles_of(member, false).iter().any(|of| {
                let own = self.role(*of).map(|role| &role.member_of).or_else(|| self.predefined.get(of));
                own.into_iter().flatten().any(|membership| membership.role == role && membership.admin)
            })
    }

    /// The owner of an object.
    pub fn owner(&self, target: Target) -> u32 {
        match self.entries.get(&target) {
            Some(entry) => entry.owner,
            None if target == Target::Schema(crate::schemas::PUBLIC) => DATABASE_OWNER,
            None => OWNER,
        }
    }

    /// Whether a role is, or has the rights of, an object's owner.
    pub fn owns(&self, role: u32, target: Target) -> bool {
        self.has_rights_of(role, self.owner(target))
    }

    /// The list of an object.
    pub fn acl(&self, target: Target, kind: Kind) -> Acl {
        self.given_acl(target).unwrap_or_else(|| kind.initial(self.owner(target)))
    }

    /// The list of an object, unless it is as it began.
    pub fn given_acl(&self, target: Target) -> Option<Acl> {
        if let Some(acl) = self.entries.get(&target).and_then(|entry| entry.acl.clone()) {
            return Some(acl);
        }
        match target {
            Target::Schema(crate::schemas::PUBLIC) => {
                let owner = self.owner(target);
                let mut acl = Acl::default();
                Acl::of(owner, Kind::Schema.all(), Rights::USAGE).0.into_iter().rev().for_each(|item| acl.grant(item));
                Some(acl)
            }
            Target::Schema(crate::schemas::PG_CATALOG | crate::schemas::INFORMATION_SCHEMA) => {
                let mut acl = Acl::default();
                Acl::of(OWNER, Kind::Schema.all(), Rights::USAGE).0.into_iter().rev().for_each(|item| acl.grant(item));
                Some(acl)
            }
            _ => None,
        }
    }

    fn of_list(&self, role: u32, owner: u32, acl: &Acl) -> (Rights, Rights) {
        let roles = self.roles_of(role, true);
        let (mut rights, mut grantable) = (Rights::NONE, Rights::NONE);
        for item in &acl.0 {
            if item.grantee == PUBLIC_ROLE || roles.contains(&item.grantee) {
                rights = rights.and(item.rights);
                grantable = grantable.and(item.grantable);
            }
        }
        if roles.contains(&owner) {
            grantable = Rights(u16::MAX);
        }
        (rights, grantable)
    }

    /// What a role may do with an object, its columns aside.
    pub fn rights(&self, role: u32, target: Target, kind: Kind) -> Rights {
        if self.is_superuser(role) {
            return kind.all();
        }
        let (mut rights, _) = self.of_list(role, self.owner(target), &self.acl(target, kind));
        let of = |which| self.has_rights_of(role, which);
        match kind {
            Kind::Table => {
                if of(READ_ALL_DATA) {
                    rights = rights.and(Rights::SELECT);
                }
                if of(WRITE_ALL_DATA) {
                    rights = rights.and(Rights::INSERT).and(Rights::UPDATE).and(Rights::DELETE);
                }
            }
            Kind::Sequence => {
                if of(READ_ALL_DATA) {
                    rights = rights.and(Rights::SELECT);
                }
                if of(WRITE_ALL_DATA) {
                    rights = rights.and(Rights::USAGE).and(Rights::UPDATE);
                }
            }
            Kind::Schema if of(READ_ALL_DATA) || of(WRITE_ALL_DATA) => rights = rights.and(Rights::USAGE),
            _ => {}
        }
        rights
    }

    /// What a role may grant on of an object.
    pub fn grantable(&self, role: u32, target: Target, kind: Kind) -> Rights {
        if self.is_superuser(role) {
            return kind.all();
        }
        self.of_list(role, self.owner(target), &self.acl(target, kind)).1.common(kind.all())
    }

    /// What a role may do with a column, by the column's own list.
    pub fn column_rights(&self, role: u32, target: Target, number: i64) -> Rights {
        if self.is_superuser(role) {
            return Kind::Column.all();
        }
        match self.entries.get(&target).and_then(|entry| entry.columns.get(&number)) {
            Some(acl) => self.of_list(role, self.owner(target), acl).0,
            None => Rights::NONE,
        }
    }

    /// Whether a role may do something with some column.
    pub fn has_any_column(&self, role: u32, target: Target, right: Rights) -> bool {
        let columns = self.entries.get(&target).map(|entry| &entry.columns);
        columns.into_iter().flatten().any(|(number, _)| self.column_rights(role, target, *number).has(right))
    }

    /// What a role may grant on of a column, its table's rights aside.
    pub fn column_grantable(&self, role: u32, target: Target, number: i64) -> Rights {
        let of_table = self.grantable(role, target, Kind::Table);
        let own = self.entries.get(&target).and_then(|entry| entry.columns.get(&number));
        let own = own.map_or(Rights::NONE, |acl| self.of_list(role, self.owner(target), acl).1);
        of_table.and(own).common(Kind::Column.all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(oid: u32, name: &str, of: &[u32]) -> Role {
        let member_of = of.iter().map(|role| Membership { role: *role, grantor: OWNER, admin: false }).collect();
        Role { oid, name: name.into(), inherit: true, connection_limit: -1, member_of, ..Role::default() }
    }

    #[test]
    fn rights_come_through_inherited_memberships_only() {
        let table = Target::Relation(20_000);
        let mut access =
            Access { roles: vec![role(1, "a", &[2]), role(2, "b", &[3]), role(3, "c", &[])], ..Access::default() };
        let item =
            super::super::AclItem { grantee: 3, grantor: OWNER, rights: Rights::SELECT, grantable: Rights::NONE };
        let mut acl = Kind::Table.initial(OWNER);
        acl.grant(item);
        access.entries.insert(table, Entry { owner: OWNER, acl: Some(acl), columns: BTreeMap::new() });
        assert_eq!(access.rights(1, table, Kind::Table), Rights::SELECT);
        access.roles[1].inherit = false;
        assert_eq!(access.rights(1, table, Kind::Table), Rights::NONE);
        assert!(access.is_member(1, 3) && !access.has_rights_of(1, 3));
        assert!(access.rights(OWNER, table, Kind::Table).has(Rights::DELETE));
        access.roles[0].member_of.push(Membership { role: 6181, grantor: OWNER, admin: true });
        assert_eq!(access.rights(1, Target::Relation(9), Kind::Table), Rights::SELECT);
        assert!(access.is_admin(1, 6181) && !access.is_admin(1, 2));
    }

    #[test]
    fn the_schema_public_lets_everybody_look_and_nobody_make() {
        let access = Access { roles: vec![role(1, "a", &[])], ..Access::default() };
        let public = Target::Schema(crate::schemas::PUBLIC);
        assert_eq!(access.rights(1, public, Kind::Schema), Rights::USAGE);
        assert_eq!(access.rights(1, Target::Database, Kind::Database), Rights::TEMPORARY.and(Rights::CONNECT));
        assert!(access.owns(OWNER, public));
    }
}
