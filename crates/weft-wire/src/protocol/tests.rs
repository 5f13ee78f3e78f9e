use super::*;
use weft_format::Code;

fn body(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn messages_are_read() {
    assert_eq!(decode(b'Q', b"SELECT 1\0").unwrap(), Frontend::Query("SELECT 1"));
    let parse = body(&[b"s\0SELECT $1\0", &[0, 1], &[0, 0, 0, 23]]);
    assert_eq!(decode(b'P', &parse).unwrap(), Frontend::Parse { name: "s", sql: "SELECT $1", types: vec![23] });
    let bind = body(&[b"p\0s\0", &[0, 1, 0, 1], &[0, 2, 0, 0, 0, 2, b'h', b'i', 255, 255, 255, 255], &[0, 0]]);
    let values = vec![Some(&b"hi"[..]), None];
    let wanted = Frontend::Bind { portal: "p", statement: "s", formats: vec![1], values, results: vec![] };
    assert_eq!(decode(b'B', &bind).unwrap(), wanted);
    assert_eq!(decode(b'D', b"Sx\0").unwrap(), Frontend::Describe(Target::Statement("x")));
    assert_eq!(decode(b'C', b"P\0").unwrap(), Frontend::Close(Target::Portal("")));
    assert_eq!(decode(b'E', b"\0\0\0\0\x05").unwrap(), Frontend::Execute { portal: "", rows_max: 5 });
    assert_eq!(decode(b'S', b"").unwrap(), Frontend::Sync);
}

#[test]
fn first_packets_are_read() {
    let session = body(&[&[0, 3, 0, 0], b"user\0weft\0database\0shop\0\0"]);
    let parameters = vec![("user", "weft"), ("database", "shop")];
    assert_eq!(decode_startup(&session).unwrap(), Startup::Session { minor: 0, parameters });
    assert_eq!(decode_startup(&(1234u32 << 16 | 5679).to_be_bytes()).unwrap(), Startup::Ssl);
    let cancel = body(&[&(1234u32 << 16 | 5678).to_be_bytes(), &[0, 0, 0, 7], &[1, 2, 3, 4]]);
    assert_eq!(decode_startup(&cancel).unwrap(), Startup::Cancel { id: 7, secret: &[1, 2, 3, 4] });
    assert!(decode_startup(&[0, 2, 0, 0]).unwrap_err().message().contains("unsupported frontend protocol 2.0"));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let cases: [(u8, &[u8]); 9] = [
        (b'Q', b"SELECT 1"),
        (b'Q', b"SELECT 1\0more"),
        (b'P', b"s\0SELECT 1\0\0\x05\0\0\0\x17"),
        (b'B', b"\0\0\0\x01\0\x07\0\0\0\0"),
        (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xf0\0\0"),
        (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
        (b'D', b"X\0"),
        (b'S', b"x"),
        (b'?', b""),
    ];
    for (tag, body) in cases {
        assert_eq!(decode(tag, body).unwrap_err().code(), Code::ProtocolViolation, "{tag} {body:?}");
    }
    assert_eq!(decode(b'Q', b"\xff\0").unwrap_err().code(), Code::CharacterNotInRepertoire);
}

/// Protocol 1, with bytes that are near to messages: valid ones, cut, grown and overwritten.
#[test]
fn no_bytes_make_a_decoder_panic() {
    let seeds: Vec<(u8, Vec<u8>)> = vec![
        (b'Q', b"SELECT 1\0".to_vec()),
        (b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17".to_vec()),
        (b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02hi\xff\xff\xff\xff\0\x01\0\x00".to_vec()),
        (b'D', b"Sx\0".to_vec()),
        (b'E', b"\0\0\0\0\x05".to_vec()),
        (b'f', b"no\0".to_vec()),
        (0, b"\0\x03\0\0user\0weft\0\0".to_vec()),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let mut accepted = 0u64;
    for _ in 0..1_000_000 {
        let (tag, mut bytes) = seeds[next(seeds.len())].clone();
        for _ in 0..=next(3) {
            match next(3) {
                0 if !bytes.is_empty() => bytes.truncate(next(bytes.len() + 1)),
                1 => bytes.insert(next(bytes.len() + 1), next(256) as u8),
                _ if !bytes.is_empty() => {
                    let at = next(bytes.len());
                    bytes[at] = [0, 1, 0x7f, 0x80, 0xff, next(256) as u8][next(6)];
                }
                _ => {}
            }
        }
        let tag = if next(10) == 0 { next(256) as u8 } else { tag };
        accepted += u64::from(decode(tag, &bytes).is_ok()) + u64::from(decode_startup(&bytes).is_ok());
    }
    assert!(accepted > 1000, "some of the bytes still are messages: {accepted}");
}
