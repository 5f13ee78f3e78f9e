//! Run files: what is written never changes unnoticed.

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::{File, OpenMode};
use weft_format::Code;

use super::super::filter::FilterShape;
use super::super::footer::{END_MAGIC, FORMAT_VERSION, HEADER_BYTES, MAGIC, TRAILER_BYTES};
use super::super::run::Run;
use super::super::run_writer::RunFiles;
use super::*;

/// Bytes in memory as a file.
struct Bytes(Vec<u8>);

impl File for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or(&[]);
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn write_at(&self, _: &[u8], _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
    fn sync_data(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn set_len(&self, _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

fn in_simulation(body: impl FnOnce(Env, Arc<Services>) + Send + 'static) {
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        let (services, _) = services(&env, Path::new("/db"), 1 << 20);
        body(env, services);
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Writes a run of `count` entries; its bytes.
fn write(env: &Env, services: &Arc<Services>, count: u64, block_bytes: usize) -> (FileId, Vec<u8>) {
    let files = RunFiles { index: INDEX, env: env.clone(), services: services.clone(), block_bytes };
    let mut writer = files.create(FilterShape::default()).unwrap();
    let mut entries: Vec<EntryBytes> = (0..count).map(|n| (value(n % 40), key(n))).collect();
    entries.sort();
    for (n, (value, key)) in entries.iter().enumerate() {
        writer.push(&[&value[..], key].concat(), value.len(), Timestamp(10 + n as u64 % 5)).unwrap();
    }
    let run = writer.finish().unwrap();
    let file = services.files.path(INDEX, run.file);
    let file = env.fs.open(&file, OpenMode::Read).unwrap();
    let mut bytes = vec![0; run.file_bytes as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    (run.file, bytes)
}

/// Reads everything that a run has.
fn read(env: &Env, services: &Arc<Services>, file: FileId, bytes: Vec<u8>) -> Result<u64> {
    let data = services.files.of_bytes(INDEX, file, Arc::new(Bytes(bytes)));
    let run = Arc::new(Run::new(env, services, INDEX, data)?);
    for segment in 0..run.footer.segments.len() {
        run.segment(segment, false)?;
    }
    let span = Arc::new(super::super::entry::Span::default());
    let mut scan = super::super::run_scan::RunScan::new(run, span, Direction::Forward, false);
    let mut count = 0;
    while scan.advance()? {
        count += 1;
    }
    Ok(count)
}

#[test]
fn every_flipped_byte_and_every_cut_is_noticed() {
    in_simulation(|env, services| {
        let (file, bytes) = write(&env, &services, 400, 256);
        assert_eq!(read(&env, &services, file, bytes.clone()).unwrap(), 400);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let error = read(&env, &services, file, flipped).expect_err("a flipped byte is noticed");
            assert!(matches!(error.code(), Code::DataCorrupted | Code::VersionMismatch), "byte {at}: {error}");
        }
        for len in (0..bytes.len()).step_by(7) {
            assert!(read(&env, &services, file, bytes[..len].to_vec()).is_err(), "cut to {len} bytes");
        }
        assert!(read(&env, &services, FileId(file.0 + 1), bytes).is_err(), "another file's bytes");
    });
}

#[test]
fn on_disk_constants() {
    assert_eq!((MAGIC, END_MAGIC, FORMAT_VERSION), (*b"WEFTINDX", *b"IEND", 1));
    assert_eq!((HEADER_BYTES, TRAILER_BYTES), (64, 32));
    in_simulation(|env, services| {
        let (_, bytes) = write(&env, &services, 3, 256);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, EXPECTED, "docs/format/index-run.md describes these bytes");
    });
}

/// A file of three entries.
const EXPECTED: &str = "\
    57454654494e4458010040000500000001000000000000001000000010000000000000000000000000000000000000000000\
    00000000000000000000a6e0c5900a0000000000000000090500303030000080000000001410023238337878787878787878\
    7878780000800000020108050439340000800000010800000001000000080040026000080000050040000021101002200001\
    8800000100088000081000030000000000000003000000000000000a000000000000000c0000000000000000000000000000\
    000a0000000500000009000000303030000080000000050000000900000032393400008000000101000000410000008dabf6\
    b3030000000000000020000000e0faa344a1000000000000006a0000003f48fd43010000000000000052136d0149454e44";

#[test]
fn check_names_damage_and_reads_of_it_are_errors() {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(2)));
    let machine = simulation.clone();
    let end = simulation.run(move |env| {
        let model = Arc::new(Mutex::new(Model::default()));
        let world = open(&env, Path::new("/db"), small(), &model);
        world.commit(|store, ts| (0..100).for_each(|n| store.add(&value(n), &key(n), ts)));
        world.store.freeze();
        world.run_jobs();
        let name = env.fs.list(Path::new("/db")).unwrap().into_iter().find(|name| name.ends_with(".data")).unwrap();
        machine.faults().damage(&Path::new("/db").join(&name), 8 * 100).unwrap();
        let wrong = world.store.check().unwrap();
        assert!(wrong.len() == 1 && wrong[0].contains("fails its checksum"), "{wrong:?}");
        let mut cursor = world.store.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
        let error = cursor.next().expect_err("a damaged block became an answer");
        assert_eq!(error.code(), Code::DataCorrupted, "{error}");
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn long_values_take_their_own_blocks() {
    in_simulation(|env, services| {
        let files = RunFiles { index: INDEX, env: env.clone(), services, block_bytes: 256 };
        let mut writer = files.create(FilterShape::default()).unwrap();
        for n in 0..40u8 {
            let bytes = [vec![b'v'; 3000], vec![n, 0, 0]].concat();
            writer.push(&bytes, bytes.len(), Timestamp(1)).unwrap();
        }
        let run = Arc::new(writer.finish().unwrap());
        assert_eq!((run.footer.blocks.len(), run.footer.segments.len(), run.footer.value_count), (40, 3, 40));
        let span = |n: u8| super::super::entry::Span { low: [vec![b'v'; 3000], vec![n]].concat(), high: None };
        for n in 0..40 {
            let scan = super::super::run_scan::RunScan::new;
            let mut scan = scan(run.clone(), Arc::new(span(n)), Direction::Forward, true);
            assert!(scan.advance().unwrap());
            assert_eq!(scan.current().bytes[3000], n);
        }
    });
}
