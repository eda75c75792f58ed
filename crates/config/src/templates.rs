//! Reads the folder of templates that replace the program's own.
//!
//! The folder is read with the settings: settings that stay in force keep the texts that they were
//! loaded with.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use ingressd_nginx::render::Templates;

/// The ending of their names.
const ENDING: &str = ".hbs";

/// The largest text in bytes: twenty times the longest of the program's own.
const LARGEST: u64 = 64 * 1024;

/// Reads and checks the templates in a folder, or returns all mistakes with path and remedy.
pub(super) fn read(folder: &Path) -> Result<Templates, Vec<String>> {
    let unreadable = |error: std::io::Error| {
        vec![format!("{} cannot be read: {error}; make it a readable folder, or leave the key empty", folder.display())]
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        files.push(entry.map_err(unreadable)?.path());
    }
    files.sort();
    let known = Templates::names();
    let (mut texts, mut wrong) = (BTreeMap::new(), Vec::new());
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Temporary files of editors begin with a dot or have another ending.
        let Some(stem) = name.strip_suffix(ENDING).filter(|_| !name.starts_with('.')) else { continue };
        match known.iter().find(|known| **known == stem) {
            None => wrong.push(format!(
                "{}: there is no template of this name; rename or remove it. There are: {}",
                path.display(),
                known.join(", ")
            )),
            Some(name) => match text(path) {
                Ok(text) => drop(texts.insert(*name, text)),
                Err(why) => wrong.push(format!("{}: {why}", path.display())),
            },
        }
    }
    let proven = Templates::of(texts).map_err(|unfit| {
        unfit.into_iter().map(|unfit| {
            let path = folder.join(format!("{}{ENDING}", unfit.template));
            let line = unfit.line.map(|line| format!("{line}: ")).unwrap_or_else(|| " ".to_owned());
            format!("{}:{line}{}", path.display(), unfit.words)
        })
    });
    match proven {
        Ok(templates) if wrong.is_empty() => Ok(templates),
        Ok(_) => Err(wrong),
        Err(unfit) => Err(wrong.into_iter().chain(unfit).collect()),
    }
}

fn text(path: &Path) -> Result<String, String> {
    // Reading a pipe or a device could block for ever.
    let is_file =
        fs::metadata(path).map_err(|error| format!("it cannot be read: {error}; make it readable or remove it"))?;
    if !is_file.is_file() {
        return Err("it is no file; remove it".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("it cannot be read: {error}; make it readable or remove it"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST) {
        return Err(format!("it has more than {LARGEST} bytes; shorten it"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8; save it as UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn wrong(files: &[(&str, &[u8])]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let wrong = read(folder.path()).map(|_| ()).err().unwrap_or_default();
        wrong.iter().map(|why| why.replace(&format!("{}/", folder.path().display()), "")).collect()
    }

    #[test]
    fn what_is_no_template_is_ignored_and_what_should_be_one_is_named() {
        let ignored: [(&str, &[u8]); 5] = [
            ("README", b"{{"),
            ("location.hbs~", b"{{"),
            (".location.hbs.swp", b"\xff"),
            (".#location.hbs", b"{{"),
            ("backend.hbs", b"    {{host}} {{upstream}};\n"),
        ];
        assert_eq!(wrong(&ignored), [""; 0]);
        let rows: [(&str, &[u8], &str); 6] = [
            (
                "locations.hbs",
                b"",
                "locations.hbs: there is no template of this name; rename or remove it. There are: backend, ",
            ),
            ("backend.hbs", b"\n\xff", "backend.hbs: line 2 is not UTF-8"),
            ("backend.hbs", b"{{host}} {{upstream}};\n\"{{host}}\" a;\n", "backend.hbs:2: host stands for itself"),
            ("backend.hbs", b"{{host}} a;\n", "backend.hbs: it does not use upstream"),
            ("backend.hbs", b"{{host}} {{upstream", "backend.hbs:1: it is no template"),
            ("strict_paths.hbs", b"{{> strict_paths}}\n", "strict_paths.hbs:1: there is no partial strict_paths here"),
        ];
        for (name, text, words) in rows {
            let wrong = wrong(&[(name, text)]);
            assert!(wrong.len() == 1 && wrong[0].starts_with(words), "{wrong:?} without {words}");
        }
        let all = wrong(&[("backend.hbs", b"{{"), ("upstream.hbs", b"\xff"), ("x.hbs", b"")]);
        assert_eq!(all.len(), 3, "{all:?}");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert!(read(&missing).is_err_and(|wrong| wrong[0].contains("missing cannot be read: No such file")));
        let file = folder.path().join("upstream.hbs");
        for (make, words) in [
            ((|file| fs::create_dir(file).unwrap()) as fn(&Path), "it is no file"),
            (|file| symlink("nowhere", file).unwrap(), "it cannot be read: No such file"),
            (|file| nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRUSR).unwrap(), "it is no file"),
            (|file| fs::write(file, "#".repeat(64 * 1024 + 1)).unwrap(), "more than 65536 bytes"),
        ] {
            make(&file);
            let wrong = read(folder.path()).expect_err(words);
            assert!(wrong[0].contains("upstream.hbs: ") && wrong[0].contains(words), "{wrong:?}");
            fs::remove_file(&file).or_else(|_| fs::remove_dir(&file)).unwrap();
        }
    }
}
