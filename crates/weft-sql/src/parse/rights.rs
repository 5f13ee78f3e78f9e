//! Statements about roles and rights.
//!
//! ```text
//!   CREATE ROLE bob LOGIN PASSWORD 'x' IN ROLE readers       GRANT readers TO bob WITH ADMIN OPTION
//!   GRANT SELECT (a, b), INSERT ON t, u TO bob, PUBLIC       REVOKE GRANT OPTION FOR ALL ON SCHEMA s FROM bob CASCADE
//!   ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT SELECT ON TABLES TO bob
//!   SET ROLE bob; RESET ROLE; SET SESSION AUTHORIZATION bob   ALTER TABLE t OWNER TO bob
//! ```

use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::functions::{Signature, signature};
use super::lexemes::word;
use super::names::fold;

type Parse<T> = std::result::Result<T, ParserError>;

/// A role as statements name one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// By its name.
    Named(String),
    /// CURRENT_USER, CURRENT_ROLE
    Current,
    /// SESSION_USER
    Session,
    /// PUBLIC
    Public,
}

/// An attribute of CREATE and ALTER ROLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleOption {
    /// A flag, by the name of its property, and its value.
    Flag(&'static str, bool),
    /// PASSWORD, or PASSWORD NULL.
    Password(Option<String>),
    /// CONNECTION LIMIT
    ConnectionLimit(i64),
    /// VALID UNTIL
    ValidUntil(String),
    /// IN ROLE
    InRole(Vec<RoleName>),
    /// ROLE, and ADMIN when true.
    Members(Vec<RoleName>, bool),
}

/// What rights are on.
#[derive(Clone, Debug, PartialEq)]
pub enum On {
    /// Tables and views; sequences, too, when nothing says TABLE.
    Tables(Vec<ObjectName>),
    /// SEQUENCE
    Sequences(Vec<ObjectName>),
    /// DATABASE
    Databases(Vec<String>),
    /// SCHEMA
    Schemas(Vec<String>),
    /// ALL TABLES IN SCHEMA
    AllTables(Vec<String>),
    /// ALL SEQUENCES IN SCHEMA
    AllSequences(Vec<String>),
    /// FUNCTION
    Functions(Vec<Signature>),
    /// ALL FUNCTIONS IN SCHEMA
    AllFunctions(Vec<String>),
    /// What has no rights of its own here: TYPE, LANGUAGE ...
    Nothing,
}

/// GRANT or REVOKE of rights on objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// REVOKE
    pub revokes: bool,
    /// The rights by name, each with its columns; empty: ALL, with the columns of ALL (a).
    pub rights: Vec<(String, Vec<String>)>,
    /// The columns of ALL (a, b).
    pub all_columns: Vec<String>,
    /// On what.
    pub on: On,
    /// To or from whom.
    pub roles: Vec<RoleName>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub option: bool,
    /// CASCADE
    pub cascade: bool,
    /// GRANTED BY
    pub by: Option<RoleName>,
}

/// GRANT or REVOKE of memberships.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRoles {
    /// REVOKE
    pub revokes: bool,
    /// The roles.
    pub roles: Vec<String>,
    /// Who becomes a member, or is one no more.
    pub members: Vec<RoleName>,
    /// WITH ADMIN OPTION, or ADMIN OPTION FOR.
    pub admin: bool,
    /// GRANTED BY
    pub by: Option<RoleName>,
}

