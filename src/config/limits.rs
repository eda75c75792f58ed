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
    Row {
        key: "limits.expressions-of-host",
        form: Form::Number,
        default: "500",
        doc: "How many paths of one namespace on one host may be regular expressions: nginx tries them one after the other for each request. One that may look through a path again and again counts for more, from 25 to 250: those of one host together take a request 100 ms at most, whatever its path consists of.",
        set: |settings, value| put(&mut settings.translate.limits.expressions_of_host, value),
    },
    Row {
        key: "limits.body-size",
        form: Form::Size,
        default: r#""0""#,
        doc: "Ceiling for the annotation `proxy-body-size`. 0 is none, because registries and file stores ask for unlimited bodies: where those who write Ingresses are not trusted with the disk of this host, on which nginx collects bodies, set one that your largest upload needs.",
        set: |settings, value| put(&mut settings.translate.limits.body_size, value),
    },
    Row {
        key: "limits.body-buffer",
        form: Form::Size,
        default: r#""1m""#,
        doc: "Ceiling for the annotation `client-body-buffer-size`, 0 for none: memory of a worker for each request whose body is on its way. What is larger goes to a file, so a small buffer costs little; ingress-nginx has 8k, and 1m is the most that its users ask for in earnest.",
        set: |settings, value| put(&mut settings.translate.limits.body_buffer, value),
    },
    Row {
        key: "limits.answer-buffers",
        form: Form::Size,
        default: r#""2m""#,
        doc: "Ceiling for all buffers of one answer together (the annotations `proxy-buffers-number` times `proxy-buffer-size`), 0 for none: memory of a worker for each answer that is on its way. One buffer may be a quarter of it: large headers and cookies take 16k to 256k.",
        set: |settings, value| put(&mut settings.translate.limits.answer_buffers, value),
    },
    Row {
        key: "limits.answer-file",
        form: Form::Size,
        default: r#""1g""#,
        doc: "Ceiling for the annotation `proxy-max-temp-file-size`, 0 for none: disk of this host for each answer that its client takes slowly. It is nginx's own default; answers may be larger, nginx then reads on as the client takes them.",
        set: |settings, value| put(&mut settings.translate.limits.answer_file, value),
    },
    Row {
        key: "limits.timeout",
        form: Form::Duration,
        default: r#""24h""#,
        doc: "Ceiling for the annotations that say how long a backend is waited for, such as `proxy-read-timeout`, 0s for none. A connection that is silent for so long keeps memory, and after each reload a worker that would have ended. WebSockets ask for an hour to a day.",
        set: |settings, value| put(&mut settings.translate.limits.timeout, value),
    },
    Row {
        key: "limits.tries",
        form: Form::Number,
        default: "20",
        doc: "Ceiling for the annotation `proxy-next-upstream-tries`, 0 for none: how many endpoints one request may be sent to, one after the other. The default of the annotation is 3.",
        set: |settings, value| put(&mut settings.translate.limits.tries, value),
    },
    Row {
        key: "limits.password-cost",
        form: Form::Number,
        default: "10",
        doc: "What it may cost to verify one password, as the cost of bcrypt, 4 to 14. nginx computes the hash at each request with a password, and serves nobody else in that worker meanwhile: 2 ms with cost 5, 62 with 10, 250 with 12. SHA-crypt may have 5000 rounds where 8 is allowed, and twice as many for each one more; yescrypt up to its default of Debian takes 8. 10 is what Helm and Go make; 8 is wiser where tenants or clients are hostile. Users whose hash costs more are left out, with a finding.",
        set: |settings, value| {
            let cost = &mut settings.translate.limits.password_cost;
            put(cost, value)?;
            match cost {
                4..=14 => Ok(()),
                other => Err(format!("{other} is not within 4 to 14")),
            }
        },
    },
    Row {
        key: "limits.passwords",
        form: Form::Number,
        default: "5000",
        doc: "How many users one Secret with passwords may have: nginx reads the file from its start at each request. Those beyond are left out, with a finding.",
        set: |settings, value| put(&mut settings.translate.limits.passwords, value),
    },
];
