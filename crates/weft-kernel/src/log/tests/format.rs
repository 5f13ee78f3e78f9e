//! The constants and first bytes of the log's format. A difference is a new format version: docs/format/log.md.

use super::layout::{BlockHeader, SegmentHeader};
use super::*;
use crate::log::{changes, record};

#[test]
fn on_disk_constants_are_as_documented() {
    let mut found = format!(
        "segment magic {:02x?}\nformat version {}\nsegment header bytes {}\nsegment crc offset {}\n\
         block magic {:02x?}\nblock header bytes {}\nblock align {}\nrecord chunk {}\n\
         record commit {}\nrecord abort {}\nrecord layout {}\nrecord page {}\nrecord commit at {}\n",
        layout::SEGMENT_MAGIC,
        layout::FORMAT_VERSION,
        layout::SEGMENT_HEADER_BYTES,
        layout::SEGMENT_CRC_OFFSET,
        layout::BLOCK_MAGIC,
        layout::BLOCK_HEADER_BYTES,
        layout::BLOCK_ALIGN,
        record::CHUNK,
        record::COMMIT,
        record::ABORT,
        record::LAYOUT,
        record::PAGE,
        record::COMMIT_AT,
    );
    for (name, code) in changes::CODES {
        found += &format!("{name} {code}\n");
    }
    let wanted = "segment magic [57, 45, 46, 54, 4c, 4f, 47, 0a]\nformat version 4\nsegment header bytes 512\n\
        segment crc offset 508\nblock magic [57, 42, 4c, 4b]\nblock header bytes 32\nblock align 8\nrecord chunk 1\n\
         record commit 2\nrecord abort 3\nrecord layout 4\nrecord page 5\nrecord commit at 6\n\
         op update of the release before 2\nop insert 5\nop put 6\nop clear 7\nop update 8\nop delete 3\nop attach 4\n\
         op create table 16\nop drop table 17\nop alter table 18\nop put object 19\nop drop object 20\n\
         op set sequence 21\n";
    assert_eq!(found, wanted);
}

#[test]
fn headers_have_these_bytes() {
    let header = SegmentHeader {
        epoch: 3,
        start: Lsn(0x1240),
        last_ts: Timestamp(70),
        salt: 0xaabb_ccdd,
        edits: 9,
        next_number: RecordNo(11),
        told_edit: 8,
        before: (2, Lsn(0x1100)),
        files: FileId(5),
        version: 3,
    };
    let bytes = header.encode();
    assert_eq!(bytes[..36], *b"WEFTLOG\n\x03\0\0\0\x03\0\0\0\x40\x12\0\0\0\0\0\0\x46\0\0\0\0\0\0\0\xdd\xcc\xbb\xaa");
    assert_eq!(bytes[36..44], 9_u64.to_le_bytes());
    assert_eq!(bytes[44..52], 11_u64.to_le_bytes());
    assert_eq!(bytes[52..60], 8_u64.to_le_bytes());
    assert_eq!(bytes[60..64], 2_u32.to_le_bytes());
    assert_eq!(bytes[64..72], 0x1100_u64.to_le_bytes());
    assert_eq!(bytes[72..80], 5_u64.to_le_bytes());
    assert!(bytes[80..508].iter().all(|byte| *byte == 0));
    assert_eq!(bytes[508..], crc32c::crc32c(&bytes[..508]).to_le_bytes());
    assert_eq!(SegmentHeader::decode(&bytes, "log").unwrap(), header);

    let mut block = vec![0; 40];
    block[32] = 0xee;
    let lsn = Lsn(0x1240);
    let written = BlockHeader { lsn, edits: 0x1200, epoch: 3, payload_bytes: 1 };
    written.encode(header.salt, &mut block);
    assert_eq!(block[..4], *b"WBLK");
    assert_eq!(block[4..8], crc32c::crc32c_append(0xaabb_ccdd, &block[8..]).to_le_bytes());
    assert_eq!(block[8..], *b"\x40\x12\0\0\0\0\0\0\0\x12\0\0\0\0\0\0\x01\0\0\0\x03\0\0\0\xee\0\0\0\0\0\0\0");
    assert_eq!(BlockHeader::decode(&block, &header, lsn), Some(written));
    assert_eq!(BlockHeader::decode(&block, &header, Lsn(8)), None);
}

/// Writes a log of one segment as the release before did: its records have no numbers, and the values of its updates
/// have the tags of then.
fn write_version_before(env: &Env, blocks: &[Vec<Owned>]) {
    let header = SegmentHeader {
        epoch: 1,
        salt: 7,
        edits: 3,
        version: layout::FORMAT_VERSION_BEFORE,
        ..SegmentHeader::default()
    };
    let mut bytes = header.encode().to_vec();
    for records in blocks {
        let lsn = Lsn((bytes.len() - layout::SEGMENT_HEADER_BYTES) as u64);
        let mut payload = Vec::new();
        for record in records {
            let mut numbered = Vec::new();
            record.record().encode(RecordNo(0), &mut numbered);
            payload.push(numbered[0]);
            payload.extend_from_slice(&numbered[9..]);
        }
        let mut block = vec![0; layout::block_bytes(payload.len())];
        block[layout::BLOCK_HEADER_BYTES..][..payload.len()].copy_from_slice(&payload);
        let written = BlockHeader { lsn, edits: 3, epoch: 1, payload_bytes: payload.len() as u32 };
        written.encode(header.salt, &mut block);
        bytes.extend_from_slice(&block);
    }
    let file = env.fs.open(&dir().join(segment_name(Lsn(0))), OpenMode::CreateNew).unwrap();
    file.write_at(&bytes, 0).unwrap();
}

#[test]
fn a_log_of_the_version_before_is_read_and_continued() {
    let simulation = simulation(4);
    run(&simulation, |env| {
        let first = [Owned::Chunk(1, payload(1, 30)), Owned::Abort(1), Owned::Commit(2, 1, payload(2, 300))];
        let second = [Owned::Commit(3, 2, payload(3, 0)), Owned::Commit(4, 3, payload(4, 40))];
        let wanted = [first.to_vec(), second.to_vec()];
        write_version_before(&env, &wanted);
        let (records, end) = read_all(&env).unwrap();
        assert_eq!(records, wanted.concat());
        assert_eq!((end.manifest_edits, end.told_edit, end.last_number), (3, 0, RecordNo(5)));
        let log = open(&env);
        assert_eq!(log.append(&Owned::Layout(4, vec![3]).record()).unwrap(), RecordNo(6));
        commit(&log, 4, 10).unwrap();
        let (records, end) = read_all(&env).unwrap();
        assert_eq!((records.len(), end.last_number, end.told_edit), (7, RecordNo(7), 4));
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn an_update_of_the_version_before_is_read() {
    // `UPDATE t SET c = 7, d = 'a'` of table 5, as docs/format/log.md had it.
    let bytes = [
        &[5, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 1, 2, 0][..],
        &[2, 0, 3, 7, 0, 0, 0, 0, 0, 0, 0],
        &[3, 0, 6, 1, 0, 0, 0, b'a'],
    ]
    .concat();
    let found = changes::ChangeDecoder::new(&bytes).collect::<Result<Vec<_>>>().unwrap();
    let values = vec![(2, weft_format::Value::Int(7)), (3, weft_format::Value::Text("a".into()))];
    let change = changes::Change::Update { key: vec![1], values };
    assert_eq!(found, [changes::LoggedChange::Table { table: TableId(5), schema_version: 0, change }]);
}