/// What ALTER ... OWNER TO is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    /// A relation: the word of its kind, its name, IF EXISTS.
    Relation(&'static str, ObjectName, bool),
    /// A type, or a domain: the word of its kind, its name.
    Type(&'static str, ObjectName),
    /// A function.
    Function(Signature),
    /// A schema.
    Schema(String),
    /// The database.
    Database(String),
}

/// A statement about roles and rights.
#[derive(Clone, Debug, PartialEq)]
pub enum RightsStatement {
    /// CREATE ROLE, or USER or GROUP.
    CreateRole(String, Vec<RoleOption>),
    /// ALTER ROLE
    AlterRole(RoleName, Vec<RoleOption>),
    /// ALTER ROLE ... RENAME TO
    RenameRole(String, String),
    /// DROP ROLE: which, IF EXISTS.
    DropRoles(Vec<RoleName>, bool),
    /// GRANT role TO role
    GrantRoles(GrantRoles),
    /// GRANT right ON object TO role
    Grant(Grant),
    /// ALTER DEFAULT PRIVILEGES: FOR ROLE, IN SCHEMA, the grant, whose `on` says of what kind.
    Defaults(Vec<RoleName>, Vec<String>, Grant),
    /// ALTER ... OWNER TO
    Owner(Owned, RoleName),
    /// REASSIGN OWNED BY ... TO
    Reassign(Vec<RoleName>, RoleName),
    /// DROP OWNED BY: whose, CASCADE.
    DropOwned(Vec<RoleName>, bool),
    /// SET ROLE; none: NONE. Whether LOCAL.
    SetRole(Option<String>, bool),
    /// SET SESSION AUTHORIZATION; none: DEFAULT. Whether LOCAL.
    SetAuthorization(Option<String>, bool),
}

/// Whether a statement begins as one of these.
pub(super) fn may_be_rights(tokens: &[TokenWithSpan]) -> bool {
    const FIRST: &[&str] = &["create", "alter", "drop", "reassign", "grant", "revoke", "reset", "set"];
    let first = tokens.iter().map(|token| &token.token).find(|token| !matches!(token, Token::Whitespace(_)));
    matches!(first, Some(Token::Word(word)) if FIRST.iter().any(|known| word.value.eq_ignore_ascii_case(known)))
}

/// Parses such a statement; none when it is another.
pub(super) fn rights_statement(parser: &mut Parser<'_>) -> Parse<Option<RightsStatement>> {
    statement(parser)
}

fn statement(parser: &mut Parser<'_>) -> Parse<Option<RightsStatement>> {
    if word(parser, "create") {
        let is_user = word(parser, "user");
        if !is_user && !word(parser, "role") && !word(parser, "group") {
            return Ok(None);
        }
        let name = new_name(parser)?;
        let mut options = role_options(parser)?;
        if is_user {
            options.insert(0, RoleOption::Flag("login", true));
        }
        return Ok(Some(RightsStatement::CreateRole(name, options)));
    }
    if word(parser, "alter") {
        return alter(parser);
    }
    if word(parser, "drop") {
        if word(parser, "owned") {
            expect(parser, "by")?;
            let roles = role_names(parser)?;
            let cascade = cascade(parser);
            return Ok(Some(RightsStatement::DropOwned(roles, cascade)));
        }
        if !word(parser, "role") && !word(parser, "user") && !word(parser, "group") {
            return Ok(None);
        }
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        return Ok(Some(RightsStatement::DropRoles(role_names(parser)?, if_exists)));
    }
    if word(parser, "reassign") {
        expect(parser, "owned")?;
        expect(parser, "by")?;
        let from = role_names(parser)?;
        expect(parser, "to")?;
        return Ok(Some(RightsStatement::Reassign(from, role_name(parser)?)));
    }
    if word(parser, "grant") {
        return grant(parser, false).map(Some);
    }
    if word(parser, "revoke") {
        return grant(parser, true).map(Some);
    }
    if word(parser, "reset") {
        if word(parser, "role") {
            return Ok(Some(RightsStatement::SetRole(None, false)));
        }
        if word(parser, "session") && word(parser, "authorization") {
            return Ok(Some(RightsStatement::SetAuthorization(None, false)));
        }
        return Ok(None);
    }
    if word(parser, "set") { set(parser) } else { Ok(None) }
}

fn set(parser: &mut Parser<'_>) -> Parse<Option<RightsStatement>> {
    let mut local = word(parser, "local");
    let mut for_session = false;
    if !local {
        for_session = word(parser, "session");
    }
    if for_session && (word(parser, "authorization")) {
        return authorization(parser, local).map(Some);
    }
    if local && word(parser, "session") {
        if !word(parser, "authorization") {
            return Ok(None);
        }
        local = true;
        return authorization(parser, local).map(Some);
    }
    if for_session && word(parser, "session") {
        expect(parser, "authorization")?;
        return authorization(parser, local).map(Some);
    }
    if !word(parser, "role") {
        return Ok(None);
    }
    let _ = word(parser, "to") || parser.consume_token(&Token::Eq);
    Ok(Some(RightsStatement::SetRole(name_or(parser, &["none", "default"])?, local)))
}

fn authorization(parser: &mut Parser<'_>, local: bool) -> Parse<RightsStatement> {
    Ok(RightsStatement::SetAuthorization(name_or(parser, &["default"])?, local))
}

/// A name, in quotes of either kind or none; none for some words.
fn name_or(parser: &mut Parser<'_>, none: &[&str]) -> Parse<Option<String>> {
    if none.iter().any(|text| word(parser, text)) {
        return Ok(None);
    }
    if let Token::SingleQuotedString(text) = &parser.peek_token_ref().token {
        let text = text.clone();
        parser.next_token();
        return Ok(Some(text));
    }
    Ok(Some(fold(&parser.parse_identifier()?)))
}

fn alter(parser: &mut Parser<'_>) -> Parse<Option<RightsStatement>> {
    if word(parser, "default") {
        expect(parser, "privileges")?;
        return defaults(parser).map(Some);
    }
    if word(parser, "role") || word(parser, "user") || word(parser, "group") {
        let name = role_name(parser)?;
        if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
            let RoleName::Named(name) = name else {
                return parser.expected("the name of a role", parser.peek_token());
            };
            return Ok(Some(RightsStatement::RenameRole(name, new_name(parser)?)));
        }
        let members = if word(parser, "add") {
            Some(false)
        } else if word(parser, "drop") {
            Some(true)
        } else {
            None
        };
        if let Some(revokes) = members {
            expect(parser, "user")?;
            let RoleName::Named(role) = name else {
                return parser.expected("the name of a role", parser.peek_token());
            };
            let members = role_names(parser)?;
            let grant = GrantRoles { revokes, roles: vec![role], members, admin: false, by: None };
            return Ok(Some(RightsStatement::GrantRoles(grant)));
        }
        return Ok(Some(RightsStatement::AlterRole(name, role_options(parser)?)));
    }
    let kinds = ["table", "view", "sequence", "index"];
    let kind = kinds.into_iter().find(|kind| word(parser, kind));
    let owned = if let Some(kind) = kind {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let _ = word(parser, "only");
        let Ok(name) = parser.parse_object_name(false) else { return Ok(None) };
        Owned::Relation(kind, name, if_exists)
    } else if let Some(kind) = ["type", "domain"].into_iter().find(|kind| word(parser, kind)) {
        let Ok(name) = parser.parse_object_name(false) else { return Ok(None) };
        Owned::Type(kind, name)
    } else if word(parser, "function") || word(parser, "routine") {
        let Ok(which) = signature(parser) else { return Ok(None) };
        Owned::Function(which)
    } else if word(parser, "schema") {
        Owned::Schema(fold(&parser.parse_identifier()?))
    } else if word(parser, "database") {
        Owned::Database(fold(&parser.parse_identifier()?))
    } else {
        return Ok(None);
    };
    if !word(parser, "owner") || !word(parser, "to") {
        return Ok(None);
    }
    Ok(Some(RightsStatement::Owner(owned, role_name(parser)?)))
}

