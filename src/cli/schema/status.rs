//! The JSON of `ingressd status` and `/status.json`.

use super::{Document, Field, field, optional};

pub const EVERYTHING: Document = Document {
    title: "ingressd status, /status.json",
    doc: "`--namespace`, `--state` and `--text` leave out entries of `ingresses`, `not_served`, `findings`\nand `findings_left_out`.",
    parts: &[("", NODE), ("members[]", MEMBER), ("", GENERATIONS), ("", OBJECTS)],
};

pub const INGRESS: Document = Document {
    title: "ingressd status NAMESPACE/NAME",
    doc: "",
    parts: &[
        ("", NODE),
        ("members[]", MEMBER),
        ("", GENERATIONS),
        ("", SUBJECT),
        ("subject", STANDING),
        ("subject", OF_INGRESS),
        ("subject.asks[]", ROUTE),
        ("subject.findings[]", FINDING),
        ("subject.findings[]", PAGE),
    ],
};

pub const HOST: Document = Document {
    title: "ingressd status --host HOST",
    doc: "",
    parts: &[
        ("", NODE),
        ("members[]", MEMBER),
        ("", GENERATIONS),
        ("", SUBJECT),
        ("subject", OF_HOST),
        ("subject.ingresses[]", STANDING),
        ("subject.ingresses[]", ASKS),
        ("subject.ingresses[].asks[]", ROUTE),
        ("subject.findings[]", FINDING),
        ("subject.findings[]", PAGE),
    ],
};

pub const CLUSTER: Document = Document {
    title: "ingressd status --cluster",
    doc: "",
    parts: &[
        (
            "",
            &[
                field("node", "string?", "the name of this node"),
                field("leader", "string?", "the node that writes statuses and Events"),
                field("well", "boolean", "whether every node that is not drained lives and serves"),
                field("members", "list", "the nodes of the group"),
            ],
        ),
        ("members[]", MEMBER),
        (
            "members[]",
            &[
                field("health", "string", "the state in the word for people"),
                field("leader", "boolean", "whether it leads"),
            ],
        ),
    ],
};

/// What is about this node.
const NODE: &[Field] = &[
    field("version", "string", "the version of the daemon"),
    field("phase", "string", "`starting`, `serving`, `nginx-down`, `failed` or `stopping`"),
    field("why", "string?", "the error, or why nginx counts as down"),
    field("ready", "boolean", "whether nginx serves the confirmed generation"),
    field("not_ready", "string?", "why not"),
    field("settings_refused", "string?", "what is wrong with the settings that were read last"),
    field("node", "string?", "the name of this node in its group"),
    field("role", "string", "`leader`, `follower` or `standalone`"),
    field("drained", "boolean", "whether the node is drained"),
    field("withdrawal", "object?", "how far the withdrawal of a drained node has come"),
    field("withdrawal.published", "boolean", "whether there is a cluster to withdraw it from"),
    field("withdrawal.done", "boolean", "whether no status has an address of this node any more"),
    field("withdrawal.connections", "number?", "open connections to the ports of Ingresses"),
    optional("withdrawal.noted", "boolean", "whether the leader knows of it"),
    optional("withdrawal.current", "boolean", "whether the watches of Ingresses are current"),
    optional("withdrawal.ingresses", "number", "Ingresses whose status still has an address of this node"),
    optional("withdrawal.others", "number", "other nodes that are published"),
    field("leader", "string?", "the node that leads the group"),
    field("publishes", "object?", "what this node publishes; null with a folder of manifests"),
    field("publishes.mode", "string", "where its addresses come from"),
    field("publishes.writes", "string", "what may be written into the cluster"),
    field("publishes.addresses", "list?", "its addresses"),
    field("publishes.addresses[]", "string", "an address or a name"),
    field("members", "list", "the nodes of the group"),
];

/// What is about this node, behind the members of its group.
const GENERATIONS: &[Field] = &[
    field("generation", "number?", "the latest generation that nginx was confirmed to run"),
    field("prepared", "number?", "the generation that is ready for the start of nginx"),
    field("served", "number?", "the generation that nginx itself names"),
    field("pinned", "object?", "the generation that an administrator pinned"),
    field("pinned.generation", "number", "its number"),
    field("pinned.since", "number", "since when, in seconds since 1970"),
    field("pinned.waiting_files", "number?", "files that would change without it"),
    field("nginx", "object", "nginx of this host"),
    field("nginx.version", "string", "the version of its binary"),
    field("nginx.master", "number?", "the process ID of its master"),
    field("nginx.workers", "number", "workers that accept connections"),
    field("nginx.draining", "number", "old workers that finish their connections"),
    field("nginx.most_draining", "number", "how many of these there may be"),
    field("nginx.ended", "number", "how many of these were ended because there were too many"),
    field("hosts", "number?", "hosts that are served"),
    field("routes", "number?", "paths that are served"),
    field("source", "object?", "where objects come from"),
    field("source.kind", "string", "`cluster` or `folder`"),
    optional("source.path", "string", "the folder"),
    optional("source.server", "string?", "the URL of the API server"),
    optional("source.namespaces", "list?", "the namespaces that are served, where the settings name them"),
    optional("source.namespaces[]", "string", "a namespace"),
    optional("source.namespace_selector", "string?", "the labels of the namespaces that are served"),
    field("data_age_seconds", "number?", "the age of what the source said, 0 while it is current"),
    field("source_failure", "string?", "why the source cannot be read"),
];

