//! The rules of weft-tidy on this repository. A failure lists every complaint, one line each.

use std::path::Path;

use weft_tidy::source::{SourceFile, repository};
use weft_tidy::{assertions, circles, differences, files, imports, layers, markdown, sizes, words};

/// What is larger than its limit today.
const EXCEPTIONS: &str = include_str!("../exceptions.txt");

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn sources() -> Vec<SourceFile> {
    let files = repository(root());
    assert!(files.len() > 50, "the repository has more than {} text files", files.len());
    files
}

fn none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "{} complaints:\n{}\n", complaints.len(), complaints.join("\n"));
}

#[test]
fn crates_use_lower_crates_only() {
    none(layers::crates(&sources()));
}

#[test]
fn kernel_modules_use_lower_modules_only() {
    none(layers::kernel_modules(&sources()));
}

#[test]
fn methods_know_files_by_number() {
    none(layers::paths_in_methods(&sources()));
}

#[test]
fn files_import_each_other_in_no_circle() {
    none(circles::complaints(&imports::arrows(&sources())));
}

#[test]
fn the_kernel_and_the_methods_test_what_they_rely_on() {
    none(assertions::few(&sources()));
}

#[test]
fn files_functions_and_lines_are_short() {
    let oversized = sizes::oversized(&sources());
    if std::env::var_os("WEFT_TIDY_PRINT").is_some() {
        // For the list of exceptions, when one is justified.
        oversized.iter().for_each(|(what, size)| println!("{what} {size}"));
    }
    none(sizes::ratchet(&oversized, EXCEPTIONS));
}

#[test]
fn file_names_say_something() {
    none(words::names(&sources()));
}

#[test]
fn nothing_is_unfinished() {
    none(words::unfinished(&sources()));
}

#[test]
fn nothing_belongs_to_one_machine() {
    none(words::machines(&sources()));
}

#[test]
fn every_file_is_compiled() {
    none(files::dead(&sources()));
}

#[test]
fn every_file_says_what_it_is() {
    none(files::first_comments(&sources()));
}

#[test]
fn every_document_has_one_title() {
    none(markdown::titles(&sources()));
}

#[test]
fn links_lead_somewhere() {
    none(markdown::links(&sources(), |path| root().join(path).exists()));
}

/// `WEFT_DOCS=rewrite` writes the page.
#[test]
#[allow(clippy::disallowed_methods, reason = "reads and writes the repository, not a database")]
fn the_differences_are_shown_and_listed() {
    let source = std::fs::read_to_string(root().join(differences::SOURCE)).expect("the file is there");
    let read = differences::read(&source);
    assert!(read.len() > 40, "{} differences", read.len());
    none(differences::complaints(&read, |file, test| {
        std::fs::read_to_string(root().join(file))
            .is_ok_and(|text| test.is_empty() || text.contains(&format!("fn {test}(")))
    }));
    let page = differences::page(&read);
    if std::env::var_os("WEFT_DOCS").is_some_and(|value| value == "rewrite") {
        std::fs::write(root().join(differences::PAGE), &page).expect("the page can be written");
    }
    let there = std::fs::read_to_string(root().join(differences::PAGE)).expect("the page is there");
    assert!(
        there == page,
        "{} differs from {}: run this with WEFT_DOCS=rewrite",
        differences::PAGE,
        differences::SOURCE
    );
}
