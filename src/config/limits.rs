//! The keys of the section `limits`; it must not know files or layers.

use super::table::Row;
use super::value::{Form, put};

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "limits.paths-of-host",
        form: Form::Number,
        default: "10000",
        doc: "How many paths of one host a namespace may have; those of its oldest objects count first. What is over it is not served, and answers 503 where it would be protected.",
        set: |settings, value| put(&mut settings.translate.limits.paths_of_host, value),
    },
    Row {
        key: "limits.findings-of-object",
        form: Form::Number,
        default: "20",
        doc: "Findings of one object that are told: as Events, in the journal, in status and metrics. Of more, the severest are told, and how many others there are.",
        set: |settings, value| put(&mut settings.translate.limits.findings_of_object, value),
    },
    Row {
        key: "limits.findings-of-namespace",
        form: Form::Number,
        default: "200",
        doc: "Findings of one namespace that `/status.json` shows, and lines about them that the journal gets within a minute. Of more, the severest are shown, and how many others there are. Of all namespaces together 2000 are shown, each in its turn. Events are not bounded by it: they are written namespace by namespace in turn.",
        set: |settings, value| put(&mut settings.translate.limits.findings_of_namespace, value),
    },
    Row {
        key: "limits.names-of-namespace",
        form: Form::Number,
        default: "500",
        doc: "Names behind Services of type ExternalName that are resolved for one namespace. Those of Services that no Ingress of ours names as a backend are not resolved, unless they were before. Of more, the first in alphabetical order are resolved; the routes of the others answer 503, which is told.",
        set: |settings, value| put(&mut settings.translate.limits.names_of_namespace, value),
    },
    Row {
        key: "limits.addresses-of-name",
        form: Form::Number,
        default: "64",
        doc: "Addresses of one such name that are used. Of an answer with more, those that are in use stay, which is told.",
        set: |settings, value| put(&mut settings.translate.limits.addresses_of_name, value),
    },
];
