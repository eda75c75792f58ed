//! A second, very small dialect: its keys are read like those of ingress-nginx.

use std::time::Duration;

use super::{options, translate};
use crate::annotation::{
    self, Family, Form, Gives, Index, OnError, Row, Scope, Table, nothing_to_finish, put, unserved,
};
use crate::value::arguments::time;
use crate::value::{SECRET_REFERENCE, boolean, secret_reference};
use crate::{ClassRule, Options, SPECIFICATION, Translation};
use ingressd_model::finding::Reason;
use ingressd_model::{Argument, catalogue};

const NOT_JUDGED: Form = Form::NotJudged("no policy is made of this table");

static FAMILY: Family = Family {
    title: "Everything",
    rows: &[
        Row::new("expressions", NOT_JUDGED)
            .on_error(OnError::Refuse)
            .documentation("Paths are expressions.")
            .tries(&[("true", Gives::Sets("paths are regular expressions")), ("1.0", Gives::Refused("true or false"))])
            .part(|draft, entry| put(&mut draft.reading.use_regex, boolean(entry.value))),
        Row::new("patience", NOT_JUDGED)
            .documentation("Seconds until a backend has to have said something.")
            .tries(&[("7", Gives::Sets("proxy_read_timeout 7s;")), ("ages", Gives::Refused("number"))])
            .directive(&catalogue::PROXY_READ_TIMEOUT, time),
        Row::new("badge", Form::Text(&SECRET_REFERENCE))
            .documentation("The Secret with the badges of those who may come in.")
            .tries(&[("badges", Gives::Nothing), ("../badges", Gives::Refused("not the name of a Secret"))])
            .part(|_, entry| secret_reference(entry.value).map(|_| ())),
        Row::new("door", NOT_JUDGED)
            .scope(Scope::Listener)
            .documentation("The port to come in by.")
            .directive(&catalogue::PROXY_READ_TIMEOUT, time),
        unserved("teapot", "on", "Makes tea.", "no tea is made; ask for coffee").unless("off"),
    ],
    finish: nothing_to_finish,
};

static TINY: Table = Table {
    prefix: "tiny.example/",
    foreign: &["nginx.ingress.kubernetes.io/"],
    mistaken: &[],
    invented: &[],
    introduction: &["What tiny objects may ask for."],
    families: &[&FAMILY],
    index: Index::new(),
};

/// Settings in which objects of the class `ingressd` have the keys of the tiny dialect.
pub fn tiny() -> Options {
    let rule = ClassRule { annotations: &TINY, ..ClassRule::new("ingressd/nginx", &SPECIFICATION) };
    Options { classes: vec![rule], ..options() }
}

fn given(annotations: &str) -> Translation {
    let ingress = format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: a, namespace: default, uid: a, annotations: {annotations}}}\n\
         spec: {{ingressClassName: ingressd, rules: [{{host: a.example, http: {{paths: [{{path: /a, pathType: Prefix, backend: \
         {{service: {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}"
    );
    translate(&ingress, tiny())
}

#[test]
fn its_keys_have_their_effects_and_no_other_keys_have_any() {
    let translation = given("{tiny.example/patience: '7', tiny.example/teapot: 'off'}");
    assert_eq!(translation.findings, []);
    let directives = &translation.model.servers[0].routes[0].behaviour.directives;
    let [directive] = &directives[..] else { panic!("{directives:?}") };
    assert_eq!(directive.row, &catalogue::PROXY_READ_TIMEOUT);
    assert_eq!(directive.arguments, [Argument::Time(Duration::from_secs(7))]);

    for (annotations, reason, text) in [
        ("{tiny.example/patience: ages}", Reason::InvalidValue, "number"),
        // What no object decides is refused, whatever its value.
        ("{tiny.example/door: '7'}", Reason::InvalidValue, "about listeners, which only the administrator sets"),
        ("{tiny.example/teapot: 'on'}", Reason::UnsupportedAnnotation, "ask for coffee"),
        ("{tiny.example/patiense: '7'}", Reason::UnknownAnnotation, "did you mean tiny.example/patience?"),
        (
            "{nginx.ingress.kubernetes.io/proxy-read-timeout: '7'}",
            Reason::UnsupportedAnnotation,
            "use the prefix of tiny.",
        ),
        ("{tiny.example/expressions: '1.0'}", Reason::RefusedValue, "true or false"),
    ] {
        let translation = given(annotations);
        let reported: Vec<_> = translation.findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
        assert!(
            reported.iter().any(|(reported, note)| *reported == reason && note.contains(text)),
            "{annotations}: {reported:#?}"
        );
        let is_refused = !translation.refused.is_empty();
        assert_eq!(is_refused, reason == Reason::RefusedValue, "{annotations}");
        let routes = translation.model.servers.iter().flat_map(|server| &server.routes);
        assert!(routes.into_iter().all(|route| route.behaviour.directives.is_empty()), "{annotations}");
    }
}

#[test]
fn its_documentation_is_made_of_its_rows() {
    for page in [annotation::document(&TINY), annotation::manual(&TINY)] {
        for text in ["tiny.example/", "What tiny objects may ask for.", "Everything", "patience", "ask for coffee"] {
            assert!(page.to_lowercase().contains(&text.to_lowercase()), "{text}: {page}");
        }
        assert!(!page.contains("proxy-read-timeout"), "{page}");
    }
    assert!(annotation::summary(&TINY).starts_with("4 of the 5 annotations `tiny.example/*`\nare served"));
}
