//! An Event about an object, within the limits of the API.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::documentation::Documentation;
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Digest, Field, ObjectId, ObjectState};
use ingressd_objects::Snapshot;

/// The limits of the API, in bytes.
const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;
const LONGEST_NAME: usize = 200;

/// How many other names are tried; one digit tells them apart.
const MOST_NAMES: u32 = 9;

/// The namespace of Events about cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";

/// The reporting controller, by which our Events can be found.
const CONTROLLER: &str = "ingressd/nginx";

/// Something to report about an object of the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The name of the Event: equal on every node that reports the same, so that it is written
    /// once.
    pub name: String,
    /// Whether its type is `Warning`.
    pub warns: bool,
    pub reason: &'static str,
    /// The action: the field that the finding is about.
    pub action: String,
    /// The problem and its place in the object, its effect, and the remedy. `kubectl describe`
    /// shows the note without the action, beside the object and the reason.
    pub note: String,
    explained: Option<Reason>,
    /// The object that the Event is about.
    pub regarding: ObjectReference,
    /// Whether it cannot have been reported before: an existing Event of this name is about an
    /// earlier time.
    pub is_news: bool,
    /// How many names were taken by earlier Events.
    taken: u32,
}

impl Notice {
    /// The notice about a finding; `None` when that is not about an object of the cluster.
    /// `occurrence` counts from 0 how often the finding went away and came back.
    pub fn of_finding(finding: &Finding, snapshot: &Snapshot, occurrence: u32) -> Option<Self> {
        let field = match finding.origin.place() {
            field if field.is_empty() => "Object".to_owned(),
            field => field,
        };
        let reported = [finding.reason.row().name, &field, &finding.note, &occurrence.to_string()];
        Some(Notice {
            warns: finding.severity > Severity::Info,
            reason: finding.reason.row().name,
            action: cut(&field, LONGEST_WORD),
            note: place_and_note(finding),
            explained: Some(finding.reason),
            ..Notice::about(&finding.origin.object, snapshot.uid(&finding.origin.object), snapshot, &reported)?
        })
    }

    /// The notice that nginx serves this version of the object. `reported` distinguishes it from
    /// others: the version, the revision that the cluster has had since then at most, because a
    /// version that comes back is another change, and whether all routes are served.
    pub fn synced(state: &ObjectState, snapshot: &Snapshot, reported: &[&str], note: &str) -> Option<Self> {
        let reported: Vec<_> = std::iter::once("Synced").chain(reported.iter().copied()).collect();
        Some(Notice {
            warns: false,
            reason: "Synced",
            action: "Sync".to_owned(),
            note: note.to_owned(),
            ..Notice::about(&state.id, state.uid.as_deref(), snapshot, &reported)?
        })
    }

    fn about(id: &ObjectId, uid: Option<&str>, snapshot: &Snapshot, reported: &[&str]) -> Option<Self> {
        let regarding = reference(id, uid, snapshot)?;
        let parts = std::iter::once(regarding.uid.as_deref().unwrap_or_default()).chain(reported.iter().copied());
        let mark = Digest::of_all(parts.flat_map(|part| [part, "\0"])).hexadecimal(8);
        let readable = cut(&id.name, LONGEST_NAME);
        let name = format!("{}.{mark}", readable.trim_end_matches(['.', '-']));
        let (action, note) = (String::new(), String::new());
        Some(Notice {
            name,
            warns: false,
            reason: "",
            action,
            note,
            explained: None,
            regarding,
            is_news: false,
            taken: 0,
        })
    }

    /// Chooses another name when an earlier Event has this one; returns whether there was one
    /// left.
    pub fn rename(&mut self) -> bool {
        if !self.is_news || self.taken == MOST_NAMES {
            return false;
        }
        let base = self.name.len() - if self.taken == 0 { 0 } else { 2 };
        self.taken += 1;
        self.name.truncate(base);
        self.name.push_str(&format!(".{}", self.taken));
        true
    }

