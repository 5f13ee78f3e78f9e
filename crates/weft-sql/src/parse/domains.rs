//! CREATE, ALTER and DROP DOMAIN.
//!
//! ```text
//!   CREATE DOMAIN posint AS int DEFAULT 7 NOT NULL CONSTRAINT positive CHECK (VALUE > 0)
//!   ALTER DOMAIN posint ADD CONSTRAINT small CHECK (VALUE < 100) NOT VALID
//!   DROP DOMAIN IF EXISTS posint, negint CASCADE
//! ```

use sqlparser::ast::{ColumnOption, DataType, Expr, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::names::fold;

type Parsed<T> = std::result::Result<T, ParserError>;

/// A statement about domains.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainStatement {
    /// CREATE DOMAIN
    Create {
        /// Which.
        name: ObjectName,
        /// What it is made of.
        base: DataType,
        /// In the order in which they were written.
        rules: Vec<DomainRule>,
    },
    /// ALTER DOMAIN
    Alter(ObjectName, Box<AlterDomain>),
    /// DROP DOMAIN: which, IF EXISTS, CASCADE.
    Drop(Vec<ObjectName>, bool, bool),
}

/// A clause of CREATE DOMAIN, or of ADD.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainRule {
    /// The name behind CONSTRAINT, folded.
    pub name: Option<String>,
    /// What it says.
    pub kind: RuleKind,
}

/// What such a clause says.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleKind {
    /// NULL
    Null,
    /// NOT NULL
    NotNull,
    /// DEFAULT
    Default(Expr),
    /// CHECK
    Check(Expr),
}

/// What ALTER DOMAIN does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterDomain {
    /// SET or DROP DEFAULT
    Default(Option<Expr>),
    /// SET or DROP NOT NULL
    NotNull(bool),
    /// ADD a constraint; not NOT VALID.
    Add(DomainRule, bool),
    /// DROP CONSTRAINT; IF EXISTS.
    DropConstraint(String, bool),
    /// RENAME CONSTRAINT
    RenameConstraint(String, String),
    /// VALIDATE CONSTRAINT
    Validate(String),
    /// RENAME TO
    Rename(String),
    /// SET SCHEMA
    SetSchema(String),
}

/// Parses such a statement behind its verb; none when it is about something else.
pub(super) fn create_domain(parser: &mut Parser<'_>) -> Parsed<Option<DomainStatement>> {
    if !parser.parse_keyword(Keyword::DOMAIN) {
        return Ok(None);
    }
    let name = parser.parse_object_name(false)?;
    let _ = parser.parse_keyword(Keyword::AS);
    let base = parser.parse_data_type()?;
    let mut rules = Vec::new();
    while let Some(rule) = rule(parser)? {
        rules.push(rule);
    }
    Ok(Some(DomainStatement::Create { name, base, rules }))
}

/// As [`create_domain`].
pub(super) fn drop_domain(parser: &mut Parser<'_>) -> Parsed<Option<DomainStatement>> {
    if !parser.parse_keyword(Keyword::DOMAIN) {
        return Ok(None);
    }
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
    let cascade = cascades(parser);
    Ok(Some(DomainStatement::Drop(names, if_exists, cascade)))
}

/// As [`create_domain`].
pub(super) fn alter_domain(parser: &mut Parser<'_>) -> Parsed<Option<DomainStatement>> {
    if !parser.parse_keyword(Keyword::DOMAIN) {
        return Ok(None);
    }
    let name = parser.parse_object_name(false)?;
    let verbs = [Keyword::SET, Keyword::DROP, Keyword::ADD, Keyword::RENAME, Keyword::VALIDATE];
    let alter = match parser.expect_one_of_keywords(&verbs)? {
        Keyword::SET => set(parser)?,
        Keyword::DROP => drop_part(parser)?,
        Keyword::ADD => add(parser)?,
        Keyword::RENAME => rename(parser)?,
        _ => {
            parser.expect_keyword(Keyword::CONSTRAINT)?;
            AlterDomain::Validate(identifier(parser)?)
        }
    };
    Ok(Some(DomainStatement::Alter(name, Box::new(alter))))
}

fn set(parser: &mut Parser<'_>) -> Parsed<AlterDomain> {
    if parser.parse_keyword(Keyword::SCHEMA) {
        return Ok(AlterDomain::SetSchema(identifier(parser)?));
    }
    if parser.parse_keyword(Keyword::DEFAULT) {
        return Ok(AlterDomain::Default(Some(parser.parse_expr()?)));
    }
    parser.expect_keywords(&[Keyword::NOT, Keyword::NULL])?;
    Ok(AlterDomain::NotNull(true))
}

fn drop_part(parser: &mut Parser<'_>) -> Parsed<AlterDomain> {
    if parser.parse_keyword(Keyword::DEFAULT) {
        return Ok(AlterDomain::Default(None));
    }
    if parser.parse_keyword(Keyword::CONSTRAINT) {
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let name = identifier(parser)?;
        // Nothing depends on a constraint of a domain.
        cascades(parser);
        return Ok(AlterDomain::DropConstraint(name, if_exists));
    }
    parser.expect_keywords(&[Keyword::NOT, Keyword::NULL])?;
    Ok(AlterDomain::NotNull(false))
}

fn add(parser: &mut Parser<'_>) -> Parsed<AlterDomain> {
    let Some(rule) = rule(parser)? else { return parser.expected("a constraint", parser.peek_token()) };
    let not_valid = parser.parse_keywords(&[Keyword::NOT, Keyword::VALID]);
    Ok(AlterDomain::Add(rule, !not_valid))
}

fn rename(parser: &mut Parser<'_>) -> Parsed<AlterDomain> {
    if parser.parse_keyword(Keyword::TO) {
        return Ok(AlterDomain::Rename(identifier(parser)?));
    }
    parser.expect_keyword(Keyword::CONSTRAINT)?;
    let old = identifier(parser)?;
    parser.expect_keyword(Keyword::TO)?;
    Ok(AlterDomain::RenameConstraint(old, identifier(parser)?))
}

fn identifier(parser: &mut Parser<'_>) -> Parsed<String> {
    parser.parse_identifier().map(|ident| fold(&ident))
}

fn cascades(parser: &mut Parser<'_>) -> bool {
    let cascades = parser.parse_keyword(Keyword::CASCADE);
    let _ = !cascades && parser.parse_keyword(Keyword::RESTRICT);
    cascades
}

fn rule(parser: &mut Parser<'_>) -> Parsed<Option<DomainRule>> {
    let name = if parser.parse_keyword(Keyword::CONSTRAINT) { Some(identifier(parser)?) } else { None };
    let kind = match parser.parse_optional_column_option()? {
        Some(ColumnOption::Null) => RuleKind::Null,
        Some(ColumnOption::NotNull) => RuleKind::NotNull,
        Some(ColumnOption::Default(expr)) => RuleKind::Default(expr),
        Some(ColumnOption::Check(check)) => RuleKind::Check(*check.expr),
        None if name.is_none() => return Ok(None),
        _ => return parser.expected("NULL, NOT NULL, DEFAULT or CHECK", parser.peek_token()),
    };
    Ok(Some(DomainRule { name, kind }))
}
