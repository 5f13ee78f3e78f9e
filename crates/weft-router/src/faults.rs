//! Deliberate bugs of the router ([`weft_kernel::fault`]): each is caught by a named test.

use weft_kernel::fault::Fault;

/// A read on a node does not wait for what its session wrote.
pub const FORGET_TOKEN: Fault = Fault::new("FORGET_TOKEN");
/// A node is told a setting when it is set, also if that is rolled back.
pub const KEEP_ROLLED_BACK: Fault = Fault::new("KEEP_ROLLED_BACK");
/// What a node has prepared under a name is taken for what the client means now.
pub const TRUST_OLD_NAME: Fault = Fault::new("TRUST_OLD_NAME");
/// A cancel request goes to the writer, wherever the statement runs.
pub const CANCEL_ELSEWHERE: Fault = Fault::new("CANCEL_ELSEWHERE");
/// A node on which a batch failed that runs again elsewhere keeps the transaction that it opened.
pub const LEAVE_OPEN: Fault = Fault::new("LEAVE_OPEN");
/// One session's trouble with a node is everybody's.
pub const TELL_OTHERS: Fault = Fault::new("TELL_OTHERS");
/// A statement that was cancelled while it went from one server to another is begun there.
pub const FORGET_CANCEL: Fault = Fault::new("FORGET_CANCEL");
/// Sessions wait for a node that is silent.
pub const WAIT_FOR_SILENT: Fault = Fault::new("WAIT_FOR_SILENT");
/// A server that was overtaken and says that it writes is believed.
pub const BELIEVE_OVERTAKEN: Fault = Fault::new("BELIEVE_OVERTAKEN");

/// All of them, and the one of the decision.
pub const ALL: &[Fault] = &[
    FORGET_TOKEN,
    KEEP_ROLLED_BACK,
    TRUST_OLD_NAME,
    CANCEL_ELSEWHERE,
    LEAVE_OPEN,
    TELL_OTHERS,
    FORGET_CANCEL,
    WAIT_FOR_SILENT,
    BELIEVE_OVERTAKEN,
    weft_sql::route::READ_LOCKS,
];
