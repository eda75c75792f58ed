//! The JSON of `kubectl ingressd`.

use super::answers::{REQUEST, ROUTE};
use super::reports::FINDING;
use super::{Document, Field, field, optional};

const NOTES: &[Field] =
    &[field("notes", "list", "by what is judged, and what is not known"), field("notes[]", "string", "a sentence")];

pub const EXPLAIN: Document = Document {
    title: "kubectl ingressd explain",
    doc: "The answer is that of `ingressd explain`.",
    parts: &[
        ("", NOTES),
        ("", &[field("answer", "object", "the answer")]),
        ("answer", REQUEST),
        ("answer.route", ROUTE),
    ],
};

pub const CHECK: Document = Document {
    title: "kubectl ingressd check",
    doc: "",
    parts: &[("", NOTES), ("", &[field("answer", "list", "the findings about the manifests")]), ("answer[]", FINDING)],
};

pub const DIFF: Document = Document {
    title: "kubectl ingressd diff",
    doc: "",
    parts: &[
        ("", NOTES),
        ("", &[field("answer", "list", "what changes")]),
        (
            "answer[]",
            &[
                field("about", "string", "a host or an object"),
                field("removed", "list", "routes, options and findings that would go"),
                field("removed[]", "string", "one of them"),
                field("added", "list", "those that would come"),
                field("added[]", "string", "one of them"),
            ],
        ),
    ],
};

pub const STATUS: Document = Document {
    title: "kubectl ingressd status",
    doc: "",
    parts: &[
        ("", NOTES),
        ("", &[field("answer", "object", "the answer")]),
        ("answer", &[field("ingresses", "list", "the Ingresses of the namespace")]),
        ("answer.ingresses[]", INGRESS),
        ("answer", NODES),
    ],
};

const INGRESS: &[Field] = &[
    field("name", "string", "namespace/name"),
    field("state", "string", "`ok`, or the severity of its worst finding"),
    field("routes", "number", "its paths"),
    field("hosts", "list", "its hosts"),
    field("hosts[]", "string", "a host"),
    field("addresses", "list", "the addresses in its status"),
    field("addresses[]", "string", "an address or a name"),
    field("findings", "list", "its errors and warnings"),
    field("findings[].severity", "string", "`error` or `warning`"),
    field("findings[].reason", "string", "the [reason](findings.md)"),
    field("findings[].field", "string", "the place in the object"),
    field("findings[].note", "string", "the mistake and the remedy"),
];

const NODES: &[Field] = &[
    optional("leader", "string?", "the node that leads, where the Leases are read"),
    optional("members", "list", "the nodes, where the Leases are read"),
    field("members[].node", "string", "its name"),
    field("members[].state", "string", "`alive` or `expired`, by its Lease"),
    field("members[].serving", "boolean", "whether its nginx serves"),
    field("members[].drained", "boolean", "whether it is drained"),
    field("members[].phase", "string", "its phase"),
    field("members[].pinned", "number?", "the generation that is pinned there"),
    field("members[].generation", "number?", "the generation that it serves"),
    field("members[].version", "string", "its version of ingressd"),
    field("members[].nginx", "string", "the version of its nginx"),
    field("members[].seen_seconds", "number?", "the age of what its Lease says"),
    field("members[].addresses", "list", "its addresses"),
    field("members[].addresses[]", "string", "an address or a name"),
];
