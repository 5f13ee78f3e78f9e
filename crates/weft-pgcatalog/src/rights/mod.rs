//! Roles and rights, as plain data: who is there, who is a member of whom, what each object lets whom do.
//!
//! ```text
//!   roles    10 weft superuser      16401 bob login      16405 readers        bob is a member of readers
//!   table t  owner 10   acl  weft=arwdDxt/weft, readers=r/weft      column b:  bob=w/weft
//!   may bob SELECT t?  readers has r, bob inherits from readers: yes       UPDATE t.b? yes     UPDATE t? no
//! ```
//!
//! 1. A superuser may everything. The owner of an object may grant every right on it, also one that it has not itself.
//! 2. What a role may is what it, PUBLIC, and the roles whose rights it inherits may.
//! 3. An object without an entry belongs to the first superuser and has the rights that objects of its kind begin with.

mod access;
mod acl;

pub use access::{Access, Entry, Kind, Membership, OWNER, PREDEFINED, PUBLIC_ROLE, Role, Target, predefined};
pub use acl::{Acl, AclItem, Rights};
