//! One history per anomaly, by hand.

use super::super::*;

fn judge(script: &str) -> Report {
    check(&parse(script).unwrap(), Rules::default()).unwrap()
}

/// Exactly these kinds, forbidden at `level`, which replaces LEVEL in the script.
fn kinds(script: &str, level: &str) -> Vec<Kind> {
    judge(&script.replace("LEVEL", level)).forbidden_counts.into_keys().collect()
}

/// The kind is forbidden from `Kind::forbidden_from` on and permitted, but seen, below.
#[track_caller]
fn expect(script: &str, kind: Kind) {
    for (name, level) in [("rc", Level::ReadCommitted), ("rr", Level::RepeatableRead), ("ser", Level::Serializable)] {
        let report = judge(&script.replace("LEVEL", name));
        let is_forbidden = forbidden(level).contains(&kind);
        assert_eq!(report.forbidden_counts.contains_key(&kind), is_forbidden, "{name}: {report}");
        assert_eq!(report.permitted_counts.contains_key(&kind), !is_forbidden, "{name}: {report}");
    }
}

const DIRTY_WRITE: &str = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l1+11\nT2 l1+12\nT2 l2+22\nT1 l2+21\n\
    T1 commit\nT2 commit\n\
    T3 begin LEVEL\nT3 l1=[11,12]\nT3 l2=[22,21]\nT3 commit";

#[test]
fn g0_two_writers_each_first_once() {
    expect(DIRTY_WRITE, Kind::G0);
    assert_eq!(kinds(DIRTY_WRITE, "ser"), [Kind::G0]);
    let report = judge(&DIRTY_WRITE.replace("LEVEL", "rc"));
    assert_eq!(
        report.forbidden[0].explanation,
        "T0 -ww(l1: then 12)-> T1 -ww(l2: then 21)-> T0 [T0 ReadCommitted, T1 ReadCommitted]"
    );
}

#[test]
fn g0_between_a_list_and_a_register() {
    let script = "T1 begin rc\nT2 begin rc\nT1 l1+11\nT2 l1+12\nT1 r1.0:=1\nT2 r1.0:=2\nT1 commit 6\nT2 commit 5\n\
        T3 begin rc\nT3 l1=[11,12]\nT3 r1.0=1\nT3 commit";
    assert_eq!(kinds(script, ""), [Kind::G0, Kind::TimestampOrder]);
}

#[test]
fn g1a_read_of_an_aborted_write() {
    let list = "T1 begin LEVEL\nT1 l1+11\nT2 begin LEVEL\nT2 l1=[11]\nT2 commit\nT1 abort";
    expect(list, Kind::G1a);
    assert_eq!(kinds(list, "rc"), [Kind::G1a]);
    let register = "T1 begin rc\nT1 r1.0:=11\nT2 begin rc\nT2 r1.0=11\nT2 commit\nT1 abort";
    assert_eq!(kinds(register, ""), [Kind::G1a]);
    let savepoint = "T1 begin rc\nT1 savepoint\nT1 l1+11\nT1 rollback to\nT1 l1+12\nT1 commit\n\
        T2 begin rc\nT2 l1=[11,12]\nT2 commit";
    assert_eq!(kinds(savepoint, ""), [Kind::G1a]);
    assert_eq!(kinds(&savepoint.replace("[11,12]", "[12]"), ""), []);
}

#[test]
fn g1b_read_of_an_intermediate_write() {
    let list = "T1 begin LEVEL\nT1 l1+11\nT2 begin LEVEL\nT2 l1=[11]\nT2 commit\nT1 l1+12\nT1 commit\n\
        T3 begin LEVEL\nT3 l1=[11,12]\nT3 commit";
    expect(list, Kind::G1b);
    let register = "T1 begin rc\nT1 r1.0:=11\nT2 begin rc\nT2 r1.0=11\nT2 commit\nT1 r1.0:=12\nT1 commit";
    assert_eq!(kinds(register, ""), [Kind::G1b]);
}

#[test]
fn g1c_two_that_read_each_other() {
    let script = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l1+11\nT2 l2+22\nT1 l2=[22]\nT2 l1=[11]\nT1 commit\nT2 commit";
    expect(script, Kind::G1c);
    assert_eq!(kinds(script, "ser"), [Kind::G1c]);
}