/// What is about objects.
const OBJECTS: &[Field] = &[
    field("attention", "list", "what needs attention, the most urgent first; empty where all is well"),
    field("attention[].what", "string", "what it is"),
    field("attention[].remedy", "string", "what to do"),
    field("objects", "object", "how many objects were read"),
    field("objects.*", "number", "how many of this kind"),
    field("watches", "list", "the watches of the cluster"),
    field("watches[].kind", "string", "the kind of objects"),
    field("watches[].namespace", "string?", "the namespace, where there is one watch for each"),
    field("watches[].state", "string", "`current`, `stale`, `failing`, `refused` or `absent`"),
    field("watches[].age_seconds", "number?", "when it was last heard of"),
    field("watches[].failure", "string?", "why it fails"),
    field("estimate", "object", "what the configuration costs nginx, as estimated"),
    field("estimate.total", "object", "the sum"),
    field("estimate.total.*", "number", "as in the metrics `ingressd_estimated_*` and `ingressd_namespace_*`"),
    field("estimate.namespaces", "list", "the namespaces with the most memory, and the rest as `(others)`"),
    field("estimate.namespaces[].namespace", "string", "its name"),
    field("estimate.namespaces[].memory_bytes", "number", "memory of nginx's master"),
    field("estimate.namespaces[].configuration_bytes", "number", "configuration"),
    field("estimate.namespaces[].zone_bytes", "number", "shared memory in which clients are counted"),
    field("estimate.namespaces[].test_seconds", "number", "processor time that nginx needs to read it"),
    field("estimate.namespaces[].files", "number", "files of a generation"),
    field("estimate.namespaces[].hosts", "number", "hosts"),
    field("estimate.namespaces[].routes", "number", "paths"),
    field("estimate.namespaces[].upstreams", "number", "ports of Services"),
    field("estimate.namespaces[].endpoints", "number", "endpoints"),
    field("estimate.namespaces[].certificates", "number", "Secrets with certificates"),
    field("ingresses", "list", "the Ingresses, and objects of other kinds, of which something is served"),
    field("ingresses[].kind", "string", "its kind"),
    field("ingresses[].namespace", "string", "its namespace"),
    field("ingresses[].name", "string", "its name"),
    field("ingresses[].version", "string", "the resource version that is served"),
    field("ingresses[].state", "string", "`ok`, `partly`, `closed`, `last good` or `waiting`"),
    field("ingresses[].reason", "string?", "the [reason](findings.md) why its newest version is not served"),
    field("ingresses[].hosts", "list", "its hosts"),
    field("ingresses[].hosts[]", "string", "a host, `*` for a rule without one"),
    field("ingresses[].routes", "number", "its paths that are served"),
    field("ingresses[].closed", "number", "its paths that answer 503"),
    field("ingresses[].served_seconds", "number?", "since when this version is served"),
    field("ingresses[].addresses", "list", "the addresses in its status"),
    field("ingresses[].addresses[]", "string", "an address or a name"),
    field("not_served", "list", "the objects of our classes of which nothing is served"),
    field("not_served[].kind", "string", "its kind"),
    field("not_served[].namespace", "string", "its namespace"),
    field("not_served[].name", "string", "its name"),
    field("not_served[].state", "string", "`refused` or `waiting`"),
    field("not_served[].reason", "string?", "the [reason](findings.md)"),
    field("not_served[].hosts", "list", "the hosts that it asks for"),
    field("not_served[].hosts[]", "string", "a host"),
    field("findings", "list", "what is wrong; of one namespace no more than `limits.findings-of-namespace`"),
    field("findings[].kind", "string", "the kind of the object"),
    field("findings[].namespace", "string", "its namespace, empty where it has none"),
    field("findings[].name", "string", "its name"),
    field("findings[].field", "string", "the place in the object"),
    field("findings[].severity", "string", "`error`, `warning` or `info`"),
    field("findings[].reason", "string", "the [reason](findings.md)"),
    field("findings[].effect", "string", "what follows from it"),
    field("findings[].note", "string", "the mistake and the remedy"),
    field("findings_left_out", "list", "the namespaces with more findings than are shown"),
    field("findings_left_out[].namespace", "string", "its name"),
    field("findings_left_out[].count", "number", "how many more there are"),
];

