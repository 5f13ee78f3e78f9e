//! Roles, owners and grants as statements.
//!
//! ```text
//!   t  owner bob, {bob=arwdDxt/bob,ann=ar*/bob}     ALTER TABLE t OWNER TO bob;
//!                                                   REVOKE ALL ON TABLE t FROM PUBLIC;
//!                                                   REVOKE ALL ON TABLE t FROM bob;
//!                                                   GRANT INSERT, SELECT, ... ON TABLE t TO bob;
//!                                                   GRANT INSERT ON TABLE t TO ann;
//!                                                   GRANT SELECT ON TABLE t TO ann WITH GRANT OPTION;
//! ```
//!
//! 1. What belongs to the first superuser is not said to: it belongs to who runs the dump. Its password is not in it.
//! 2. A list that an object began with is not written; any other is written whole, on empty ground, in its order: what
//!    was granted on is granted after the option for it.
//! 3. Default privileges come last: nothing that the dump makes is to begin with them.

use std::collections::BTreeMap;

use super::catalog::{FIRST_SUPERUSER, Function, Relation};
use super::reader::{Reader, Row, elements, literal, number, text};
use crate::failure::Failure;

/// The schema `public` as it begins.
const PUBLIC_ACL: &str = "{pg_database_owner=UC/pg_database_owner,=U/pg_database_owner}";

/// Rights by their letter, in the order in which they are printed.
const LETTERS: &[(char, &str)] = &[
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

/// Statements, in the order in which they are run; [`Statements::roles`] before all else.
#[derive(Default)]
pub(super) struct Statements {
    pub(super) roles: Vec<String>,
    pub(super) owners: Vec<String>,
    pub(super) grants: Vec<String>,
}

/// One element of a list of rights: who has them, which, which of them with the option, who gave them.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    /// None: PUBLIC.
    grantee: Option<String>,
    plain: Vec<&'static str>,
    with_option: Vec<&'static str>,
    grantor: String,
}

