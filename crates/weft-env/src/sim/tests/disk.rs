use std::io::ErrorKind;

use super::*;

#[test]
fn files_behave_like_files() {
    finish(&simulation(1), |env| {
        let fs = &env.fs;
        assert_eq!(fs.open(Path::new("no/f"), OpenMode::CreateNew).err().unwrap().kind(), ErrorKind::NotFound);
        fs.create_dir_all(Path::new("db/log")).unwrap();
        let file = create(&env, "db/log/1");
        assert_eq!(
            fs.open(Path::new("db/./log//1"), OpenMode::CreateNew).err().unwrap().kind(),
            ErrorKind::AlreadyExists
        );
        file.write_at(&[7; 5000], 3000).unwrap();
        file.set_len(6000).unwrap();
        file.set_len(9000).unwrap();
        let bytes = content(&env, "db/log/1").unwrap();
        assert!(bytes[..3000].iter().all(|b| *b == 0) && bytes[3000..6000].iter().all(|b| *b == 7));
        assert!(bytes.len() == 9000 && bytes[6000..].iter().all(|b| *b == 0));
        assert_eq!(file.read_at(&mut [0; 10], 9000).unwrap(), 0);
        create(&env, "db/b");
        create(&env, "db/a");
        assert_eq!(fs.list(Path::new("db")).unwrap(), ["a", "b", "log"]);
        fs.rename(Path::new("db/a"), Path::new("db/b")).unwrap();
        fs.remove(Path::new("db/log/1")).unwrap();
        assert_eq!(fs.list(Path::new("db")).unwrap(), ["b", "log"]);
        assert_eq!(file.len().unwrap(), 9000, "an open file outlives its name");
        let read_only = fs.open(Path::new("db/b"), OpenMode::Read).unwrap();
        assert_eq!(read_only.write_at(b"x", 0).unwrap_err().kind(), ErrorKind::PermissionDenied);
    });
}

#[test]
fn locks_conflict_and_die_with_the_process() {
    let simulation = simulation(1);
    finish(&simulation, |env| {
        let held = env.fs.lock(Path::new("LOCK"), "first").unwrap();
        let error = env.fs.lock(Path::new("LOCK"), "second").err().unwrap();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::WouldBlock, "first"));
        drop(held);
        std::mem::forget(env.fs.lock(Path::new("LOCK"), "third").unwrap());
    });
    finish(&simulation, |env| {
        env.fs.lock(Path::new("LOCK"), "fourth").unwrap();
        assert_eq!(content(&env, "LOCK").unwrap(), b"fourth");
    });
}

#[test]
fn handles_end_with_their_process() {
    let simulation = simulation(1);
    let kept = Arc::new(crate::sync::Mutex::new(None));
    let shared = Arc::clone(&kept);
    finish(&simulation, move |env| *shared.lock() = Some(create(&env, "f")));
    let file = kept.lock().take().unwrap();
    assert!(file.write_at(b"late", 0).is_err() && file.len().is_err() && file.sync_data().is_err());
    drop(file);
    assert_eq!(content(&simulation.env(), "f").unwrap(), b"", "an end without a crash keeps unsynced names");
}

#[test]
fn a_failed_sync_loses_writes_for_good() {
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..100 {
        let simulation = simulation(seed);
        simulation.faults().fail_sync("f", 2);
        finish(&simulation, |env| {
            let file = durable_file(&env, &[1; 512]);
            file.write_at(&[2; 512], 0).unwrap();
            assert!(file.sync_data().is_err());
            file.write_at(&[3; 512], 512).unwrap();
            file.sync_data().unwrap();
            assert_eq!(content(&env, "f").unwrap()[..512], [2; 512], "reads still see it");
        });
        simulation.power_off();
        let bytes = content(&simulation.env(), "f").unwrap();
        assert_eq!(bytes[512..], [3; 512], "what a later sync covered is durable");
        match bytes[0] {
            1 => lost += 1,
            2 => kept += 1,
            other => panic!("{other} was never written there"),
        }
    }
    assert!(lost > 10 && kept > 10, "lost {lost}, kept {kept}");
}

#[test]
fn a_full_disk_fails_writes_until_space_is_freed() {
    let simulation = Simulation::new(SimOptions { disk_capacity_bytes: Some(5 * 4096), ..SimOptions::seeded(1) });
    finish(&simulation, |env| {
        let file = create(&env, "f");
        file.write_at(&[1; 3 * 4096], 0).unwrap();
        let other = create(&env, "g");
        other.write_at(&[2; 4096], 0).unwrap();
        let error = file.write_at(&[1; 3 * 4096], 3 * 4096).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!([3, 4].contains(&(file.len().unwrap() / 4096)), "nothing or a prefix");
        file.write_at(&[4; 3 * 4096], 0).unwrap();
        file.set_len(3 * 4096).unwrap();
        drop(other);
        env.fs.remove(Path::new("g")).unwrap();
        file.write_at(&[1; 2 * 4096], 3 * 4096).unwrap();
        file.write_at(&[1], 5 * 4096).unwrap_err();
    });
}

#[test]
fn the_space_of_a_removed_file_is_free_when_it_is_closed() {
    let simulation = simulation(1);
    let faults = simulation.faults();
    let env = simulation.env();
    let file = create(&env, "f");
    file.write_at(&[1; 8192], 0).unwrap();
    assert_eq!(faults.used_bytes(), 8192);
    faults.fill_disk();
    assert!(file.write_at(&[1], 8192).is_err());
    env.fs.remove(Path::new("f")).unwrap();
    assert_eq!(faults.used_bytes(), 8192);
    drop(file);
    assert_eq!(faults.used_bytes(), 0);
    create(&env, "g").write_at(&[1; 8192], 0).unwrap();
    faults.set_capacity(None);
    create(&env, "h").write_at(&[1; 81920], 0).unwrap();
}

#[test]
fn reads_can_be_damaged() {
    let simulation = simulation(1);
    finish(&simulation, |env| drop(durable_file(&env, &[0; 100])));
    simulation.faults().flip_bits("f", 1);
    let env = simulation.env();
    let ones = |bytes: Vec<u8>| bytes.iter().map(|b| b.count_ones()).sum::<u32>();
    assert_eq!(ones(content(&env, "f").unwrap()), 1);
    assert_eq!(ones(content(&env, "f").unwrap()), 0, "the disk itself is fine");
    simulation.faults().fail_reads("f", 1);
    let file = env.fs.open(Path::new("f"), OpenMode::Read).unwrap();
    assert!(file.read_at(&mut [0; 1], 0).is_err() && file.read_at(&mut [0; 1], 0).is_ok());
    simulation.faults().damage(Path::new("f"), 13).unwrap();
    simulation.power_off();
    assert_eq!(content(&env, "f").unwrap()[1], 1 << 5);
}

#[test]
fn an_operation_can_fail_without_effect() {
    let simulation = simulation(1);
    simulation.faults().fail_operation(2);
    finish(&simulation, |env| {
        let file = create(&env, "f");
        assert!(file.write_at(b"x", 0).is_err());
        assert!(file.is_empty().unwrap());
        file.write_at(b"x", 0).unwrap();
    });
    simulation.faults().fail_sync_dir("", 1);
    finish(&simulation, |env| assert!(env.fs.sync_dir(Path::new("")).is_err()));
    assert_eq!(simulation.operation_count(), 4);
}
