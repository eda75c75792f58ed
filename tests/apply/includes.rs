//! Which files the argument of an `include` names: nginx itself says it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ingressd_apply::{Survey, included};
use ingressd_model::Instance;
use ingressd_nginx::syntax::quoted;

use crate::nginx::Nginx;

/// Names that the rules treat differently; all of them may stand in one folder.
const FILES: [&str; 20] = [
    "a.conf",
    "b.conf",
    "z.conf",
    "Z.conf",
    "7.conf",
    "é.conf",
    ".hidden.conf",
    "..twice.conf",
    "#a.conf#",
    "a.conf~",
    "^.conf",
    "!.conf",
    "-.conf",
    "].conf",
    "[x].conf",
    "a[b.conf",
    "back\\slash.conf",
    "star*.conf",
    "../nested/sub/x.conf",
    "../nested/sub-a/x.conf",
];

/// All begin in the folder of these files.
const PATTERNS: [&str; 39] = [
    "a.conf",
    ".hidden.conf",
    "*",
    "*.conf",
    "?.conf",
    "??conf",
    ".h*",
    "..t*",
    "\\.h*",
    "[.]h*",
    "?hidden.conf",
    "[^.#]*",
    "[!.#]*",
    "[^a-z]*",
    "[a-b].conf",
    "[b-a].conf",
    "[-b]*",
    "[b-]*",
    "[]]*",
    "[^]]*",
    "[]a]*",
    "[[]x].conf",
    "\\[x\\].conf",
    "[\\^!]*",
    "[a\\]]*",
    "[\\a-\\b].conf",
    "a[b*",
    "a[b.con?",
    "a\\[b.con?",
    "[[:digit:]]*",
    "[[:upper:][:digit:]]*",
    "[![:alnum:]]*",
    "back\\\\slash.*",
    "back\\slash.*",
    "star\\*.conf",
    "*\\*.conf",
    "../nested/*/x.conf",
    "../nested/s\\ub*/*.conf",
    "none*",
];

#[test]
fn an_include_names_the_files_that_nginx_reads() {
    let folder = tempfile::tempdir().unwrap();
    let sites = folder.path().join("sites");
    for file in FILES.map(|name| sites.join(name)) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "# nothing\n").unwrap();
    }
    let mut names = 0;
    for pattern in PATTERNS.map(|pattern| sites.join(pattern)) {
        let found = included(&pattern).unwrap();
        let expected = read(folder.path(), &pattern);
        assert_eq!(found, expected, "{}", pattern.display());
        names += found.len();
    }
    assert!(names > 100, "{names} files were found");
}

/// The files that nginx reads for a pattern, in its order.
fn read(folder: &Path, pattern: &Path) -> Vec<PathBuf> {
    let main = folder.join("nginx.conf");
    let word = quoted(pattern.to_str().unwrap());
    fs::write(&main, format!("pid {}/pid;\nevents {{}}\ninclude {word};\n", folder.display())).unwrap();
    let output = Command::new("/usr/sbin/nginx").args(["-T", "-e", "stderr", "-c"]).arg(&main).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let files = text.lines().filter_map(|line| line.strip_prefix("# configuration file ")?.strip_suffix(':'));
    assert!(output.status.success(), "{}: {}", pattern.display(), String::from_utf8_lossy(&output.stderr));
    files.skip(1).map(PathBuf::from).collect()
}

/// What an editor leaves beside a site is none, and what nginx reads by `[^.#]*` is one.
#[test]
fn sites_are_those_that_nginx_has() {
    let nginx = Nginx::prepared();
    fs::create_dir(nginx.path("sites")).unwrap();
    for (name, host) in [("shop", "shop.example"), (".shop.swp", "kept.example"), ("#shop#", "other.example")] {
        fs::write(nginx.path("sites").join(name), format!("server {{ listen 80; server_name {host}; }}")).unwrap();
    }
    for (pattern, expected) in [("*", &["other.example", "shop.example"][..]), ("[^.#]*", &["shop.example"])] {
        nginx.write_configuration(&format!("include sites/{pattern};"));
        let (main, own) = (nginx.path("nginx.conf"), nginx.path("ingressd"));
        let survey = Survey::of("/usr/sbin/nginx".as_ref(), Some(&main), None, &own, &Instance::default()).unwrap();
        let names: Vec<_> = survey.other_sites.server_names.into_iter().map(|site| site.name).collect();
        assert_eq!(names, expected, "{pattern}");
    }
}
