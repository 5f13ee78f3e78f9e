//! Sets of rights, and the lists that say who has them.
//!
//! ```text
//!   weft=arwdDxt/weft    grantee=rights/grantor; a star behind a right: it may be granted on; no grantee: PUBLIC
//!   10=arwdDxt/10        the same as it is stored: roles by number
//! ```

use std::fmt::Write as _;

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(pub u16);

/// Rights by their letter and name, in the order in which they are printed.
const ALL: &[(char, &str)] = &[
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
];

impl Rights {
    /// No right.
    pub const NONE: Rights = Rights(0);
    /// INSERT
    pub const INSERT: Rights = Rights(1);
    /// SELECT
    pub const SELECT: Rights = Rights(1 << 1);
    /// UPDATE
    pub const UPDATE: Rights = Rights(1 << 2);
    /// DELETE
    pub const DELETE: Rights = Rights(1 << 3);
    /// TRUNCATE
    pub const TRUNCATE: Rights = Rights(1 << 4);
    /// REFERENCES
    pub const REFERENCES: Rights = Rights(1 << 5);
    /// TRIGGER
    pub const TRIGGER: Rights = Rights(1 << 6);
    /// EXECUTE
    pub const EXECUTE: Rights = Rights(1 << 7);
    /// USAGE
    pub const USAGE: Rights = Rights(1 << 8);
    /// CREATE
    pub const CREATE: Rights = Rights(1 << 9);
    /// TEMPORARY
    pub const TEMPORARY: Rights = Rights(1 << 10);
    /// CONNECT
    pub const CONNECT: Rights = Rights(1 << 11);

    /// The right of a name, in any case; TEMP is TEMPORARY.
    pub fn named(name: &str) -> Option<Rights> {
        let name = name.trim();
        let at = ALL.iter().position(|(_, known)| {
            known.eq_ignore_ascii_case(name) || *known == "TEMPORARY" && name.eq_ignore_ascii_case("TEMP")
        })?;
        Some(Rights(1 << at))
    }

    /// The rights of both.
    #[must_use]
    pub fn and(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }

    /// These without the others.
    #[must_use]
    pub fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }

    /// Those of both sets.
    #[must_use]
    pub fn common(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Whether all of some are among these.
    pub fn has(self, wanted: Rights) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each right alone.
    pub fn each(self) -> impl Iterator<Item = Rights> {
        (0..16).map(|bit| Rights(1 << bit)).filter(move |one| self.has(*one))
    }

    /// The names, as they are printed.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        ALL.iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, (_, name))| *name)
    }
}

/// What one role was given by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclItem {
    /// Who has the rights; 0: everybody.
    pub grantee: u32,
    /// Who gave them.
    pub grantor: u32,
    /// The rights.
    pub rights: Rights,
    /// Those of them that may be granted on.
    pub grantable: Rights,
}

/// Who may what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl(pub Vec<AclItem>);

impl Acl {
    /// A list of rights that an owner gave: to itself, and to PUBLIC.
    pub fn of(owner: u32, own: Rights, public: Rights) -> Acl {
        let mut acl = Acl::default();
        acl.grant(AclItem { grantee: 0, grantor: owner, rights: public, grantable: Rights::NONE });
        acl.grant(AclItem { grantee: owner, grantor: owner, rights: own, grantable: Rights::NONE });
        acl
    }

    /// Adds rights.
    pub fn grant(&mut self, item: AclItem) {
        if item.rights.is_empty() {
            return;
        }
        let is_it = |known: &&mut AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        match self.0.iter_mut().find(is_it) {
            Some(known) => {
                known.rights = known.rights.and(item.rights);
                known.grantable = known.grantable.and(item.grantable);
            }
            None => self.0.push(item),
        }
    }

    /// Takes rights away, or only that they may be granted on; whether there were any.
    pub fn revoke(&mut self, item: AclItem, only_option: bool) -> bool {
        let is_it = |known: &&mut AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        let Some(known) = self.0.iter_mut().find(is_it) else { return false };
        let before = *known;
        known.grantable = known.grantable.without(item.rights);
        if !only_option {
            known.rights = known.rights.without(item.rights);
        }
        let changed = before != *known;
        self.0.retain(|item| !item.rights.is_empty());
        changed
    }

    /// As it is stored.
    pub fn store(&self) -> String {
        self.print(|role| role.to_string()).join(",")
    }

    /// Reads what [`Acl::store`] wrote.
    pub fn read(text: &str) -> Option<Acl> {
        let mut acl = Acl::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let (grantee, rest) = item.split_once('=')?;
            let (letters, grantor) = rest.split_once('/')?;
            let grantee = if grantee.is_empty() { 0 } else { grantee.parse().ok()? };
            let (mut rights, mut grantable, mut last) = (Rights::NONE, Rights::NONE, Rights::NONE);
            for letter in letters.chars() {
                if letter == '*' {
                    grantable = grantable.and(last);
                    continue;
                }
                last = Rights(1 << ALL.iter().position(|(known, _)| *known == letter)?);
                rights = rights.and(last);
            }
            acl.0.push(AclItem { grantee, grantor: grantor.parse().ok()?, rights, grantable });
        }
        Some(acl)
    }

    /// The items as PostgreSQL prints them.
    pub fn print(&self, name: impl Fn(u32) -> String) -> Vec<String> {
        let one = |item: &AclItem| {
            let mut text = if item.grantee == 0 { String::new() } else { name(item.grantee) };
            text.push('=');
            for (bit, (letter, _)) in ALL.iter().enumerate() {
                let right = Rights(1 << bit);
                if item.rights.has(right) {
                    text.push(*letter);
                }
                if item.grantable.has(right) {
                    text.push('*');
                }
            }
            let _ = write!(text, "/{}", name(item.grantor));
            text
        };
        self.0.iter().map(one).collect()
    }

    /// Whether a role gave or has something here.
    pub fn names(&self, role: u32) -> bool {
        self.0.iter().any(|item| item.grantee == role || item.grantor == role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_were_stored() {
        let mut acl = Acl::of(10, Rights(0x7f), Rights::SELECT);
        let option = AclItem { grantee: 16401, grantor: 10, rights: Rights(3), grantable: Rights::SELECT };
        acl.grant(option);
        assert_eq!(acl.store(), "=r/10,10=arwdDxt/10,16401=ar*/10");
        assert_eq!(Acl::read(&acl.store()), Some(acl.clone()));
        assert!(acl.revoke(AclItem { rights: Rights::SELECT, ..option }, true));
        assert_eq!(acl.print(|role| format!("r{role}"))[2], "r16401=ar/r10");
        assert!(acl.revoke(option, false) && !acl.revoke(option, false));
        for wrong in ["x", "1=r", "1=?/2", "a=r/1", "1=r/b"] {
            assert_eq!(Acl::read(wrong), None, "{wrong}");
        }
    }
}
