//! The JSON of `ingressd explain`, `top` and `diff`.

use super::{Document, Field, field, optional};

pub const EXPLAIN: Document = Document {
    title: "ingressd explain",
    doc: "",
    parts: &[("", REQUEST), ("route", ROUTE), ("nginx_said[]", SAID), ("sent", SENT)],
};

pub const TOP: Document = Document {
    title: "ingressd top",
    doc: "One object a line for each interval; `--once` prints one.",
    parts: &[(
        "",
        &[
            field("seconds", "number", "the time between the two looks that are compared"),
            field("sampling", "number", "of how many requests one was read; 1 where all were"),
            field("requests_per_second", "number", "all requests"),
            field("rows", "list", "by `--sort`"),
            optional("rows[].host", "string", "the host, with `--by host`"),
            optional("rows[].namespace", "string", "the namespace, else"),
            optional("rows[].ingress", "string", "the Ingress, with `--by ingress`"),
            optional("rows[].service", "string", "the Service, with `--by service`"),
            field("rows[].requests_per_second", "number", "requests"),
            field("rows[].client_errors_per_second", "number", "answers 4xx"),
            field("rows[].server_errors_per_second", "number", "answers 5xx"),
            field("rows[].p50_seconds", "number?", "the time in which half of the requests was answered"),
            field("rows[].p99_seconds", "number?", "the same for 99 % of them"),
            field("rows[].upstream_p50_seconds", "number?", "the time of endpoints for half of the requests"),
            field("rows[].upstream_p99_seconds", "number?", "the same for 99 % of them"),
            field("rows[].sent_bytes_per_second", "number", "bytes to clients"),
            field("rows[].received_bytes_per_second", "number", "bytes from clients"),
        ],
    )],
};

pub const DIFF: Document = Document {
    title: "ingressd diff",
    doc: "",
    parts: &[(
        "",
        &[
            field("before", "number", "the earlier generation"),
            field("after", "number", "the later one"),
            field("files", "list", "the files that differ"),
            field("files[].path", "string", "the file"),
            field("files[].change", "string", "`added`, `removed` or `changed`"),
            field("files[].is_secret", "boolean", "whether it holds keys or passwords, so that it is not shown"),
            field("files[].causes", "list", "the objects that own lines which differ"),
            field("files[].causes[]", "string", "an object"),
            field("files[].diff", "string?", "the unified diff; null with `--summary` and for a secret file"),
        ],
    )],
};

pub const LIST: Document = Document {
    title: "ingressd diff --list",
    doc: "",
    parts: &[(
        "",
        &[
            field("current", "number?", "the generation in use"),
            field("pinned", "number?", "the generation that an administrator pinned"),
            field("generations", "list", "those that are kept, the latest first"),
            field("generations[].generation", "number", "its number"),
            field("generations[].written", "string?", "when it was written, by RFC 3339"),
            field("generations[].is_confirmed", "boolean", "whether nginx was seen to run it"),
            field("generations[].cause", "string?", "which objects changed before it"),
        ],
    )],
};

pub const REQUEST: &[Field] = &[
    field("kind", "string", "`Request`"),
    field("host", "string", "the host, in small letters"),
    field("host_is", "string", "`served`, `unknown`, `reserved` or `of_other_site`"),
    field("path", "string", "the path as nginx compares it"),
    field("sockets", "list", "where nginx listens for clients"),
    field("sockets[].address", "string", "address and port"),
    field("sockets[].tls", "boolean", "whether clients speak TLS"),
    field("sockets[].proxy_protocol", "boolean", "whether they begin with the PROXY protocol"),
    field("other_sites", "list", "other sites of this nginx that take the request"),
    field("other_sites[].on", "list", "the sockets on which they do"),
    field("other_sites[].on[]", "string", "address and port"),
    field("other_sites[].from", "string", "file and line"),
    field("other_sites[].name", "string?", "the name that fits; null for a default server"),
    field("other_sites[].is_unclear", "boolean", "whether only nginx can say that it fits"),
    field("passthrough", "object?", "where TLS goes that nginx does not read"),
    field("passthrough.on", "list", "the sockets"),
    field("passthrough.on[]", "string", "address and port"),
    field("passthrough.from", "string", "object and field that ask for it"),
    field("passthrough.file", "string?", "file and line of that"),
    field("passthrough.does", "string", "what becomes of connections"),
    field("route", "object?", "what takes the request; null where another site does everywhere"),
    field("options", "list", "the options that count there"),
    field("options[].option", "string", "its name"),
    field("options[].about", "string", "what it is about"),
    field("options[].counts", "object", "what counts"),
    field("options[].counts.value", "string", "the value"),
    field("options[].counts.from", "string", "where it was written"),
    field("options[].counts.file", "string?", "file and line of that"),
    field("options[].instead_of", "list", "what it overrides, the strongest first"),
    field("options[].instead_of[].value", "string", "the value"),
    field("options[].instead_of[].from", "string", "where it was written"),
    field("options[].instead_of[].file", "string?", "file and line of that"),
    field("options[].is_built_in", "boolean", "whether it is nowhere written"),
    optional("recorded_seconds", "number", "the age of what an earlier run recorded, where nothing was read since"),
    optional("nginx_said", "list", "what nginx said of the Ingress lately, the newest first"),
    optional("sent", "object", "what nginx answered, with `--send`"),
];

