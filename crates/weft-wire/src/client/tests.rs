use super::*;
use std::path::{Path, PathBuf};

fn parse(text: &str) -> Target {
    Target::parse(text).unwrap()
}

#[test]
fn urls_have_parts() {
    let full = "postgres://ann:p%40s%2Fs@db.example:5433/shop?sslmode=verify-full&sslrootcert=/etc/ca.pem";
    let target = parse(full);
    assert_eq!(target.host, Host::Tcp("db.example".into()));
    assert_eq!((target.port, target.user.as_str(), target.database.as_str()), (5433, "ann", "shop"));
    assert_eq!(target.password.as_deref(), Some("p@s/s"));
    assert_eq!(target.ssl_mode, SslMode::VerifyFull);
    assert_eq!(target.ssl_root, Some(PathBuf::from("/etc/ca.pem")));

    let bare = parse("postgresql://");
    assert_eq!((&bare.host, bare.port), (&Host::Tcp("localhost".into()), 5432));
    assert_eq!((bare.user.as_str(), bare.database.as_str()), ("weft", "weft"));
    assert_eq!(parse("postgres://ann@h").database, "ann");
    assert_eq!(parse("postgres://h?user=bob").database, "bob");
    assert_eq!(parse("postgres://[::1]:7/x").place(), "[::1]:7");
    assert_eq!(parse("postgres://[::1]").port, 5432);
    assert_eq!(parse("postgres:///x?host=/run/weft&port=6").place(), "/run/weft/.s.PGSQL.6");
    assert_eq!(parse("postgres://%2Frun%2Fweft/x").place(), "/run/weft/.s.PGSQL.5432");
    assert_eq!(parse("postgres://u:a:b@h/d").password.as_deref(), Some("a:b"));
    assert_eq!(parse("/data/.s.PGSQL.99").place(), "/data/.s.PGSQL.99");
    assert_eq!(parse("/data").place(), "/data/.s.PGSQL.5432");
    assert_eq!(Target::of_socket(Path::new("/data")).user, "weft");
}

#[test]
fn errors_name_the_part_and_no_password() {
    for (url, part) in [
        ("mysql://h", "beginning"),
        ("postgres://u:sec%ret@h/", "password"),
        ("postgres://u:secret@h:port/", "port"),
        ("postgres://u:secret@h:0/", "port"),
        ("postgres://u:secret@h:70000/", "port"),
        ("postgres://u:secret@::1/", "port"),
        ("postgres://u:secret@[::1/", "host"),
        ("postgres://u:secret@[x]/", "host"),
        ("postgres://u:secret@h/d%zz", "database"),
        ("postgres://u:secret@h/d%00", "database"),
        ("postgres://u:secret@h/d?sslmode=maybe", "parameter sslmode=maybe"),
        ("postgres://u:secret@h/d?sslmod=require", "parameter sslmod"),
        ("postgres://u:secret@h/d?sslmode", "parameter"),
        ("postgres://u:secret@h/d#x", "character #"),
    ] {
        let error = Target::parse(url).unwrap_err();
        assert!(error.message().ends_with(&format!("a wrong {part}")), "{url}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert!(!format!("{:?}", parse("postgres://u:secret@h/")).contains("secret"));
}

#[test]
fn reports_keep_every_field() {
    let report = Report::read(b"SERROR\0VERROR\0C23505\0Mduplicate\0DKey\0P7\0xodd\0\0");
    assert_eq!((report.severity(), report.sqlstate(), report.message()), ("ERROR", "23505", "duplicate"));
    assert_eq!((report.detail(), report.hint(), report.position()), (Some("Key"), None, Some(7)));
    assert_eq!(report.field('x'), Some("odd"));
    assert_eq!(Report::read(b"Mcut").message(), "");
    assert_eq!(Report::read(b"").sqlstate(), "");
}