    /// The namespace of the Event.
    pub fn namespace(&self) -> &str {
        self.regarding.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    /// The Event object, reported by the node of this name.
    pub fn event(&self, node: &str, documentation: &Documentation, now: Timestamp) -> Event {
        let remedy = self.explained.and_then(|reason| reason.row().remedy()).map(|remedy| format!(" {remedy}"));
        let link = self.explained.and_then(|reason| documentation.link(reason)).map(|link| format!(" See {link}"));
        // A note that is too long is cut, but what to do and the link are not.
        let note = match remedy.into_iter().chain(link).collect::<String>() {
            end if end.is_empty() => cut(&self.note, LONGEST_NOTE),
            end => {
                let note = cut(self.note.trim_end_matches('.'), LONGEST_NOTE.saturating_sub(end.len() + 1));
                let dot = if note.ends_with("...") { "" } else { "." };
                format!("{note}{dot}{end}")
            }
        };
        Event {
            metadata: ObjectMeta {
                namespace: Some(self.namespace().to_owned()),
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            type_: Some(if self.warns { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(self.reason.to_owned()),
            action: Some(self.action.clone()),
            note: Some(note),
            regarding: Some(self.regarding.clone()),
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(cut(node, LONGEST_WORD)),
            ..Event::default()
        }
    }
}

/// The problem, and its place in the object.
pub fn place_and_note(finding: &Finding) -> String {
    let note = finding.printable_note();
    match finding.origin.field {
        Field::Object => note,
        _ => format!("{}: {note}", finding.origin.place()),
    }
}

/// The beginning of a text, cut between characters to at most so many bytes.
fn cut(text: &str, longest: usize) -> String {
    const MORE: &str = "...";
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = (0..=longest - MORE.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
    format!("{}{MORE}", &text[..end])
}

/// The object as a reference of the API.
fn reference(id: &ObjectId, uid: Option<&str>, snapshot: &Snapshot) -> Option<ObjectReference> {
    let (row, _) = snapshot.list(id.kind)?;
    Some(ObjectReference {
        api_version: Some(row.api_version.to_owned()),
        kind: Some(id.kind.name().to_owned()),
        namespace: Some(id.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
        name: Some(id.name.to_string()),
        uid: uid.map(str::to_owned),
        ..ObjectReference::default()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ingressd_model::finding::Reason;
    use ingressd_model::{Field, Kind, Origin};

    const REMEDY: &str = "Create the Service, or correct its name.";

    fn finding(kind: Kind, name: &str, note: &str) -> Finding {
        let namespace = if kind == Kind::INGRESS_CLASS { "" } else { "shop" };
        let id = Arc::new(ObjectId::new(kind, namespace, name));
        Finding::new(Reason::MissingService, Origin::field(&id, Field::Path(0, 1, "backend.service.name")), note)
    }

    fn event(finding: &Finding, documentation: &str) -> Event {
        let notice = Notice::of_finding(finding, &Snapshot::default(), 0).unwrap();
        notice.event(&"node".repeat(100), &documentation.parse().unwrap(), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn limits_of_the_api_are_kept_between_characters_and_the_link_survives() {
        let long = finding(Kind::INGRESS, &"a".repeat(253), &"ä\u{1b}".repeat(2000));
        let far = format!("https://docs.example/{}/", "a".repeat(200));
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        for (documentation, end) in [
            (&*far, format!("... {REMEDY} See {far}findings.md#missingservice")),
            ("https://docs.example", format!("... {REMEDY} See https://docs.example/findings.md#missingservice")),
            ("", format!("... {REMEDY}")),
        ] {
            let event = event(&long, documentation);
            assert!((1000..=1024).contains(&length(&event.note)), "{}", length(&event.note));
            assert!(length(&event.reporting_instance) <= 128 && length(&event.metadata.name) <= 253);
            let note = event.note.unwrap();
            assert!(!note.contains('\u{1b}'), "nothing of it may steer a terminal");
            assert!(note.replace("....", "...").ends_with(&end), "{note}");
        }
    }

    #[test]
    fn field_and_remedy_are_reported_and_what_stands_beside_them_is_not_repeated() {
        let reported = finding(Kind::INGRESS, "cart", "there is no Service \"cart\"; create it");
        let event = event(&reported, "https://docs.example/ingressd");
        assert_eq!(event.reason.as_deref(), Some("MissingService"));
        assert_eq!(event.type_.as_deref(), Some("Warning"));
        assert_eq!(event.action.as_deref(), Some("spec.rules[0].http.paths[1].backend.service.name"));
        let words = format!(
            "spec.rules[0].http.paths[1].backend.service.name: there is no Service \"cart\"; create it. \
             {REMEDY} See https://docs.example/ingressd/findings.md#missingservice"
        );
        assert_eq!(event.note, Some(words));
        assert_eq!(event.metadata.namespace.as_deref(), Some("shop"));
        let of_object = Finding::new(Reason::HostOwned, Origin::object(&reported.origin.object), "it is another's.");
        let note = |documentation| super::tests::event(&of_object, documentation).note.unwrap();
        let remedy = "Use another host, or ask the administrator.";
        assert_eq!(note(""), format!("it is another's. {remedy}"));
        assert_eq!(
            note("https://docs.example"),
            format!("it is another's. {remedy} See https://docs.example/findings.md#hostowned")
        );
    }

    #[test]
    fn the_same_has_the_same_name_and_other_things_have_others() {
        let of = |finding: &Finding, occurrence| Notice::of_finding(finding, &Snapshot::default(), occurrence).unwrap();
        let reported = finding(Kind::INGRESS, "cart", "a");
        assert_eq!(of(&reported, 0), of(&reported, 0));
        assert_ne!(of(&reported, 0).name, of(&reported, 1).name);
        assert_ne!(of(&reported, 0).name, of(&finding(Kind::INGRESS, "cart", "b"), 0).name);
        assert_eq!(of(&finding(Kind::INGRESS_CLASS, "cart", "a"), 0).namespace(), "default");
        assert_eq!(Notice::of_finding(&finding(Kind::HOST, "nginx", "a"), &Snapshot::default(), 0), None);
    }
}