#[test]
fn lost_update_of_a_list() {
    let script = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l1=[]\nT2 l1=[]\nT1 l1+11\nT1 commit\nT2 l1+12\nT2 commit\n\
        T3 begin LEVEL\nT3 l1=[11,12]\nT3 commit";
    expect(script, Kind::LostUpdate);
    assert_eq!(kinds(script, "rr"), [Kind::LostUpdate]);
}

#[test]
fn lost_update_of_a_register_with_and_without_timestamps() {
    let with = "T1 begin LEVEL\nT2 begin LEVEL\nT1 r1.0=nil\nT2 r1.0=nil\nT1 r1.0:=11\nT1 commit 5\nT2 r1.0:=12\n\
        T2 commit 6\nT3 begin LEVEL\nT3 r1.0=12\nT3 commit";
    expect(with, Kind::LostUpdate);
    let without = with.replace("commit 5", "commit").replace("commit 6", "commit");
    expect(&without, Kind::LostUpdate);
    let columns = with.replace("T2 r1.0", "T2 r1.1").replace("T3 r1.0=12", "T3 r1.0=11\nT3 r1.1=12");
    assert!(!judge(&columns.replace("LEVEL", "rr")).has(Kind::LostUpdate), "different columns are no conflict");
}

#[test]
fn the_victim_of_a_lost_update_is_who_came_second() {
    let script = "T1 begin FIRST\nT2 begin SECOND\nT1 l1=[]\nT2 l1=[]\nT1 l1+11\nT1 commit\nT2 l1+12\nT2 commit\n\
        T3 begin rr\nT3 l1=[11,12]\nT3 commit";
    assert_eq!(kinds(&script.replace("FIRST", "rc").replace("SECOND", "rr"), ""), [Kind::LostUpdate]);
    assert_eq!(kinds(&script.replace("FIRST", "rr").replace("SECOND", "rc"), ""), []);
}

#[test]
fn non_repeatable_read() {
    let script = "T1 begin LEVEL\nT1 l1=[]\nT2 begin LEVEL\nT2 l1+21\nT2 commit\nT1 l1=[21]\nT1 commit";
    expect(script, Kind::NonRepeatableRead);
    expect(script, Kind::GSingle);
    let phantom =
        "T1 begin LEVEL\nT1 l1..9=[]\nT2 begin LEVEL\nT2 l1+21\nT2 commit\nT1 l1..9=[1]\nT1 l1=[21]\nT1 commit";
    expect(phantom, Kind::NonRepeatableRead);
}

const READ_SKEW: &str = "T1 begin LEVEL\nT1 l1=[]\nT2 begin LEVEL\nT2 l1+21\nT2 l2+22\nT2 commit\n\
    T1 l2=[22]\nT1 commit\n\
    T3 begin LEVEL\nT3 l1=[21]\nT3 commit";

#[test]
fn g_single_read_skew() {
    expect(READ_SKEW, Kind::GSingle);
    assert_eq!(kinds(READ_SKEW, "rr"), [Kind::GSingle]);
    let registers = "T1 begin LEVEL\nT1 r1.0=nil\nT2 begin LEVEL\nT2 r1.0:=21\nT2 r2.0:=22\nT2 commit 9\n\
        T1 r2.0=22\nT1 commit";
    expect(registers, Kind::GSingle);
    expect(&registers.replace("commit 9", "commit"), Kind::GSingle);
    let phantom = "T1 begin LEVEL\nT1 l1..9=[]\nT2 begin LEVEL\nT2 l1+21\nT2 l20+22\nT2 commit\nT1 l20=[22]\nT1 commit";
    expect(phantom, Kind::GSingle);
}

#[test]
fn g_single_is_judged_by_the_readers_level() {
    let mixed = |reader: &str, writer: &str| {
        let script = READ_SKEW.replace("T1 begin LEVEL", &format!("T1 begin {reader}"));
        kinds(&script, writer)
    };
    assert_eq!(mixed("rr", "rc"), [Kind::GSingle]);
    assert_eq!(mixed("rc", "ser"), []);
}

#[test]
fn g_nonadjacent_long_fork() {
    let script = "T1 begin LEVEL\nT2 begin LEVEL\nT3 begin LEVEL\nT4 begin LEVEL\nT1 l1+11\nT2 l2+22\nT1 commit\n\
        T2 commit\nT3 l1=[11]\nT3 l2=[]\nT4 l1=[]\nT4 l2=[22]\nT3 commit\nT4 commit\n\
        T5 begin LEVEL\nT5 l1=[11]\nT5 l2=[22]\nT5 commit";
    expect(script, Kind::GNonadjacent);
    assert_eq!(kinds(script, "rr"), [Kind::GNonadjacent]);
}

