//! Annotations about basic authentication; any mistake closes the routes.

use std::sync::Arc;

use super::password::{self, Password, Passwords};
use super::secret;
use crate::annotation::{
    Compared, Context, Draft, Elsewhere, Family, Form, Gives, OnError, Row, SecretReference, Trust, put,
};
use crate::bounds;
use crate::value::{REALM, one_of, realm};
use ingressd_model::finding::{Finding, Reason, Severity, count};
use ingressd_model::{BasicAuthentication, Origin, PasswordFile, PasswordFileId, Refused, Satisfy, SecretBytes, Text};

const DEFAULT_REALM: &str = "Authentication Required";

const BASIC: &[(&str, &str)] = &[("auth-type", "basic")];

pub static FAMILY: Family = Family {
    title: "Basic authentication",
    rows: &[
        Row::new("auth-realm", Form::Text(&REALM))
            .elsewhere(&[Elsewhere::Refuse])
            .counts_with(BASIC)
            .default(DEFAULT_REALM)
            .trust(Trust::Medium)
            .documentation(
                "The text that browsers show when they ask for a name and password: printable ASCII without quotes, \
                 backslash and $. Another text is replaced by the default, and so is the word off, which would switch \
                 authentication off in nginx.",
            )
            .beside(&[("auth-type", "basic"), ("auth-secret", "users")])
            .tries(&[
                ("Members only", Gives::Sets("password for \"Members only\" by the file in Secret default/users")),
                ("off", Gives::Refused("switch authentication off")),
                ("a \"b\"", Gives::Refused("without quotes")),
            ])
            .part(|draft, entry| put(&mut draft.authentication.realm, realm(entry.value))),
        Row::new("auth-secret", secret::REFERENCE)
            .elsewhere(&[Elsewhere::Close])
            .counts_with(BASIC)
            .compared(Compared::Stricter(
                "Entries in plain text, and those whose hash takes nginx too long, are left out.",
                "",
            ))
            .trust(Trust::Medium)
            .on_error(OnError::Close)
            .documentation(
                "The Secret with names and password hashes: name, or namespace/name. Other namespaces are refused \
                 unless the administrator allows them. A Secret that is missing or holds no password closes the \
                 routes. Entries in plain text and those whose hash takes nginx too long are left out.",
            )
            .beside(BASIC)
            .tries(&[
                ("users", Gives::Sets("password for \"Authentication Required\" by the file in Secret default/users")),
                (
                    "default/users",
                    Gives::Sets("password for \"Authentication Required\" by the file in Secret default/users"),
                ),
                ("absent", Gives::Refused("does not exist")),
                ("elsewhere/users", Gives::Refused("another namespace")),
                ("../users", Gives::Refused("not the name of a Secret")),
            ])
            .part(|draft, entry| put(&mut draft.authentication.secret, secret::reference(entry))),
        Row::new(
            "auth-secret-type",
            Form::Partly(&Form::Word(&["auth-file", "auth-map"]), "whether the Secret is written so"),
        )
        .elsewhere(&[Elsewhere::Refuse])
        .counts_with(BASIC)
        .default("auth-file")
        .on_error(OnError::Close)
        .documentation(
            "How the Secret is read: auth-file takes the lines user:hash of its key auth; auth-map takes each key for \
             a user and its value for the hash.",
        )
        .beside(&[("auth-type", "basic"), ("auth-secret", "users-map")])
        .tries(&[
            (
                "auth-map",
                Gives::Sets("password for \"Authentication Required\" by the map in Secret default/users-map"),
            ),
            ("auth-file", Gives::Refused("no key auth")),
            ("map", Gives::Refused("not auth-file or auth-map")),
        ])
        .part(|draft, entry| {
            let words = [("auth-file", false), ("auth-map", true)];
            put(&mut draft.authentication.map, one_of(entry.value, &words, "it is not auth-file or auth-map"))
        }),
        Row::new("auth-type", Form::Word(&["basic"]))
            .compared(Compared::StricterValues(
                "basic is the same; digest closes the routes, because nginx has no module for it: use basic over https.",
                "",
            ))
            .elsewhere(&[Elsewhere::Refuse])
            .on_error(OnError::Close)
            .documentation("Asks for a name and password: basic is the only type that is served. It needs auth-secret.")
            .beside(&[("auth-secret", "users")])
            .tries(&[
                ("basic", Gives::Sets("password for \"Authentication Required\" by the file in Secret default/users")),
                ("digest", Gives::Refused("digest is not supported")),
                ("basic digest", Gives::Refused("not basic")),
            ])
            .part(|draft, entry| match entry.value.trim() {
                "basic" => put(&mut draft.authentication.asked, Ok(entry.origin())),
                "digest" => Err(Refused::because("digest is not supported; use basic over https")),
                _ => Err(Refused::because("it is not basic")),
            }),
        Row::new("satisfy", Form::Word(&["all", "any"]))
            .on_error(OnError::Close)
            .documentation(
                "How lists of addresses, passwords and external authentication are combined: with all, the default, a \
                 client has to satisfy each of them that is set, with any one of them. Client certificates are \
                 required in any case. With any, a client from a denied address is admitted if it satisfies another \
                 one.",
            )
            .tries(&[
                ("any", Gives::Sets("one way of authentication is enough")),
                ("all", Gives::Nothing),
                ("some", Gives::Refused("not all or any")),
            ])
            .part(|draft, entry| {
                let words = [("all", Satisfy::All), ("any", Satisfy::Any)];
                put(&mut draft.reading.behaviour.satisfy, one_of(entry.value, &words, "it is not all or any"))
            }),
    ],
    finish,
};

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let requested = std::mem::take(&mut draft.authentication);
    match (requested.asked, requested.secret) {
        (None, _) => {}
        // A bad auth-secret has closed the routes already, with a finding.
        (Some(_), None) if draft.reading.closed => {}
        (Some(asked), None) => {
            draft.close(Reason::ClosedRoute, asked, "auth-secret is missing; the routes answer 503 until it is set");
        }
        (Some(_), Some(secret)) => {
            let realm = requested.realm.map_or_else(|| Text::new(DEFAULT_REALM), Ok);
            match (realm, passwords(draft, context, secret, requested.map)) {
                (Ok(realm), Some(file)) => {
                    let authentication = BasicAuthentication { realm, file: file.id.clone() };
                    draft.reading.behaviour.basic_authentication = Some(Arc::new(authentication));
                    draft.reading.password_file = Some(Arc::new(file));
                }
                _ => draft.reading.closed = true,
            }
        }
    }
}

