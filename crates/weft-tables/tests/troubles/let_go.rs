//! The end of an engine that somebody still reads from.

use weft_contract::ReadView;
use weft_contract::ScanRequest;

use super::*;

/// A query that goes on after the database was closed is the last one that reads a part; by then the directory is
/// another engine's, and so is what lies under the name of the part's file.
#[test]
fn a_reader_that_outlives_the_engine_removes_no_file_of_the_next() {
    let simulation = machine(33);
    run(&simulation, by_hand(), |_, env, engine| {
        filled(&engine);
        let before = files(env, &engine, "bad");
        let t = engine.begin().unwrap().table("bad").unwrap();
        let view = ReadView { read_ts: engine.published(), own: None, reads: None };
        let request =
            ScanRequest { view, projection: vec![0], predicates: Vec::new(), partition_count: 1, batch_rows: 10 };
        let mut reader = t.scan(request).unwrap().partitions.pop().unwrap();
        assert_eq!(reader.next().unwrap().unwrap().num_rows(), 10);
        drop(t);
        while engine.run_one_job().unwrap() {}
        engine.close().unwrap();
        drop(engine);

        let engine = open(env, by_hand()).unwrap();
        let is_gone = |path: &&PathBuf| !env.fs.exists(path).unwrap();
        let gone: Vec<&PathBuf> = before.iter().filter(is_gone).collect();
        assert!(!gone.is_empty(), "the opening removes what is named no more");
        // What the next engine might have made under these names.
        for path in &gone {
            env.fs.open(path, weft_env::OpenMode::CreateNew).unwrap().write_at(b"another's", 0).unwrap();
        }
        drop(reader);
        assert_eq!(gone.iter().filter(|path| is_gone(path)).count(), 0, "a file of another engine was removed");
        engine.close().unwrap();
    });
}