const SAID: &[Field] = &[
    field("kind", "string", "the [kind](prometheus.md) in metrics"),
    field("about", "string", "what it means"),
    field("count", "number", "how often it was said"),
    field("since", "string", "when it was said first, by RFC 3339"),
    field("last", "string", "when it was said last"),
    field("message", "string", "the last message"),
    field("endpoint", "string", "the endpoint that this was about; empty where it was about none"),
];

pub const ROUTE: &[Field] = &[
    field("is_of_object", "boolean", "whether an Ingress asks for it"),
    field("from", "string?", "object and field"),
    field("file", "string?", "file and line of that"),
    field("path", "object?", "the path of the Ingress"),
    field("path.text", "string", "as it is written"),
    field("path.type", "string?", "its type"),
    field("path.compared", "string", "`text`, `caseless` or `expression`"),
    field("path.because", "string?", "what makes it an expression"),
    field("before", "object?", "another path that matches too"),
    field("before.from", "string", "object and field"),
    field("before.file", "string?", "file and line of that"),
    field("before.path", "object", "the path"),
    field("before.path.text", "string", "as it is written"),
    field("before.path.type", "string?", "its type"),
    field("before.path.compared", "string", "as of `route.path`"),
    field("before.path.because", "string?", "as of `route.path`"),
    field("does", "string", "what becomes of the request, in words"),
    field("answer", "object", "the same for programs"),
    field("answer.ingress", "string?", "the Ingress, as namespace/name; an object of another kind has that before it"),
    field("answer.status", "number?", "the status, where nginx itself answers"),
    field("answer.location", "string?", "where it redirects to, where that is the same for all requests"),
    field("answer.host", "string?", "the host that it redirects to, where the path stays"),
    field("answer.services", "list", "the Services of which one answers, as namespace/name"),
    field("answer.services[]", "string", "a Service"),
    field(
        "answer.instead",
        "list?",
        "statuses that checks, limits or a split may answer instead; null where a snippet may answer anything",
    ),
    field("answer.instead[]", "number", "a status"),
    field("answer.over_plain_http", "number?", "the status of the redirect to https"),
    field("over_plain_http", "string?", "that redirect, in words"),
    field("because", "list", "findings that say why"),
    field("because[].field", "string", "the place in the object"),
    field("because[].reason", "string", "the [reason](findings.md)"),
    field("because[].note", "string", "the mistake and the remedy"),
    field("unless", "string?", "an expression that nginx tries before, and that only nginx can judge"),
];

const SENT: &[Field] = &[
    field("to", "string", "address and port"),
    field("status", "number?", "the status; null where there is no answer"),
    field("location", "string?", "where it redirects to"),
    field(
        "counted",
        "list?",
        "what had more requests of that class of status afterwards; null where requests are not counted",
    ),
    field("counted[].ingress", "string?", "the Ingress"),
    field("counted[].service", "string?", "the Service"),
    field("counted[].is_passed_on", "boolean", "whether an endpoint was asked"),
    field("differences", "list", "what differs from what is said"),
    field("differences[]", "string", "a difference"),
    field("notes", "list", "what is not known, or is known now"),
    field("notes[]", "string", "a sentence"),
];