fn role_options(parser: &mut Parser<'_>) -> Parse<Vec<RoleOption>> {
    const FLAGS: &[&str] = &["superuser", "createdb", "createrole", "inherit", "login", "replication", "bypassrls"];
    let _ = word(parser, "with");
    let mut options = Vec::new();
    loop {
        let flag = FLAGS.iter().find_map(|name| {
            if word(parser, name) {
                return Some(RoleOption::Flag(name, true));
            }
            word(parser, &format!("no{name}")).then_some(RoleOption::Flag(name, false))
        });
        if let Some(flag) = flag {
            options.push(flag);
            continue;
        }
        let encrypted = word(parser, "encrypted");
        options.push(if word(parser, "password") {
            let none = word(parser, "null");
            RoleOption::Password(if none { None } else { Some(parser.parse_literal_string()?) })
        } else if encrypted {
            return parser.expected("PASSWORD", parser.peek_token());
        } else if word(parser, "connection") {
            expect(parser, "limit")?;
            let minus = parser.consume_token(&Token::Minus);
            let number = i64::try_from(parser.parse_literal_uint()?).unwrap_or(i64::MAX);
            RoleOption::ConnectionLimit(if minus { -number } else { number })
        } else if word(parser, "valid") {
            expect(parser, "until")?;
            RoleOption::ValidUntil(parser.parse_literal_string()?)
        } else if word(parser, "sysid") {
            parser.parse_literal_uint()?;
            continue;
        } else if word(parser, "in") {
            if !word(parser, "role") {
                expect(parser, "group")?;
            }
            RoleOption::InRole(role_names(parser)?)
        } else if word(parser, "role") || word(parser, "user") {
            RoleOption::Members(role_names(parser)?, false)
        } else if word(parser, "admin") {
            RoleOption::Members(role_names(parser)?, true)
        } else {
            return Ok(options);
        });
    }
}

