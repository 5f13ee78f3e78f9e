use super::*;

fn node() -> Node {
    let mut node = Node::new(3, 0, b"ab".to_vec(), Some(b"ad".to_vec()));
    node.push(b"ab", (Timestamp(7), false), b"row");
    node.push(b"ac", (Timestamp(9), true), b"");
    node
}

#[test]
fn the_bytes_of_a_node_are_these() {
    let mut expected = vec![3, 0, 0, 0, 0, 0, 0, 0, 0, 2, b'a', b'b', 1, 2, b'a', b'd', 2];
    expected.extend([7, 0, 0, 0, 0, 0, 0, 0, 0, 1, b'b', 3, b'r', b'o', b'w']);
    expected.extend([9, 0, 0, 0, 0, 0, 0, 0, 1, 1, b'c']);
    assert_eq!(body_of(&node()), expected);
    assert_eq!(body_of(&node_of(&expected).unwrap()), expected);
    for end in 0..expected.len() {
        assert!(node_of(&expected[..end]).is_err(), "of {end} bytes");
    }
}

#[test]
fn a_node_that_is_longer_than_a_page_goes_on_on_others() {
    let mut node = Node::new(5, 0, Vec::new(), None);
    node.push(b"k", (Timestamp(7), false), &[b'x'; 1200]);
    let body = body_of(&node);
    assert_eq!(pages_for(body.len(), 512), 3);
    let pages = pages_of(&body, RecordNo(44), &[5, 9, 2], 512);
    let mut found = Vec::new();
    for (at, (number, bytes)) in pages.iter().enumerate() {
        let page = DiskPage::read(bytes, if at == 0 { *number } else { number | FURTHER }).unwrap();
        assert_eq!((page.record, page.left), (RecordNo(44), body.len() - found.len()));
        found.extend_from_slice(page.part);
        assert!(DiskPage::read(bytes, 7).is_none(), "it is another page");
    }
    assert_eq!(found, body);
    let mut torn = pages[1].1.clone();
    torn[511] ^= 1;
    assert!(DiskPage::read(&torn, 9 | FURTHER).is_none());
}

#[test]
fn the_hash_of_a_page_is_this_and_every_bit_counts() {
    let bytes: Vec<u8> = (0..504u32).map(|at| (at * 7 % 251) as u8).collect();
    let hash = page_hash(&bytes);
    assert_eq!(hash, 0x79fe_b842_a6fa_96a2, "pages that are there have it");
    for at in 0..bytes.len() * 8 {
        let mut other = bytes.clone();
        other[at / 8] ^= 1 << (at % 8);
        assert_ne!(page_hash(&other), hash, "bit {at}");
    }
    let swapped = [&bytes[8..16], &bytes[..8], &bytes[16..]].concat();
    assert_ne!(page_hash(&swapped), hash, "each word has its place");
}

#[test]
fn pages_with_the_hash_of_before_are_read() {
    let (_, mut bytes) = pages_of(b"a node", RecordNo(7), &[9], 512).remove(0);
    let before = hash_bytes(&bytes[8..]);
    assert_ne!(before.to_le_bytes(), bytes[..8]);
    bytes[..8].copy_from_slice(&before.to_le_bytes());
    assert!(DiskPage::read(&bytes, 9).is_some());
    bytes[100] ^= 1;
    assert!(DiskPage::read(&bytes, 9).is_none());
}

#[test]
fn records_are_read_as_they_were_written() {
    let steps = vec![
        TreeStep::New(node()),
        TreeStep::Cut(1, b"k".to_vec()),
        TreeStep::Link(2, b"l".to_vec(), 7),
        TreeStep::Unlink(2, b"m".to_vec()),
        TreeStep::Free(9),
    ];
    let bytes = tree_record(&steps);
    let PageChange::Tree(read) = read_record(&bytes).unwrap() else { panic!("it is a change of the tree") };
    assert_eq!(tree_record(&read), bytes);
    let bytes = image_record(&body_of(&node()), &[4], &[5, 6]);
    let PageChange::Image { freed, further, node } = read_record(&bytes).unwrap() else { panic!("it is an image") };
    assert_eq!(image_record(&body_of(&node), &freed, &further), bytes);
    assert!(read_record(&bytes[..bytes.len() - 1]).is_err() && read_record(&[9]).is_err());
}