impl Statements {
    /// Reads those of the whole database, or, when it is not `whole`, of the relations alone.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        relations: &[Relation],
        functions: &[Function],
        whole: bool,
    ) -> Result<Statements, Failure> {
        let mut statements = Statements::default();
        if whole {
            statements.roles = roles(reader)?;
            statements.of_database(reader)?;
            statements.of_schemas(reader)?;
        }
        statements.of_relations(reader, relations)?;
        statements.of_functions(reader, functions);
        if whole {
            statements.defaults(reader)?;
        }
        Ok(statements)
    }

    fn of_database(&mut self, reader: &mut Reader<'_>) -> Result<(), Failure> {
        let sql = "SELECT datname, datdba, pg_get_userbyid(datdba), datacl FROM pg_database \
                   WHERE datname = current_database()";
        for row in reader.rows(sql)? {
            let name = format!("DATABASE {}", reader.quoted(&text(&row, 0)));
            let owner = reader.quoted(&text(&row, 2));
            if number(&row, 1) != FIRST_SUPERUSER {
                self.owners.push(format!("ALTER {name} OWNER TO {owner};"));
            }
            self.grant(reader, &name, &owner, row[3].as_deref());
        }
        Ok(())
    }

    fn of_schemas(&mut self, reader: &mut Reader<'_>) -> Result<(), Failure> {
        let sql = "SELECT n.nspname, n.nspowner, pg_get_userbyid(n.nspowner), n.nspacl FROM pg_namespace n \
                   WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' ORDER BY n.oid";
        for row in reader.rows(sql)? {
            let (is_public, owner) = (text(&row, 0) == "public", text(&row, 2));
            let name = format!("SCHEMA {}", reader.quoted(&text(&row, 0)));
            let begins_with = if is_public { owner == "pg_database_owner" } else { number(&row, 1) == FIRST_SUPERUSER };
            let owner = reader.quoted(&owner);
            if !begins_with {
                self.owners.push(format!("ALTER {name} OWNER TO {owner};"));
            }
            let acl = row[3].as_deref().filter(|acl| !is_public || *acl != PUBLIC_ACL);
            self.grant(reader, &name, &owner, acl);
        }
        Ok(())
    }

    fn of_relations(&mut self, reader: &mut Reader<'_>, relations: &[Relation]) -> Result<(), Failure> {
        let mut columns: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        for row in reader.rows(
            "SELECT a.attrelid, a.attname, a.attacl FROM pg_attribute a WHERE a.attacl IS NOT NULL \
             AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum",
        )? {
            columns.entry(number(&row, 0)).or_default().push(row);
        }
        // The sequence of a column belongs to whom the table belongs to.
        let of_columns = reader.rows(
            "SELECT d.objid FROM pg_depend d JOIN pg_class c ON c.oid = d.objid \
             WHERE c.relkind = 'S' AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0",
        )?;
        let sql = "SELECT c.oid, c.relowner, pg_get_userbyid(c.relowner), c.relacl FROM pg_class c ORDER BY c.oid";
        let owned = reader.rows(sql)?;
        // By kind, as they are made: numbers say in which order that was, and a loaded dump has others.
        let of_kind = |kind: char| relations.iter().filter(move |relation| relation.kind == kind);
        for relation in ['r', 'v', 'm', 'S'].into_iter().flat_map(of_kind) {
            let oid = relation.oid;
            let Some(row) = owned.iter().find(|row| number(row, 0) == oid) else { continue };
            let owner = reader.quoted(&text(row, 2));
            let follows = of_columns.iter().any(|sequence| number(sequence, 0) == oid);
            if number(row, 1) != FIRST_SUPERUSER && !follows {
                let word = if relation.kind == 'm' { "TABLE" } else { relation.word() };
                self.owners.push(format!("ALTER {word} {} OWNER TO {owner};", relation.name));
            }
            // Rights on views are rights on tables.
            let word = if relation.kind == 'S' { "SEQUENCE" } else { "TABLE" };
            self.grant(reader, &format!("{word} {}", relation.name), &owner, row[3].as_deref());
            for column in columns.remove(&oid).unwrap_or_default() {
                let name = reader.quoted(&text(&column, 1));
                for item in items(&text(&column, 2)) {
                    let place = (format!("ON TABLE {}", relation.name), format!(" ({name})"));
                    self.item(reader, (&place.0, &place.1), &owner, &item, "");
                }
            }
        }
        Ok(())
    }

    fn of_functions(&mut self, reader: &Reader<'_>, functions: &[Function]) {
        for function in functions {
            let name = format!("FUNCTION {}", function.name);
            if function.is_given {
                self.owners.push(format!("ALTER {name} OWNER TO {};", function.owner));
            }
            self.grant(reader, &name, &function.owner, function.acl.as_deref());
        }
    }

    fn defaults(&mut self, reader: &mut Reader<'_>) -> Result<(), Failure> {
        let rows = reader.rows(
            "SELECT pg_get_userbyid(d.defaclrole), n.nspname, d.defaclobjtype, d.defaclacl FROM pg_default_acl d \
             LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3",
        )?;
        for row in rows {
            let owner = reader.quoted(&text(&row, 0));
            let mut head = format!("ALTER DEFAULT PRIVILEGES FOR ROLE {owner}");
            let is_everywhere = row[1].is_none();
            if let Some(schema) = &row[1] {
                head.push_str(&format!(" IN SCHEMA {}", reader.quoted(schema)));
            }
            head.push(' ');
            let kind = match text(&row, 2).as_str() {
                "S" => "SEQUENCES",
                "n" => "SCHEMAS",
                "f" => "FUNCTIONS",
                _ => "TABLES",
            };
            if is_everywhere {
                self.grants.push(format!("{head}REVOKE ALL ON {kind} FROM PUBLIC;"));
                self.grants.push(format!("{head}REVOKE ALL ON {kind} FROM {owner};"));
            }
            for item in items(&text(&row, 3)) {
                self.item(reader, (&format!("ON {kind}"), ""), &owner, &item, &head);
            }
        }
        Ok(())
    }

    /// The whole list of an object that has one.
    fn grant(&mut self, reader: &Reader<'_>, object: &str, owner: &str, acl: Option<&str>) {
        let Some(acl) = acl else { return };
        self.grants.push(format!("REVOKE ALL ON {object} FROM PUBLIC;"));
        self.grants.push(format!("REVOKE ALL ON {object} FROM {owner};"));
        // An option comes before what was granted by it.
        let (of_owner, of_others): (Vec<Item>, Vec<Item>) =
            items(acl).into_iter().partition(|item| reader.quoted(&item.grantor) == owner);
        for item in of_owner.iter().chain(&of_others) {
            self.item(reader, (&format!("ON {object}"), ""), owner, item, "");
        }
    }

    /// One element: `place` is what comes behind the rights and behind each of them, `head` what comes before GRANT.
    fn item(&mut self, reader: &Reader<'_>, place: (&str, &str), owner: &str, item: &Item, head: &str) {
        let grantee = item.grantee.as_ref().map_or_else(|| "PUBLIC".to_owned(), |name| reader.quoted(name));
        let grantor = reader.quoted(&item.grantor);
        let is_other = head.is_empty() && grantor != owner;
        if is_other {
            self.grants.push(format!("SET SESSION AUTHORIZATION {grantor};"));
        }
        for (rights, option) in [(&item.plain, ""), (&item.with_option, " WITH GRANT OPTION")] {
            if !rights.is_empty() {
                let rights: Vec<String> = rights.iter().map(|right| format!("{right}{}", place.1)).collect();
                self.grants.push(format!("{head}GRANT {} {} TO {grantee}{option};", rights.join(", "), place.0));
            }
        }
        if is_other {
            self.grants.push("RESET SESSION AUTHORIZATION;".to_owned());
        }
    }
}