fn grant(parser: &mut Parser<'_>, revokes: bool) -> Parse<RightsStatement> {
    let mut option = revokes && parser.parse_keywords(&[Keyword::GRANT, Keyword::OPTION, Keyword::FOR]);
    let mut admin = false;
    if revokes && !option && word(parser, "admin") {
        expect(parser, "option")?;
        expect(parser, "for")?;
        admin = true;
    }
    let (mut rights, mut all_columns) = (Vec::new(), Vec::new());
    if word(parser, "all") {
        let _ = word(parser, "privileges");
        all_columns = columns(parser)?;
    } else {
        loop {
            let name = parser.parse_identifier()?;
            // A role's name keeps its quotes' meaning; a right's is a word.
            rights.push((fold(&name), columns(parser)?));
            if !parser.consume_token(&Token::Comma) {
                break;
            }
        }
    }
    if rights.iter().all(|(_, columns)| columns.is_empty()) && !rights.is_empty() && !is_word(parser, "on") {
        expect(parser, if revokes { "from" } else { "to" })?;
        let members = role_names(parser)?;
        if !revokes && word(parser, "with") {
            expect(parser, "admin")?;
            expect(parser, "option")?;
            admin = true;
        }
        let by = granted_by(parser)?;
        cascade(parser);
        let roles = rights.into_iter().map(|(name, _)| name).collect();
        return Ok(RightsStatement::GrantRoles(GrantRoles { revokes, roles, members, admin, by }));
    }
    expect(parser, "on")?;
    let on = on(parser)?;
    expect(parser, if revokes { "from" } else { "to" })?;
    let roles = role_names(parser)?;
    if !revokes && word(parser, "with") {
        expect(parser, "grant")?;
        expect(parser, "option")?;
        option = true;
    }
    let by = granted_by(parser)?;
    let cascade = cascade(parser);
    Ok(RightsStatement::Grant(Grant { revokes, rights, all_columns, on, roles, option, cascade, by }))
}

fn granted_by(parser: &mut Parser<'_>) -> Parse<Option<RoleName>> {
    if !word(parser, "granted") {
        return Ok(None);
    }
    expect(parser, "by")?;
    role_name(parser).map(Some)
}

fn on(parser: &mut Parser<'_>) -> Parse<On> {
    if word(parser, "all") {
        let tables = word(parser, "tables");
        let sequences = !tables && word(parser, "sequences");
        let functions = !tables && !sequences && (word(parser, "functions") || word(parser, "routines"));
        if !tables && !sequences && !functions {
            parser.parse_identifier()?;
        }
        expect(parser, "in")?;
        expect(parser, "schema")?;
        let schemas = names(parser)?;
        return Ok(match (tables, sequences) {
            (true, _) => On::AllTables(schemas),
            (_, true) => On::AllSequences(schemas),
            _ if functions => On::AllFunctions(schemas),
            _ => On::Nothing,
        });
    }
    if word(parser, "sequence") {
        return Ok(On::Sequences(object_names(parser)?));
    }
    if word(parser, "database") {
        return Ok(On::Databases(names(parser)?));
    }
    if word(parser, "schema") {
        return Ok(On::Schemas(names(parser)?));
    }
    if is_followed(parser, "function") || is_followed(parser, "routine") {
        parser.next_token();
        return Ok(On::Functions(parser.parse_comma_separated(signature)?));
    }
    for other in ["procedure", "language", "type", "domain", "tablespace", "parameter"] {
        if !is_followed(parser, other) {
            continue;
        }
        // Names, perhaps with arguments.
        while !is_word(parser, "to") && !is_word(parser, "from") {
            if parser.next_token().token == Token::EOF {
                return parser.expected("TO or FROM", parser.peek_token());
            }
        }
        return Ok(On::Nothing);
    }
    let _ = word(parser, "table");
    Ok(On::Tables(object_names(parser)?))
}

