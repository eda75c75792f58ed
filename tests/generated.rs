//! What is generated from tables is committed; these tests fail when a copy is stale, and UPDATE=1
//! writes it again.

use std::path::Path;

use clap_complete::Shell;
use ingressd::cli::generate;
use ingressd::daemon::access;
use ingressd_nginx::render::headers;

fn check(path: &str, expected: &[u8]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        let folder = file.parent().expect("the path has a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(&file, expected).expect("the file can be written");
    }
    let committed = std::fs::read(&file).unwrap_or_default();
    assert!(committed == expected, "{path} is stale: run `make generate` and commit the difference");
}

#[test]
fn settings_sample() {
    check("etc/ingressd.toml", ingressd_config::sample().as_bytes());
}

/// The table of bounds within the page for reviewers of security: key, default and the first
/// sentence about it.
#[test]
fn bounds_on_the_page_for_reviewers_of_security() {
    let (path, begins, ends) = ("docs/security-review.md", "<!-- limits -->\n", "<!-- end of limits -->");
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the page is there");
    let (before, rest) = page.split_once(begins).expect("the table begins somewhere");
    let (_, after) = rest.split_once(ends).expect("the table ends somewhere");
    let rows = ingressd_config::rows().filter(|row| row.section() == "limits").map(|row| {
        let sentence = row.doc.split_once(". ").map_or(row.doc, |(first, _)| first);
        format!("| `{}` | {} | {} |\n", row.key, row.default, sentence.trim_end_matches('.'))
    });
    let table = rows.collect::<String>();
    assert!(table.contains("namespace-routes"), "the settings were not found");
    let head = "| setting | default | what it bounds |\n| --- | --- | --- |\n";
    check(path, format!("{before}{begins}{head}{table}{ends}{after}").as_bytes());
}

#[test]
fn template_of_what_trusted_proxies_say() {
    check("crates/nginx/templates/trusted.hbs", headers::trusted().as_bytes());
}

#[test]
fn access_to_the_cluster() {
    check("packaging/rbac/ingressd.yaml", access::manifests().as_bytes());
}

#[test]
fn manual_of_settings() {
    check("man/ingressd.toml.5", ingressd_config::manual().as_bytes());
}

#[test]
fn manuals_of_commands() {
    let pages = generate::man_pages();
    assert!(
        pages.iter().any(|(name, _)| name == "ingressd-run.8"),
        "{:?}",
        pages.iter().map(|page| &page.0).collect::<Vec<_>>()
    );
    for (name, page) in pages {
        check(&format!("man/{name}"), &page);
    }
}

#[test]
fn completions() {
    check("man/completions/ingressd.bash", &generate::completions(Shell::Bash));
    check("man/completions/_ingressd", &generate::completions(Shell::Zsh));
    check("man/completions/ingressd.fish", &generate::completions(Shell::Fish));
}
