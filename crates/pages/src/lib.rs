//! Gives pages of the running program back to the system: code and constants that the start used
//! and that nothing may use again. This is the only place with `unsafe` code.

use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

/// Gives back all pages of the program's file that are as they are in the file, and returns their
/// size in bytes. A page that is used again is mapped again, mostly from the page cache
/// (`MADV_DONTNEED`, madvise(2)).
///
/// # Errors
/// `/proc/self` cannot be read.
pub fn give_back() -> Result<u64, String> {
    let error = |error: procfs::ProcError| error.to_string();
    let process = Process::myself().map_err(error)?;
    let program = process.exe().map_err(error)?;
    let maps = process.smaps().map_err(error)?;
    let own = maps.iter().filter(|map| matches!(&map.pathname, MMapPath::Path(path) if *path == program));
    Ok(own.filter(|map| is_as_in_file(map)).filter(|map| let_go(map)).map(|map| resident(map, "Rss")).sum())
}

/// Whether nothing can write into the mapping, and it has no page that differs from the file.
fn is_as_in_file(map: &MemoryMap) -> bool {
    let is_written = map.perms.contains(MMPermissions::WRITE) || map.extension.map.get("Anonymous") != Some(&0);
    !is_written && map.perms.contains(MMPermissions::PRIVATE)
}

fn resident(map: &MemoryMap, field: &str) -> u64 {
    map.extension.map.get(field).copied().unwrap_or_default()
}

#[expect(unsafe_code, reason = "the system call changes what memory contains, where it is not as in the file")]
fn let_go(map: &MemoryMap) -> bool {
    let (start, end) = map.address;
    let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(end - start)) else { return false };
    let address = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: The mapping is private, read-only and without a page of its own, so each page is
    // mapped again with the same content: that of the file. The mapping lasts as long as the
    // process, because it is that of the program.
    unsafe { rustix::mm::madvise(address, length, rustix::mm::Advice::LinuxDontNeed) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_program(field: &str) -> u64 {
        let process = Process::myself().unwrap();
        let program = process.exe().unwrap();
        let maps = process.smaps().unwrap();
        let own = maps.iter().filter(|map| matches!(&map.pathname, MMapPath::Path(path) if *path == program));
        own.map(|map| resident(map, field)).sum()
    }

    #[test]
    fn what_is_as_in_the_file_is_given_back_and_works_on() {
        static WRITTEN: std::sync::Mutex<[u8; 8192]> = std::sync::Mutex::new([7; 8192]);
        WRITTEN.lock().unwrap()[4096] = 9;
        let (before, own) = (of_program("Rss"), of_program("Anonymous"));
        let given = give_back().unwrap();
        let after = of_program("Rss");
        assert!(given > 0 && after < before, "{before} {given} {after}");
        assert_eq!(of_program("Anonymous"), own, "relocated and written pages stay");
        let written = WRITTEN.lock().unwrap();
        assert_eq!((written[4095], written[4096], written[8191]), (7, 9, 7));
    }
}
