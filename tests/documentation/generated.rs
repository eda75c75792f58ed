//! Generated pages are those in the repository.

use ingressd_translate::{ANNOTATIONS, admission, annotation};

use super::pages::root;

fn check(path: &str, generated: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, generated).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == generated, "{path} is stale: run `make generate` and commit the difference");
}

/// The part of a page between two marks.
fn section(path: &str, name: &str, generated: &str) {
    let page = std::fs::read_to_string(root().join(path)).unwrap();
    let (begin, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->\n"));
    let (before, rest) = page.split_once(&begin).expect("the mark before it");
    let (_, after) = rest.split_once(&end).expect("the mark behind it");
    check(path, &[before, &begin, generated, &end, after].concat());
}

#[test]
fn findings_are_documented() {
    check("docs/findings.md", &ingressd_model::finding::document());
}

#[test]
fn settings_are_documented() {
    check("docs/settings.md", &ingressd_config::reference());
}

#[test]
fn keys_of_the_config_map_are_documented() {
    check("docs/configmap.md", &ingressd_config::config_map_reference());
}

#[test]
fn what_differs_from_ingress_nginx_is_documented() {
    check("docs/ingress-nginx.md", &ingressd_migrate::document());
}

#[test]
fn annotations_are_documented() {
    check("docs/annotations.md", &annotation::document(&ANNOTATIONS));
    check("man/ingressd-annotations.7", &annotation::manual(&ANNOTATIONS));
    section("README.md", "annotations", &annotation::summary(&ANNOTATIONS));
}

#[test]
fn fields_of_the_log_and_kinds_of_complaints_are_documented() {
    let rows = ingressd_model::JSON_FIELDS.iter().map(|field| {
        let kind = if field.is_number { "number" } else { "text" };
        format!("| `{}` | {kind} | {} |\n", field.name, field.about)
    });
    let fields = format!("| field | | what it is |\n| --- | --- | --- |\n{}", rows.collect::<String>());
    section("docs/logs.md", "fields", &fields);
    let rows = ingressd::daemon::ERROR_KINDS.iter().map(|kind| format!("| `{}` | {} |\n", kind.name, kind.about));
    section("docs/logs.md", "kinds", &format!("| kind | what it is |\n| --- | --- |\n{}", rows.collect::<String>()));
}

#[test]
fn policies_are_documented() {
    section("docs/admission.md", "policies", &admission::policies());
    section("docs/admission.md", "not judged", &admission::not_judged());
}

#[test]
fn checks_of_the_doctor_are_documented() {
    check("docs/doctor.md", &ingressd::doctor::document());
}

#[test]
fn the_json_of_commands_is_documented() {
    check("docs/json.md", &ingressd::cli::schema::page());
}

#[test]
fn snippets_are_documented() {
    section("docs/snippets.md", "snippets", &ingressd_translate::snippet_directives());
    section("docs/snippets.md", "variables of snippets", &ingressd_translate::snippet_variables());
}

#[test]
fn headers_are_documented() {
    section("docs/security-review.md", "headers", &ingressd_nginx::render::headers::document());
}
