//! The packages as files, checked by the tools of the distributions.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::packages;

/// The highest version of glibc that may be asked for: the one of RHEL 9. Debian 12 has 2.36.
const GLIBC: (u32, u32) = (2, 34);

/// The most that `systemd-analyze security` may say of the units, in tenths.
const EXPOSURE: u32 = 25;

/// Runs a program to its end, which has to be good, and returns all that it prints.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}: run `make test-packages`"));
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}", output.status);
    text.into_owned()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The files of the .deb, unpacked.
fn unpacked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    run("dpkg-deb", &["--extract", path(&packages::deb()), path(folder.path())]);
    folder
}

#[test]
fn lintian_finds_no_error() {
    run("lintian", &["--fail-on", "error", "--allow-root", path(&packages::deb())]);
}

/// `make boot-packages` names both.
#[test]
fn packages_name_who_made_them() {
    let of_deb = |field: &str| run("dpkg-deb", &["--field", path(&packages::deb()), field]);
    let of_rpm = |field: &str| {
        run("rpm", &["--query", "--package", "--queryformat", &format!("%{{{field}}}"), path(&packages::rpm())])
    };
    for contact in [of_deb("Maintainer").trim(), &*of_rpm("VENDOR")] {
        assert_eq!(contact, "Tests of packages <tests@packages.invalid>");
    }
    for homepage in [of_deb("Homepage").trim(), &*of_rpm("URL")] {
        assert_eq!(homepage, "https://packages.invalid/ingressd");
    }
}

#[test]
fn the_rpm_has_what_the_deb_has() {
    let listed = run("rpm", &["--query", "--package", "--list", path(&packages::rpm())]);
    let mut of_rpm = Vec::from_iter(listed.lines().map(ToOwned::to_owned));
    let listed = run("dpkg-deb", &["--contents", path(&packages::deb())]);
    let files = listed.lines().filter(|line| line.starts_with('-'));
    let names = files.map(|line| line.split_whitespace().last().unwrap().trim_start_matches('.').to_owned());
    let only_debian = [
        "/usr/share/lintian/overrides/ingressd",
        "/usr/share/doc/ingressd/changelog.Debian.gz",
        "/etc/nginx/conf.d/ingressd.conf",
    ];
    let mut of_deb = Vec::from_iter(
        names
            .filter(|name| !only_debian.contains(&name.as_str()))
            .map(|name| name.replace("/zsh/vendor-completions/", "/zsh/site-functions/")),
    );
    of_rpm.sort();
    of_deb.sort();
    assert_eq!(of_rpm, of_deb);
}

#[test]
fn the_rpm_can_be_read_and_installed() {
    let rpm = packages::rpm();
    run("rpm", &["--checksig", "--nosignature", path(&rpm)]);
    let query = |what: &[&str]| run("rpm", &[&["--query", "--package"], what, &[path(&rpm)]].concat());
    let requires = query(&["--requires"]);
    assert!(requires.contains("nginx >= 1.18") && requires.contains("libc.so.6(GLIBC_2.34)(64bit)"), "{requires}");
    assert!(query(&["--recommends"]).contains("nginx-mod-stream"));
    assert_eq!(query(&["--configfiles"]), "/etc/ingressd/ingressd.toml\n");
    let scripts = query(&["--scripts"]);
    assert!(!scripts.contains("nginx -s") && !scripts.contains("nginx.service"), "nginx is left alone: {scripts}");

    // The package is installed into a root of its own, without its dependencies and without its
    // scripts, which need a system around them: see erasing.rs.
    let root = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        run("rpm", &[&["--root", path(root.path()), "--nodeps", "--noscripts", "--nosignature"], arguments].concat())
    };
    command(&["--install", path(&rpm)]);
    assert_eq!(command(&["--verify", "ingressd"]), "", "files, modes and owners are those of the package");
    let file = root.path().join("etc/ingressd/ingressd.toml");
    std::fs::write(&file, "# ours\n").unwrap();
    command(&["--install", "--replacepkgs", path(&rpm)]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# ours\n", "what was changed stays");
    command(&["--erase", "ingressd"]);
    assert!(!root.path().join("usr/sbin/ingressd").exists());
}

#[test]
fn scripts_are_read_by_the_plainest_shell() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging");
    let scripts = [
        "back-off",
        "before-removal",
        "build",
        "checksums",
        "compile",
        "glibc",
        "manifest",
        "reproducible",
        "tools",
        "../src/setup/undo.sh",
        "../tests/deny",
    ]
    .map(|name| folder.join(name))
    .into_iter();
    let maintainers = ["debian/postinst", "debian/prerm", "debian/postrm", "rpm/post", "rpm/preun", "rpm/postun"];
    for script in scripts.chain(maintainers.map(|name| folder.join(name))) {
        run("dash", &["-n", path(&script)]);
    }
}

#[test]
fn the_binary_runs_where_glibc_is_old() {
    let root = unpacked();
    let bytes = std::fs::read(root.path().join("usr/sbin/ingressd")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next()?;
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        Some((numbers.next()?, numbers.next()?))
    });
    let newest = versions.max().expect("it asks for some version");
    assert!(newest <= GLIBC, "{newest:?}: say so in the dependencies of both packages");
}

#[test]
fn manual_pages_are_rendered_without_a_warning() {
    let root = unpacked();
    let manual = root.path().join("usr/share/man");
    let mut pages = Vec::new();
    for section in ["man5", "man7", "man8"] {
        pages.extend(std::fs::read_dir(manual.join(section)).unwrap().map(|entry| entry.unwrap().path()));
    }
    assert!(pages.len() > 8, "{pages:?}");
    for page in pages {
        let output = Command::new("man")
            .args(["--warnings", "--encoding=UTF-8", "--local-file", "--ditroff"])
            .arg(&page)
            .env("MANWIDTH", "80")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && warnings.is_empty(), "{}: {warnings}", page.display());
        assert!(output.stdout.len() > 100, "{} is empty", page.display());
    }
}

#[test]
fn units_are_right_and_leave_little_open() {
    let root = unpacked();
    let root = path(root.path());
    // Programs and pages that the units name have to exist; the rest of a system does not.
    std::fs::create_dir_all(format!("{root}/bin")).unwrap();
    std::fs::copy("/bin/kill", format!("{root}/bin/kill")).unwrap();
    for unit in ["ingressd.service", "ingressd@.service"] {
        let file = PathBuf::from(format!("{root}/usr/lib/systemd/system/{unit}"));
        assert!(file.exists(), "{unit}");
        let threshold = format!("--threshold={EXPOSURE}");
        run("systemd-analyze", &["security", "--no-pager", "--offline=true", &threshold, path(&file)]);
    }
}