/// CREATE ROLE and memberships; none for who is no superuser, as passwords are shown to superusers only.
fn roles(reader: &mut Reader<'_>) -> Result<Vec<String>, Failure> {
    let is_superuser = reader.rows("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")?;
    if is_superuser.first().is_none_or(|row| text(row, 0) != "t") {
        return Ok(Vec::new());
    }
    let mut statements = Vec::new();
    let rows = reader.rows(
        "SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, \
         rolbypassrls, rolconnlimit, rolpassword, rolvaliduntil FROM pg_authid ORDER BY oid",
    )?;
    for row in rows {
        // Those of pg_ are always there.
        if number(&row, 0) == FIRST_SUPERUSER || text(&row, 1).starts_with("pg_") {
            continue;
        }
        let mut statement = format!("CREATE ROLE {} WITH", reader.quoted(&text(&row, 1)));
        let flags = ["SUPERUSER", "INHERIT", "CREATEROLE", "CREATEDB", "LOGIN", "REPLICATION", "BYPASSRLS"];
        for (at, flag) in flags.iter().enumerate() {
            let no = if text(&row, at + 2) == "t" { "" } else { "NO" };
            statement.push_str(&format!(" {no}{flag}"));
        }
        if text(&row, 9) != "-1" {
            statement.push_str(&format!(" CONNECTION LIMIT {}", text(&row, 9)));
        }
        if let Some(password) = &row[10] {
            statement.push_str(&format!(" PASSWORD {}", literal(password).trim_start()));
        }
        if let Some(until) = &row[11] {
            statement.push_str(&format!(" VALID UNTIL {}", literal(until).trim_start()));
        }
        statements.push(format!("{statement};"));
    }
    let rows = reader.rows(
        "SELECT pg_get_userbyid(m.roleid), pg_get_userbyid(m.member), m.admin_option, pg_get_userbyid(m.grantor), \
         m.member, m.grantor FROM pg_auth_members m ORDER BY m.roleid, m.member",
    )?;
    for row in rows {
        let (role, member) = (text(&row, 0), text(&row, 1));
        if role.starts_with("pg_") && member.starts_with("pg_") {
            continue;
        }
        let option = if text(&row, 2) == "t" { " WITH ADMIN OPTION" } else { "" };
        let by = match number(&row, 5) {
            FIRST_SUPERUSER => String::new(),
            _ => format!(" GRANTED BY {}", reader.quoted(&text(&row, 3))),
        };
        let (role, member) = (reader.quoted(&role), reader.quoted(&member));
        statements.push(format!("GRANT {role} TO {member}{option}{by};"));
    }
    Ok(statements)
}

/// A list of rights as it is printed: `{bob=ar*/ann,=r/ann}`.
fn items(acl: &str) -> Vec<Item> {
    elements(acl).iter().filter_map(|item| one(item)).collect()
}

fn one(item: &str) -> Option<Item> {
    let (grantee, rest) = role(item);
    let rest = rest.strip_prefix('=')?;
    let (letters, grantor) = rest.split_once('/')?;
    let mut known = Item {
        grantee: Some(grantee).filter(|name| !name.is_empty()),
        plain: Vec::new(),
        with_option: Vec::new(),
        grantor: role(grantor).0,
    };
    let mut letters = letters.chars().peekable();
    while let Some(letter) = letters.next() {
        let (_, right) = LETTERS.iter().find(|(of, _)| *of == letter)?;
        let rights = if letters.next_if_eq(&'*').is_some() { &mut known.with_option } else { &mut known.plain };
        rights.push(right);
    }
    Some(known)
}

/// The name that a text begins with, without its quotes, and what follows it.
fn role(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['=', '/']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut name = String::new();
    let mut letters = quoted.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '"' && letters.next_if(|(_, next)| *next == '"').is_none() {
            return (name, &quoted[at + 1..]);
        }
        name.push(letter);
    }
    (name, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_rights_are_read_as_they_are_printed() {
        let item = |grantee: Option<&str>, plain: &[&'static str], with_option: &[&'static str], grantor: &str| Item {
            grantee: grantee.map(str::to_owned),
            plain: plain.to_vec(),
            with_option: with_option.to_vec(),
            grantor: grantor.to_owned(),
        };
        assert_eq!(
            items(r#"{bob=ar*/ann,=r/ann,"\"a=\"\"b\"=U/\"C d\""}"#),
            [
                item(Some("bob"), &["INSERT"], &["SELECT"], "ann"),
                item(None, &["SELECT"], &[], "ann"),
                item(Some("a=\"b"), &["USAGE"], &[], "C d"),
            ]
        );
        assert!(items("{}").is_empty() && items("").is_empty());
    }
}