const WRITE_SKEW: &str = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l1=[]\nT1 l2=[]\nT2 l1=[]\nT2 l2=[]\nT1 l1+11\nT2 l2+22\n\
    T1 commit\nT2 commit\nT3 begin LEVEL\nT3 l1=[11]\nT3 l2=[22]\nT3 commit";

#[test]
fn g2_item_write_skew() {
    expect(WRITE_SKEW, Kind::G2Item);
    assert_eq!(kinds(WRITE_SKEW, "ser"), [Kind::G2Item]);
    assert_eq!(kinds(WRITE_SKEW, "rr"), []);
}

#[test]
fn g2_phantoms() {
    let script = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l10..19=[]\nT2 l20..29=[]\nT1 l21+11\n\
        T2 l12+22\nT1 commit\nT2 commit\n\
        T3 begin LEVEL\nT3 l10..29=[12,21]\nT3 l12=[22]\nT3 l21=[11]\nT3 commit";
    expect(script, Kind::G2);
    assert_eq!(kinds(script, "ser"), [Kind::G2]);
}

#[test]
fn g2_among_mixed_levels_goes_by_the_rule() {
    // T1 and T3 are SERIALIZABLE, T2 between them is not: T1 -rw-> T2 -wr-> T3 -rw-> T1, with two rw in a row.
    let script = "T1 begin ser\nT1 l1=[]\nT2 begin rc\nT2 l1+21\nT2 commit\nT3 begin ser\nT3 l1=[21]\nT3 l2=[]\n\
        T3 commit\nT1 l2+12\nT1 commit\nT4 begin rc\nT4 l2=[12]\nT4 commit";
    let history = parse(script).unwrap();
    let readers = check(&history, Rules::default()).unwrap();
    assert_eq!(readers.forbidden_counts.into_keys().collect::<Vec<_>>(), [Kind::G2Item]);
    let everyone = check(&history, Rules { mixing: Mixing::Everyone, ..Rules::default() }).unwrap();
    assert!(everyone.is_clean() && everyone.has(Kind::G2Item), "{everyone}");
    let half = WRITE_SKEW.replace("T1 begin LEVEL", "T1 begin rr");
    assert_eq!(kinds(&half, "ser"), []);
}

#[test]
fn internal_inconsistency() {
    expect("T1 begin LEVEL\nT1 l1+11\nT1 l1=[]\nT1 commit", Kind::Internal);
    for script in [
        "T1 begin rc\nT1 l1=[11]\nT1 l1+11\nT1 commit",
        "T1 begin rc\nT1 r1.0:=11\nT1 r1.0=nil\nT1 commit",
        "T1 begin rc\nT1 r1.0:=11\nT1 r1.0:=12\nT1 r1.0=11\nT1 commit",
        "T1 begin rc\nT1 r1.0=11\nT1 r1.0:=11\nT1 commit",
        "T1 begin rc\nT1 l1+11\nT1 l1..9=[]\nT1 commit\nT2 begin rc\nT2 l1=[11]\nT2 commit",
    ] {
        assert_eq!(kinds(script, ""), [Kind::Internal], "{script}");
    }
    let fine = "T1 begin rc\nT1 l1+11\nT1 l1=[11]\nT1 l1+12\nT1 l1=[11,12]\nT1 r1.0:=11\nT1 r1.0=11\nT1 r1.0:=12\n\
        T1 r1.0=12\nT1 r1..9.0=[1]\nT1 r1.0=12\nT1 commit";
    assert_eq!(kinds(fine, ""), []);
}

#[test]
fn incompatible_order_of_a_forked_list() {
    let script = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l1+11\nT2 l1+12\nT1 commit\nT2 commit\n\
        T3 begin LEVEL\nT4 begin LEVEL\n\
        T3 l1=[11,12]\nT4 l1=[12,11]\nT3 commit\nT4 commit";
    expect(script, Kind::IncompatibleOrder);
}

#[test]
fn duplicate_element() {
    expect("T1 begin LEVEL\nT1 l1+11\nT1 commit\nT2 begin LEVEL\nT2 l1=[11,11]\nT2 commit", Kind::DuplicateElement);
}

