//! Where a text or a series of messages goes: a function of what its statements are, and of where the session is.
//!
//! ```text
//!   outside of a transaction     Read Read                   a node
//!                                BEGIN READ ONLY, Read       a node, which has the transaction from then on
//!                                Read Write                  the writer
//!   in one, on a node            SELECT pg_advisory_lock(1)  refused: the lock would be the node's
//! ```

use weft_sql::route::{Kind, Routed};

/// One of the two connections of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Writer,
    Node,
}

/// Where statements go that run together outside of a transaction.
pub(super) fn outside(runs: &[Routed], prepares: &[Routed]) -> Side {
    let mut in_block = false;
    for statement in runs {
        match (&statement.kind, in_block) {
            (Kind::Read, _) | (Kind::Within, true) => {}
            (Kind::Begin { reads: true }, false) => in_block = true,
            (Kind::End { chain }, true) => in_block = *chain,
            _ => return Side::Writer,
        }
    }
    let is_harmless =
        |kind: &Kind| matches!(kind, Kind::Read | Kind::Begin { reads: true } | Kind::End { .. } | Kind::Within);
    let all_harmless = prepares.iter().all(|statement| is_harmless(&statement.kind));
    let any = !runs.is_empty() || !prepares.is_empty();
    if any && all_harmless { Side::Node } else { Side::Writer }
}

/// Why statements cannot run in a transaction that a node has; none: they can, or the node says why not.
pub(super) fn refused_on_node(runs: &[Routed]) -> Option<&'static str> {
    let mut ended = false;
    for statement in runs {
        match &statement.kind {
            Kind::Read => {}
            Kind::Begin { reads: true } if ended => ended = false,
            _ if ended => return Some("what follows the end of a transaction in one text must read, too"),
            Kind::End { chain } => ended = !chain,
            Kind::Prepared { forgets: true, .. } => {}
            Kind::Sticks | Kind::Effect | Kind::Discard | Kind::Prepared { .. } => return Some(statement.reason),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_sql::route::routed;

    #[test]
    fn all_must_be_reads() {
        for (text, side) in [
            ("SELECT 1", Side::Node),
            ("SELECT 1; TABLE t", Side::Node),
            ("BEGIN READ ONLY", Side::Node),
            ("BEGIN READ ONLY; SELECT 1; SAVEPOINT a; SELECT 2; COMMIT; SELECT 3", Side::Node),
            ("BEGIN READ ONLY; SELECT 1; COMMIT; INSERT INTO t VALUES (1)", Side::Writer),
            ("BEGIN READ ONLY; SET search_path = a", Side::Writer),
            ("BEGIN READ ONLY; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT 1", Side::Writer),
            ("BEGIN; SELECT 1; COMMIT", Side::Writer),
            ("SELECT 1; SELECT nextval('s')", Side::Writer),
            ("SELECT 1; COMMIT", Side::Writer),
            ("", Side::Writer),
        ] {
            assert_eq!(outside(&routed(text), &[]), side, "{text}");
        }
        assert_eq!(outside(&[], &routed("SELECT 1")), Side::Node);
        assert_eq!(outside(&[], &routed("INSERT INTO t VALUES (1)")), Side::Writer);
        assert_eq!(outside(&routed("SELECT 1"), &routed("DELETE FROM t")), Side::Writer);
    }

    #[test]
    fn what_a_node_would_do_wrongly_is_refused_in_its_transactions() {
        for (text, refused) in [
            ("SELECT 1", false),
            ("INSERT INTO t VALUES (1)", false),
            ("SET LOCAL search_path = a", false),
            ("COMMIT", false),
            ("COMMIT; SELECT 1; BEGIN READ ONLY; SELECT 2", false),
            ("ROLLBACK AND CHAIN; SET search_path = a", false),
            ("DEALLOCATE p", false),
            ("SELECT pg_advisory_xact_lock(1)", true),
            ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", true),
            ("PREPARE p AS SELECT 1", true),
            ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", true),
            ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", false),
            ("COMMIT; INSERT INTO t VALUES (1)", true),
            ("COMMIT; BEGIN", true),
        ] {
            assert_eq!(refused_on_node(&routed(text)).is_some(), refused, "{text}");
        }
    }
}
