//! Roles and rights: where they are kept, the statements that change them, and the test of every statement.
//!
//! ```text
//!   catalog    object "role bob"             { login: t, password: SCRAM-SHA-256$... }
//!              object "member 16405 16401"   { grantor: 10, admin: f }           bob (16401) is in 16405
//!              object "rights relation 17"   { owner: 10, acl: "10=arwdDxt/10,16401=r/10", "acl 2": "16401=w/10" }
//!
//!   SELECT a FROM t WHERE b > 1    needs: USAGE on the schemas that it names; on t SELECT, of the columns a and b
//!   plan kept ── made for this version of the catalog, and this role was let through: nothing is tested again
//!             └─ else: needs ── Access (roles and lists as of the transaction) ── 42501, or let through
//! ```
//!
//! 1. Roles, memberships and lists are objects of the catalog: versioned, logged and recovered as tables' definitions
//!    are. A change of rights is a new version of the catalog, so no plan and no answer outlives it.
//! 2. What a statement needs is read off its tree, before views are put in their places: a view's relations are tested
//!    as the view's owner. Where it cannot be told which relation a name belongs to, all that it may belong to count.
//! 3. A session of an embedded database, which nobody logged in to, is the first superuser and tests nothing.
//! 4. Both readings of a statement agree: a plan with a table that the needs do not name is refused.
//!
//! | module | |
//! |---|---|
//! | `catalog` | roles, memberships, owners and lists as objects |
//! | `need`, `needs`, `scope`, `columns` | from a statement to the rights that it needs |
//! | `permit` | the rights of a session's role: the tests |
//! | `roles`, `grant`, `owners` | CREATE ROLE, GRANT and REVOKE, OWNER TO, DROP OWNED |
//! | `verifier` | what is stored instead of a password |

mod beside;
mod catalog;
mod columns;
mod grant;
mod links;
mod need;
mod needs;
mod numbers;
mod owners;
mod permit;
mod roles;
mod scope;
mod verifier;
mod who;

pub(crate) use catalog::{has_first, load, put_first, put_old, schema_oid};
pub(crate) use grant::{alter_defaults, grant};
pub(crate) use need::Need;
pub(crate) use owners::{adopt, change_owner, drop_owned, give_schema, reassign_owned};
pub(crate) use permit::Permit;
pub(crate) use roles::{alter_role, create_role, drop_roles, grant_roles, rename_role};
pub use verifier::{Verifier, salted_password, sha256, sign};
pub(crate) use who::Who;