/// Whether a word comes with a name behind it.
fn is_followed(parser: &Parser<'_>, text: &str) -> bool {
    let follows = matches!(&parser.peek_nth_token_ref(1).token, Token::Word(next)
        if !["to", "from"].iter().any(|end| next.value.eq_ignore_ascii_case(end)));
    is_word(parser, text) && follows
}

fn defaults(parser: &mut Parser<'_>) -> Parse<RightsStatement> {
    let (mut of, mut schemas) = (Vec::new(), Vec::new());
    loop {
        if word(parser, "for") {
            if !word(parser, "role") {
                expect(parser, "user")?;
            }
            of = role_names(parser)?;
        } else if word(parser, "in") {
            expect(parser, "schema")?;
            schemas = names(parser)?;
        } else {
            break;
        }
    }
    let revokes = word(parser, "revoke");
    if !revokes {
        expect(parser, "grant")?;
    }
    let mut option = revokes && parser.parse_keywords(&[Keyword::GRANT, Keyword::OPTION, Keyword::FOR]);
    let mut rights = Vec::new();
    if word(parser, "all") {
        let _ = word(parser, "privileges");
    } else {
        let listed = parser.parse_comma_separated(Parser::parse_identifier)?;
        rights.extend(listed.iter().map(|name| (fold(name), Vec::new())));
    }
    expect(parser, "on")?;
    let on = if word(parser, "tables") {
        On::Tables(Vec::new())
    } else if word(parser, "sequences") {
        On::Sequences(Vec::new())
    } else if word(parser, "schemas") {
        On::Schemas(Vec::new())
    } else if word(parser, "functions") || word(parser, "routines") {
        On::Functions(Vec::new())
    } else {
        parser.parse_identifier()?;
        On::Nothing
    };
    expect(parser, if revokes { "from" } else { "to" })?;
    let roles = role_names(parser)?;
    if !revokes && word(parser, "with") {
        expect(parser, "grant")?;
        expect(parser, "option")?;
        option = true;
    }
    let cascade = cascade(parser);
    let grant = Grant { revokes, rights, all_columns: Vec::new(), on, roles, option, cascade, by: None };
    Ok(RightsStatement::Defaults(of, schemas, grant))
}

/// `(a, b)`, or nothing.
fn columns(parser: &mut Parser<'_>) -> Parse<Vec<String>> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(Vec::new());
    }
    let columns = names(parser)?;
    parser.expect_token(&Token::RParen)?;
    Ok(columns)
}

fn names(parser: &mut Parser<'_>) -> Parse<Vec<String>> {
    Ok(parser.parse_comma_separated(Parser::parse_identifier)?.iter().map(fold).collect())
}

fn object_names(parser: &mut Parser<'_>) -> Parse<Vec<ObjectName>> {
    parser.parse_comma_separated(|parser| parser.parse_object_name(false))
}

fn role_names(parser: &mut Parser<'_>) -> Parse<Vec<RoleName>> {
    parser.parse_comma_separated(role_name)
}

fn role_name(parser: &mut Parser<'_>) -> Parse<RoleName> {
    let _ = is_word(parser, "group") && word(parser, "group");
    if word(parser, "current_user") || word(parser, "current_role") {
        return Ok(RoleName::Current);
    }
    if word(parser, "session_user") {
        return Ok(RoleName::Session);
    }
    if word(parser, "public") {
        return Ok(RoleName::Public);
    }
    Ok(RoleName::Named(fold(&parser.parse_identifier()?)))
}

/// The name of a role that is to be made.
fn new_name(parser: &mut Parser<'_>) -> Parse<String> {
    Ok(fold(&parser.parse_identifier()?))
}

/// CASCADE or RESTRICT or nothing.
fn cascade(parser: &mut Parser<'_>) -> bool {
    let cascade = word(parser, "cascade");
    let _ = word(parser, "restrict");
    cascade
}

fn is_word(parser: &Parser<'_>, text: &str) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

fn expect(parser: &mut Parser<'_>, text: &str) -> Parse<()> {
    if word(parser, text) { Ok(()) } else { parser.expected(&text.to_uppercase(), parser.peek_token()) }
}
