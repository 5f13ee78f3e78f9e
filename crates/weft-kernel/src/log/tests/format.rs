//! The constants and first bytes of the log's format. A difference is a new format version: docs/format/log.md.

use super::layout::{BlockHeader, SegmentHeader};
use super::*;
use crate::log::{changes, record};

#[test]
fn on_disk_constants_are_as_documented() {
    let mut found = format!(
        "segment magic {:02x?}\nformat version {}\nsegment header bytes {}\nsegment crc offset {}\n\
         block magic {:02x?}\nblock header bytes {}\nblock align {}\nrecord chunk {}\n\
         record commit {}\nrecord abort {}\n",
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
    );
    for (name, code) in changes::CODES {
        found += &format!("{name} {code}\n");
    }
    let wanted = "segment magic [57, 45, 46, 54, 4c, 4f, 47, 0a]\nformat version 2\nsegment header bytes 512\n\
        segment crc offset 508\nblock magic [57, 42, 4c, 4b]\nblock header bytes 32\nblock align 8\nrecord chunk 1\n\
         record commit 2\nrecord abort 3\nop insert of rows without their number of columns 1\n\
         op insert 5\nop put 6\nop clear 7\nop update 2\nop delete 3\nop attach 4\nop create table 16\n\
         op drop table 17\nop alter table 18\nop put object 19\nop drop object 20\nop set sequence 21\n\
         value null 0\nvalue false 1\nvalue true 2\nvalue int 3\nvalue float 4\nvalue decimal 5\n\
         value text 6\n\
         value bytes 7\n\
         value uuid 8\n\
         value interval 9\n\
         value array 10\n";
    assert_eq!(found, wanted);
}

#[test]
fn headers_have_these_bytes() {
    let header =
        SegmentHeader { epoch: 3, start: Lsn(0x1240), last_ts: Timestamp(70), salt: 0xaabb_ccdd, edits: 9, version: 2 };
    let bytes = header.encode();
    assert_eq!(bytes[..36], *b"WEFTLOG\n\x02\0\0\0\x03\0\0\0\x40\x12\0\0\0\0\0\0\x46\0\0\0\0\0\0\0\xdd\xcc\xbb\xaa");
    assert_eq!(bytes[36..44], 9_u64.to_le_bytes());
    assert!(bytes[44..508].iter().all(|byte| *byte == 0));
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
    // In the version before, what stands there is the position of the block.
    let before = SegmentHeader { version: 1, edits: 0, ..header };
    assert_eq!(SegmentHeader::decode(&before.encode(), "log").unwrap(), before);
    assert_eq!(BlockHeader::decode(&block, &before, lsn), Some(BlockHeader { edits: 0, ..written }));
}

/// Makes every segment one that the release before wrote: its headers do not name edits of the manifest.
fn to_version_before(env: &Env) {
    for name in env.fs.list(&dir()).unwrap() {
        let file = env.fs.open(&dir().join(&name), OpenMode::ReadWrite).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let header = SegmentHeader::decode(&bytes, &name).unwrap();
        let before = SegmentHeader { version: layout::FORMAT_VERSION_BEFORE, edits: 0, ..header };
        bytes[..layout::SEGMENT_HEADER_BYTES].copy_from_slice(&before.encode());
        let (mut at, mut lsn) = (layout::SEGMENT_HEADER_BYTES, header.start);
        while let Some(block) = BlockHeader::decode(bytes.get(at..).unwrap_or(&[]), &header, lsn) {
            let size = layout::block_bytes(block.payload_bytes as usize);
            BlockHeader { edits: lsn.0, ..block }.encode(header.salt, &mut bytes[at..at + size]);
            (at, lsn) = (at + size, Lsn(lsn.0 + size as u64));
        }
        file.write_at(&bytes, 0).unwrap();
    }
}

#[test]
fn a_log_of_the_version_before_is_read_and_continued() {
    let simulation = simulation(4);
    run(&simulation, |env| {
        let log = open(&env);
        (1..=20).for_each(|ts| assert!(commit(&log, ts, 300).is_ok()));
        log.seal().unwrap();
        drop(log);
        let wanted = read_all(&env).unwrap().0;
        to_version_before(&env);
        let (records, end) = read_all(&env).unwrap();
        assert_eq!((records, end.manifest_edits), (wanted, 0));
        let log = open(&env);
        commit(&log, 21, 10).unwrap();
        assert_eq!(read_all(&env).unwrap().0.len(), 21);
        assert_eq!(log.check().unwrap(), Vec::<String>::new());
    });
}
