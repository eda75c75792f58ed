//! Annotations about FastCGI. They must not know the applications.

use std::sync::Arc;

use super::config_map;
use crate::annotation::{
    Compared, Context, Draft, Elsewhere, Family, FastCgiDraft, Form, Gives, OnError, Row, Scope, SecretReference,
    Shape, Trust, put,
};
use crate::value::{TemplateUse, excerpt, template};
use ingressd_model::finding::Reason;
use ingressd_model::{FastCgi, FileName, ParameterName, Protocol, Refused, Template};

/// The most parameters in a ConfigMap.
const MOST_PARAMETERS: usize = 64;

/// Parameters that change settings of the PHP interpreter.
const SETTINGS: [&str; 2] = ["PHP_ADMIN_VALUE", "PHP_VALUE"];
/// Parameters that only nginx may set: other values would change the meaning of a request.
const FRAMING: [&str; 3] = ["CONTENT_LENGTH", "GATEWAY_INTERFACE", "REQUEST_METHOD"];
/// Parameters that select the executed file.
const FILES: [&str; 6] = [
    "CONTEXT_DOCUMENT_ROOT",
    "DOCUMENT_ROOT",
    "ORIG_SCRIPT_FILENAME",
    "PATH_TRANSLATED",
    "SCRIPT_FILENAME",
    "SCRIPT_NAME",
];

const FILE_NAME: Shape = Shape {
    name: "the name of a file of letters, digits, - . and _",
    pattern: "[A-Za-z0-9_-][A-Za-z0-9._-]*",
    longest: 255,
    ..Shape::DEFAULT
};

const FCGI: &[(&str, &str)] = &[("backend-protocol", "FCGI")];

/// A row that depends on the FastCGI protocol. Other values of it could let another file be
/// executed.
const fn belonging(key: &'static str, form: Form) -> Row {
    let row = Row::new(key, form).scope(Scope::Upstream).trust(Trust::Medium).on_error(OnError::Close);
    row.counts_with(FCGI).beside(FCGI)
}

pub static FAMILY: Family = Family {
    title: "FastCGI",
    rows: &[
        belonging("fastcgi-index", Form::Text(&FILE_NAME))
            .elsewhere(&[Elsewhere::Refuse])
            .documentation(
                "The name of a file that is appended to paths that end with a slash, in SCRIPT_NAME and \
                 $fastcgi_script_name.",
            )
            .tries(&[
                ("index.php", Gives::Sets("the script of a folder is index.php")),
                ("../index.php", Gives::Refused("not the name of a file")),
                ("index.php; }", Gives::Refused("not the name of a file")),
            ])
            .part(|draft, entry| put(&mut draft.fastcgi.own.index, FileName::new(entry.value.trim()))),
        belonging("fastcgi-params-configmap", config_map::REFERENCE)
            .elsewhere(&[Elsewhere::Refuse, Elsewhere::Close])
            .documentation(
                "A ConfigMap with further parameters for the application: name, or namespace/name; another namespace \
                 is refused unless the administrator allows it. Each key is the name of a parameter, each value text \
                 with variables: those of the path ($fastcgi_script_name, $uri), the query ($args, $arg_NAME), headers \
                 ($http_NAME, $cookie_NAME), $host, $scheme, $https, $remote_addr and $server_port. They replace those \
                 that every application gets. Parameters that name files, such as SCRIPT_FILENAME and DOCUMENT_ROOT, \
                 may contain only variables of the path, so that clients cannot choose another file. PHP_VALUE, \
                 PHP_ADMIN_VALUE, parameters that frame a request, and headers (HTTP_NAME) are refused. A ConfigMap \
                 that is missing or has other contents closes the routes.",
            )
            .tries(&[
                ("params", Gives::Sets("backends get the parameter SCRIPT_FILENAME: /app${fastcgi_script_name}")),
                ("default/params", Gives::Sets("backends get the parameter REALM: staff of ${host}")),
                ("absent", Gives::Refused("does not exist")),
                ("bad-params", Gives::Refused("would let clients choose the file")),
                ("elsewhere/headers", Gives::Refused("another namespace")),
                ("../params", Gives::Refused("not the name of a ConfigMap")),
            ])
            .part(|draft, entry| put(&mut draft.fastcgi.parameters, config_map::reference(entry)))
            .compared(Compared::StricterValues(
                "Variables that would let clients choose the file that is run, options of PHP, folders of the node \
                 ($document_root) and headers are refused.",
                "Write the folder of the application, such as /var/www$fastcgi_script_name.",
            )),
    ],
    finish,
};

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let FastCgiDraft { mut own, parameters } = std::mem::take(&mut draft.fastcgi);
    if draft.reading.protocol != Some(Protocol::FastCgi) {
        return;
    }
    if let Some(reference) = parameters {
        match read(context, &reference) {
            Ok(parameters) => own.parameters = parameters,
            Err((reason, note)) => {
                draft.close(reason, reference.origin, format!("{note}; the routes answer 503 until that is corrected"));
            }
        }
    }
    if own != FastCgi::default() {
        draft.reading.behaviour.fastcgi = Some(Arc::new(own));
    }
}

/// The parameters in a ConfigMap; if one of them is invalid, none is used.
fn read(context: &Context<'_>, wanted: &SecretReference) -> Result<Vec<(ParameterName, Template)>, (Reason, String)> {
    let (namespace, name) = (wanted.namespace.as_deref().unwrap_or(context.namespace()), &wanted.name);
    if namespace != context.namespace() && !context.options.cross_namespace {
        let note = "the ConfigMap is in another namespace, which the administrator does not allow (`cross-namespace`)";
        return Err((Reason::CrossNamespace, note.to_owned()));
    }
    let Some(map) = context.snapshot.config_map(namespace, name) else {
        let note = format!("ConfigMap {namespace}/{name} does not exist, or may not be read");
        return Err((Reason::MissingConfigMap, note));
    };
    if map.object.data.as_ref().is_some_and(|data| data.len() > MOST_PARAMETERS) {
        let note = format!("ConfigMap {namespace}/{name} has more than {MOST_PARAMETERS} parameters");
        return Err((Reason::InvalidSecurityValue, note));
    }
    let read = |(key, value): (&String, &String)| {
        parameter(key, value).map_err(|refused| {
            let note = format!("key {} of ConfigMap {namespace}/{name} is refused: {refused}", excerpt(key));
            (Reason::InvalidSecurityValue, note)
        })
    };
    map.object.data.iter().flatten().map(read).collect()
}

fn parameter(key: &str, value: &str) -> Result<(ParameterName, Template), Refused> {
    let name = ParameterName::new(key)?;
    // On some systems applications ignore the case of names.
    let upper = key.to_ascii_uppercase();
    if SETTINGS.contains(&upper.as_str()) {
        return Err(Refused::because("it changes settings of PHP; set them where the application runs"));
    }
    if FRAMING.contains(&upper.as_str()) {
        return Err(Refused::because("only nginx sets it"));
    }
    if upper.starts_with("HTTP_") {
        return Err(Refused::because("it is a header, and applications get the headers of the request"));
    }
    let place = if FILES.contains(&upper.as_str()) { TemplateUse::File } else { TemplateUse::Parameter };
    Ok((name, template(value.trim_end_matches('\n'), place)?))
}
