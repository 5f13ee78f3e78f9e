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
    let wanted = "segment magic [57, 45, 46, 54, 4c, 4f, 47, 0a]\nformat version 1\nsegment header bytes 512\n\
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
    let header = SegmentHeader { epoch: 3, start: Lsn(0x1240), last_ts: Timestamp(70), salt: 0xaabb_ccdd };
    let bytes = header.encode();
    assert_eq!(bytes[..36], *b"WEFTLOG\n\x01\0\0\0\x03\0\0\0\x40\x12\0\0\0\0\0\0\x46\0\0\0\0\0\0\0\xdd\xcc\xbb\xaa");
    assert!(bytes[36..508].iter().all(|byte| *byte == 0));
    assert_eq!(bytes[508..], crc32c::crc32c(&bytes[..508]).to_le_bytes());
    assert_eq!(SegmentHeader::decode(&bytes, "log").unwrap(), header);

    let mut block = vec![0; 40];
    block[32] = 0xee;
    let lsn = Lsn(0x1240);
    let written = BlockHeader { lsn, durable: Lsn(0x1200), epoch: 3, payload_bytes: 1 };
    written.encode(header.salt, &mut block);
    assert_eq!(block[..4], *b"WBLK");
    assert_eq!(block[4..8], crc32c::crc32c_append(0xaabb_ccdd, &block[8..]).to_le_bytes());
    assert_eq!(block[8..], *b"\x40\x12\0\0\0\0\0\0\0\x12\0\0\0\0\0\0\x01\0\0\0\x03\0\0\0\xee\0\0\0\0\0\0\0");
    assert_eq!(BlockHeader::decode(&block, &header, lsn), Some(written));
    assert_eq!(BlockHeader::decode(&block, &header, Lsn(8)), None);
}