#[test]
fn garbage_read() {
    expect("T1 begin LEVEL\nT1 l1+11\nT1 commit\nT2 begin LEVEL\nT2 l1=[11,12]\nT2 commit", Kind::GarbageRead);
    for read in ["l7=[12]", "r1.0=3", "r1.1=4"] {
        let script = format!("T1 begin rc\nT1 r1.0:=2\nT1 commit\nT2 begin rc\nT2 {read}\nT2 commit");
        assert_eq!(kinds(&script, ""), [Kind::GarbageRead], "{read}");
    }
}

#[test]
fn lost_write() {
    expect("T1 begin LEVEL\nT1 l1+11\nT1 commit\nT2 begin LEVEL\nT2 l1=[]\nT2 commit", Kind::LostWrite);
    // Seen once, lost in a crash.
    let crash =
        "T1 begin rc\nT1 l1+11\nT1 commit\nT2 begin rc\nT2 l1=[11]\nT2 commit\nT3 begin rc\nT3 l1=[]\nT3 commit";
    assert_eq!(kinds(crash, ""), [Kind::LostWrite]);
    for ts in ["", " 5"] {
        let register = format!(
            "T1 begin rc\nT1 r1.0:=1\nT1 commit{ts}\nT2 begin rc\nT2 r1.0:=2\nT2 commit{}\n\
                T3 begin rc\nT3 r1.0=1\nT3 commit",
            ts.replace('5', "6")
        );
        assert_eq!(kinds(&register, ""), [Kind::LostWrite], "{register}");
    }
    let range = "T1 begin rc\nT1 l5+11\nT1 commit\nT2 begin rc\nT2 l1..9=[]\nT2 commit";
    assert_eq!(kinds(range, ""), [Kind::LostWrite]);
}

#[test]
fn stale_read() {
    let script = "T1 begin LEVEL\nT1 l1+11\nT1 commit\nT2 begin LEVEL\nT2 l1=[]\nT2 commit\n\
        T3 begin LEVEL\nT3 l1=[11]\nT3 commit";
    expect(script, Kind::StaleRead);
    let history = parse(&script.replace("LEVEL", "ser")).unwrap();
    assert!(check(&history, Rules { real_time: false, ..Rules::default() }).unwrap().is_clean());
}

#[test]
fn timestamps_out_of_order() {
    let script = "T1 begin LEVEL\nT2 begin LEVEL\nT1 l1+11\nT1 commit 8\nT2 l1+12\nT2 commit 7\n\
        T3 begin LEVEL\nT3 l1=[11,12]\nT3 commit";
    expect(script, Kind::TimestampOrder);
}

#[test]
fn unknown_transactions_count_once_they_were_seen() {
    let lost = "T1 begin ser\nT1 l1+11\nT1 unknown\nT2 begin ser\nT2 l1=[]\nT2 commit";
    assert_eq!(kinds(lost, ""), []);
    assert_eq!(judge(&lost.replace("l1=[]", "l1=[11]")).committed, 2);
    // T2 was seen, so its read of T1 counts, and T1 took place although nobody else read it.
    let chain = "T1 begin ser\nT1 r1.0:=1\nT1 unknown\nT2 begin ser\nT2 r1.0=1\nT2 l2+22\nT2 unknown\n\
        T3 begin ser\nT3 l2=[22]\nT3 r1.0=nil\nT3 commit";
    let report = judge(chain);
    assert_eq!(report.committed, 3);
    assert_eq!(report.forbidden_counts.into_keys().collect::<Vec<_>>(), [Kind::GSingle]);
}

#[test]
fn reads_of_the_aborted_do_not_count() {
    assert_eq!(kinds("T1 begin ser\nT1 l1+11\nT1 commit\nT2 begin ser\nT2 l1=[7]\nT2 abort", ""), []);
}

#[test]
fn a_value_written_twice_cannot_be_judged() {
    let script = "T1 begin rc\nT1 l1+11\nT1 commit\nT2 begin rc\nT2 l1+11\nT2 commit";
    let error = check(&parse(script).unwrap(), Rules::default()).unwrap_err();
    assert_eq!(error, "T0 and T1 both wrote 11 to l1; give each write of an object its own value");
}

#[test]
fn every_kind_has_a_level_that_forbids_it() {
    assert_eq!(forbidden(Level::Serializable).len(), Kind::ALL.len());
    assert_eq!(forbidden(Level::RepeatableRead).len(), Kind::ALL.len() - 2);
    assert_eq!(forbidden(Level::ReadCommitted).len(), Kind::ALL.len() - 6);
}
