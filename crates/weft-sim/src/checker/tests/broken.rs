//! The reference database, correct and broken in each way.

use super::super::*;

fn run(flaw: Flaw, level: Option<Level>, seed: u64, timestamps: bool) -> Report {
    let workload = if flaw == Flaw::RangesNotValidated {
        // Phantoms need ranges, and keys that are new.
        Workload { range_percent: 30, hot_transactions: 5, ..Workload::default() }
    } else {
        Workload { cold_keys: 50, ..Workload::default() }
    };
    let reference = Reference { seed, workload, level, flaw, timestamps, transactions: 3000 };
    check(&reference.run(), Rules::default()).unwrap()
}

#[test]
fn a_correct_database_does_nothing_forbidden() {
    for seed in 0..6 {
        for level in [None, Some(Level::ReadCommitted), Some(Level::RepeatableRead), Some(Level::Serializable)] {
            for timestamps in [false, true] {
                let report = run(Flaw::None, level, seed, timestamps);
                assert!(report.is_clean(), "seed {seed}, {level:?}: {report}");
                assert!(report.committed > 1000, "{report}");
                match level {
                    Some(Level::Serializable) => assert!(report.permitted.is_empty(), "{report}"),
                    Some(Level::RepeatableRead) => {
                        assert!(
                            report.has(Kind::G2Item) && report.has(Kind::G2) && !report.has(Kind::GSingle),
                            "{report}"
                        );
                    }
                    _ => assert!(report.has(Kind::GSingle) && report.has(Kind::LostUpdate), "{report}"),
                }
            }
        }
    }
}

#[test]
fn one_client_alone_has_no_anomaly_at_any_level() {
    let workload = Workload { clients: 1, ..Workload::default() };
    for level in [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable] {
        let reference = Reference {
            seed: 1,
            workload,
            level: Some(level),
            flaw: Flaw::None,
            timestamps: false,
            transactions: 2000,
        };
        let report = check(&reference.run(), Rules::default()).unwrap();
        assert!(report.is_clean() && report.permitted.is_empty(), "{report}");
    }
}

#[test]
fn every_flaw_is_found() {
    use Level::{ReadCommitted, RepeatableRead, Serializable};
    let cases: [(Flaw, Level, &[Kind]); 19] = [
        (Flaw::DirtyWrite, ReadCommitted, &[Kind::G0, Kind::G1a, Kind::G1b, Kind::G1c]),
        (Flaw::DirtyRead, ReadCommitted, &[Kind::G1a, Kind::G1b, Kind::G1c]),
        (Flaw::EarlyInstall, ReadCommitted, &[Kind::G1b]),
        (Flaw::AbortedVisible, ReadCommitted, &[Kind::G1a]),
        (Flaw::SavepointKept, ReadCommitted, &[Kind::G1a]),
        (Flaw::NoSnapshot, RepeatableRead, &[Kind::NonRepeatableRead, Kind::GSingle]),
        (Flaw::TornSnapshot, RepeatableRead, &[Kind::GSingle, Kind::StaleRead]),
        (Flaw::NoFirstCommitterWins, RepeatableRead, &[Kind::LostUpdate]),
        (Flaw::WriteBack, RepeatableRead, &[Kind::LostUpdate, Kind::LostWrite]),
        (Flaw::ReadsNotValidated, Serializable, &[Kind::G2Item]),
        (Flaw::RangesNotValidated, Serializable, &[Kind::G2]),
        (Flaw::StaleSnapshot, RepeatableRead, &[Kind::StaleRead]),
        (Flaw::LostCommit, ReadCommitted, &[Kind::LostWrite]),
        (Flaw::TornCommit, ReadCommitted, &[Kind::LostWrite]),
        (Flaw::OwnWritesUnseen, ReadCommitted, &[Kind::Internal]),
        (Flaw::AppliedTwice, ReadCommitted, &[Kind::DuplicateElement]),
        (Flaw::ElementSkipped, ReadCommitted, &[Kind::IncompatibleOrder]),
        (Flaw::Garbage, ReadCommitted, &[Kind::GarbageRead]),
        (Flaw::WrongTimestamp, ReadCommitted, &[Kind::TimestampOrder]),
    ];
    for (flaw, level, kinds) in cases {
        for seed in 0..3 {
            let report = run(flaw, Some(level), seed, true);
            for kind in kinds {
                assert!(report.forbidden_counts.contains_key(kind), "{flaw:?} seed {seed}, no {kind}: {report}");
            }
        }
    }
}
