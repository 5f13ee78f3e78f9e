use super::*;

fn leaf(keys: &[&str]) -> Node {
    let mut node = Node::new(3, 0, b"acme/".to_vec(), Some(b"acme/z".to_vec()));
    for key in keys {
        let at = node.find(key.as_bytes()).unwrap_err();
        node.insert(at, key.as_bytes(), (Timestamp(7), false), format!("row of {key}").as_bytes());
    }
    node
}

fn keys(node: &Node) -> Vec<String> {
    (0..node.len()).map(|at| String::from_utf8(node.key(at)).unwrap()).collect()
}

#[test]
fn keys_are_kept_in_order_without_what_they_share() {
    let node = leaf(&["acme/m", "acme/", "acme/mm\0", "acme/mmmmmmmmmmmmm", "acme/mmmmmmmmmmmm", "acme/mm"]);
    assert_eq!(node.prefix(), b"acme/");
    assert_eq!(keys(&node), ["acme/", "acme/m", "acme/mm", "acme/mm\0", "acme/mmmmmmmmmmmm", "acme/mmmmmmmmmmmmm"]);
    assert_eq!(node.find(b"acme/mm"), Ok(2));
    assert_eq!(node.find(b"acme/mmm"), Err(4));
    assert_eq!([b"a".as_slice(), b"acme/mmm", b"acme/z", b"b"].map(|key| node.first_from(key)), [0, 4, 6, 6]);
    assert_eq!(node.check(), Vec::<String>::new());
}

#[test]
fn short_keys_that_end_in_zeros_are_told_apart() {
    let all =
        ["acme/", "acme/\0", "acme/\0\0", "acme/k", "acme/k\0", "acme/kkkkkkkk", "acme/kkkkkkkk\0", "acme/kkkkkkkkk"];
    let node = leaf(&all);
    assert_eq!(keys(&node), all);
    for (at, key) in all.iter().enumerate() {
        assert_eq!(node.find(key.as_bytes()), Ok(at), "{key:?}");
        let others = leaf(&[&all[..at], &all[at + 1..]].concat());
        assert_eq!(others.find(key.as_bytes()), Err(at), "{key:?} is not there");
    }
}

#[test]
fn what_is_split_is_joined_again() {
    let all = ["acme/a", "acme/bcd", "acme/bxy", "acme/c"];
    let node = leaf(&all);
    let key = node.split_key(false);
    assert_eq!(key, b"acme/bx", "the shortest that tells the halves apart");
    let (lower, upper) = (node.lower(3, &key), node.upper(9, &key));
    assert_eq!((keys(&lower), keys(&upper)), (keys(&leaf(&all[..2])), keys(&leaf(&all[2..]))));
    assert_eq!(lower.prefix(), b"acme/", "and what they share may be more");
    let joined = lower.joined(&upper);
    assert_eq!((keys(&joined), joined.body_bytes(), joined.number), (keys(&node), node.body_bytes(), 3));
    assert_eq!(joined.check(), Vec::<String>::new());
}

#[test]
fn cells_change_their_length_and_go() {
    let mut node = leaf(&["acme/a", "acme/b", "acme/c"]);
    for length in [0, 2000, 3, 3000, 1] {
        node.set(1, (Timestamp(8), false), &vec![b'x'; length]);
        assert_eq!(node.cell(1).value.len(), length);
        assert_eq!(node.check(), Vec::<String>::new());
    }
    node.set(1, (Timestamp(9), true), &[]);
    assert!(!node.purge(Timestamp(8)) && node.has_dead());
    assert!(node.purge(Timestamp(9)) && !node.has_dead());
    node.remove(0);
    assert_eq!(keys(&node), ["acme/c"]);
    assert_eq!(node.check(), Vec::<String>::new());
}

#[test]
fn a_node_takes_no_step_that_is_not_for_it() {
    let mut node = Node::new(3, 1, b"d".to_vec(), Some(b"p".to_vec()));
    node.link(b"d", 4);
    node.link(b"h", 5);
    let children = |node: &Node| -> Vec<(Vec<u8>, u64)> {
        (0..node.len()).map(|at| (node.key(at), node.cell(at).child())).collect()
    };
    let before = children(&node);
    assert_eq!([b"c", b"h", b"p"].map(|key| node.may_link(key)), [false; 3], "below, there already, behind");
    assert_eq!([b"c", b"k", b"p"].map(|key| node.unlink(key)), [false; 3]);
    assert_eq!([b"c", b"d", b"p"].map(|key| node.cut(key)), [false; 3], "nothing would be left, or stays");
    assert_eq!(children(&node), before);
    assert!(node.may_link(b"k"));
    node.link(b"k", 6);
    assert!(node.unlink(b"h") && node.cut(b"k"));
    assert_eq!((children(&node), node.high.as_deref()), (before[..1].to_vec(), Some(b"k".as_slice())));
    assert_eq!(node.check(), Vec::<String>::new());
    let mut leaf = leaf(&["acme/a"]);
    assert!(!leaf.may_link(b"acme/b") && !leaf.unlink(b"acme/a"), "leaves have no children");
}