/// The password file; `None` after the routes were closed with a finding.
fn passwords(draft: &mut Draft, context: &Context<'_>, wanted: SecretReference, map: bool) -> Option<PasswordFile> {
    let namespace = wanted.namespace.as_deref().unwrap_or(context.namespace());
    if namespace != context.namespace() && !context.options.cross_namespace {
        let note = "the Secret is in another namespace, which the administrator does not allow (`cross-namespace`); the routes answer 503";
        draft.close(Reason::CrossNamespace, wanted.origin, note);
        return None;
    }
    let Some(secret) = context.snapshot.secret(namespace, &wanted.name) else {
        let note = format!("Secret {namespace}/{} does not exist; the routes answer 503 until it does", wanted.name);
        draft.close(Reason::MissingSecret, wanted.origin, note);
        return None;
    };
    let (passwords, faults): Passwords<'_> = match map {
        true => password::of_map(&secret.object, context.options.limits.password),
        false => match password::of_file(&secret.object, context.options.limits.password) {
            Some(read) => read,
            None => {
                let note = format!(
                    "Secret {namespace}/{} has no key auth; use a Secret of the type Opaque, with the lines of a password \
                     file as auth; the routes answer 503 until then",
                    wanted.name
                );
                draft.close(Reason::InvalidSecret, wanted.origin, note);
                return None;
            }
        },
    };
    let origin = Origin::object(&secret.id);
    let first = faults.first().map_or_else(String::new, |first| format!(": {first}"));
    if !faults.is_empty() && !passwords.is_empty() {
        // The other users get in.
        let left_out = count(faults.len(), "entry is", "entries are");
        let note = format!("of Secret {namespace}/{} {left_out} left out, so these users get 401{first}", wanted.name);
        let finding = Finding::new(Reason::InvalidSecret, wanted.origin.clone(), note);
        draft.report(Finding { severity: Severity::Warning, ..finding });
    }
    for fault in faults {
        draft.find(Reason::InvalidSecret, origin.clone(), fault);
    }
    let most = u64::try_from(context.options.limits.password.users).unwrap_or(u64::MAX);
    draft.reading.findings.extend(bounds::PASSWORDS.near(passwords.len(), most, || origin.clone()));
    if passwords.is_empty() {
        let note =
            format!("Secret {namespace}/{} holds no password; the routes answer 503 until it does{first}", wanted.name);
        draft.close(Reason::InvalidSecret, wanted.origin, note);
        return None;
    }
    let content: String = passwords.iter().map(Password::line).collect();
    let id = PasswordFileId { secret: Arc::clone(&secret.id), map };
    Some(PasswordFile { id, origin, content: SecretBytes(content.into_bytes().into()) })
}