const MEMBER: &[Field] = &[
    field("node", "string", "its name"),
    field("state", "string", "`alive`, `presumed` or `expired`, by its Lease"),
    field("serving", "boolean", "whether its nginx serves"),
    field("drained", "boolean", "whether it is drained"),
    field("generation", "number?", "the generation that it serves"),
    field("pinned", "number?", "the generation that is pinned there"),
    field("version", "string", "its version of ingressd"),
    field("phase", "string", "its phase"),
    field("writes", "string?", "what it may write into the cluster"),
    field("seen_seconds", "number", "the age of what its Lease says"),
    field("addresses", "list", "its addresses"),
    field("addresses[]", "string", "an address or a name"),
];

const SUBJECT: &[Field] = &[field("subject", "object", "what was asked for")];

/// An Ingress with its state, whether it exists or not.
const STANDING: &[Field] = &[
    field("kind", "string", "its kind"),
    field("namespace", "string", "its namespace"),
    field("name", "string", "its name"),
    field("state", "string", "`ok`, `partly`, `closed`, `last good`, `refused`, `waiting`, `not ours` or `absent`"),
    field("reason", "string?", "the [reason](findings.md) why its newest version is not served"),
    field("hosts", "list", "its hosts"),
    field("hosts[]", "string", "a host"),
    field("routes", "number", "its paths that are served"),
    field("closed", "number", "its paths that answer 503"),
    field("served_seconds", "number?", "since when its version is served"),
    field("addresses", "list", "the addresses in its status"),
    field("addresses[]", "string", "an address or a name"),
];

const OF_INGRESS: &[Field] = &[
    field("class", "string?", "its class"),
    field("why", "string?", "why it is not ours or absent"),
    field("asks", "list", "its paths as they are written now"),
    field("tls", "list", "its entries of `spec.tls`"),
    field("tls[].hosts", "list", "the hosts of the entry"),
    field("tls[].hosts[]", "string", "a host"),
    field("tls[].secret", "string?", "the Secret that it names"),
    field("tls[].served", "boolean", "whether its certificate is served"),
    field("tls[].ends", "number?", "when that ends, in seconds since 1970"),
    field("findings", "list", "what is wrong with it and with its Secrets"),
    field("left_out", "number", "how many rows are not shown"),
];

const OF_HOST: &[Field] = &[
    field("kind", "string", "`Host`"),
    field("host", "string", "the host as it was asked for"),
    field("is_name", "boolean", "whether a rule can have it"),
    field("claims", "list", "who asked for it, and for the wildcard above it"),
    field("claims[].host", "string", "the host"),
    field("claims[].namespaces", "list", "the namespaces, the oldest claim first"),
    field("claims[].namespaces[].namespace", "string", "its name"),
    field("claims[].namespaces[].exclusive", "boolean", "whether it has the host for itself"),
    field("claims[].namespaces[].reserved", "boolean", "whether it does not ask any more"),
    field("expressions", "list", "expressions that take the host, in the order in which nginx tries them"),
    field("expressions[].expression", "string", "the expression"),
    field("expressions[].certain", "boolean", "whether it is known to match"),
    field("ingresses", "list", "the Ingresses that have the host"),
    field("findings", "list", "what is wrong with them there"),
    field("left_out", "number", "how many rows are not shown"),
];

const ASKS: &[Field] = &[field("asks", "list", "its paths on the host")];

const ROUTE: &[Field] = &[
    field("host", "string", "the host of the rule"),
    field("path", "string", "the path"),
    field("path_type", "string?", "its type"),
    field("service", "string?", "its Service"),
    field("port", "string?", "the port of the Service"),
    field("endpoints", "number?", "how many endpoints that has; null where there is no such port"),
];

const FINDING: &[Field] = &[
    field("kind", "string", "the kind of the object"),
    field("namespace", "string", "its namespace"),
    field("name", "string", "its name"),
    field("field", "string", "the place in the object"),
    field("severity", "string", "`error`, `warning` or `info`"),
    field("reason", "string", "the [reason](findings.md)"),
    field("effect", "string", "what follows from it"),
    field("note", "string", "the mistake and the remedy"),
];

const PAGE: &[Field] = &[field("page", "string?", "the page that explains the reason")];
