//! The keys of the section `hosts`.

use std::sync::Arc;
use std::time::Duration;

use config::Value;

use super::table::{SettingRow, row};
use super::value::{Column, Form, Setting, list, put, read_table, text};
use ingressd_model::is_label;
use ingressd_objects::Selector;
use ingressd_translate::{Allowed, HostPattern, Scope};

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("hosts.ownership", Scope::Server, r#""dialect""#, translate.ownership)
        .doc("Who owns a host when several namespaces ask for it. `namespace`: the namespace that asked first owns the host, and others are refused; so is a host within an older wildcard host of another namespace. `shared`: several namespaces may have paths on one host, each path belongs to the namespace that asked for it first, and a younger path below a protected path is refused, except to the namespace that has the host. `dialect`: `shared` for classes of ingress-nginx, whose users rely on it, `namespace` for others. A class overrides it with `ownership`. A host that several namespaces share already stays shared until only one of them asks for it, and so does a wildcard host while others ask for hosts within it."),
    SettingRow::new("hosts.grace", Scope::Server, Form::Duration, r#""5m""#, |settings, value| {
        settings.translate.host_grace = i64::try_from(Duration::read(value)?.as_secs()).unwrap_or(i64::MAX);
        Ok(())
    })
        .doc("How long a host, or a path of a shared host, stays reserved for its namespace after the last object that asked for it is gone, so that an object that is deleted and created again does not lose the host to another namespace."),
    row!("hosts.most-removed-at-once", Scope::Node, "0", apply.most_removed)
        .doc("How many hosts one change may take away, 0 for any number. A deleted IngressClass, another label of a namespace or deleted Ingresses that take away more are held: the hosts are served as before until what is gone is back, or `ingressd resume` lets the change pass. All other changes are applied meanwhile. The daemon holds what happens while it runs, and not what the settings of the node take away."),
    row!("hosts.catch-all", Scope::Server, "[]", translate.catch_all)
        .doc("Namespaces whose objects without a host may take all requests for unknown hosts although `default-backend` is set, and set the certificate for these. Objects without a host in other namespaces get only their paths, beside the `default-backend` and with the default certificate."),
    row!("hosts.challenges", Scope::Server, "[]", translate.challenges)
        .doc("Namespaces that may serve paths below `/.well-known/acme-challenge` on hosts of other namespaces, for solvers of certificate authorities that are not in the namespace of the host. Whoever answers there gets certificates for the host, so these requests are otherwise served only by the namespace that asked for the host first, whatever `hosts.ownership` is; see [cert-manager.md](cert-manager.md#when-another-namespace-has-the-host)."),
    row!("hosts.disable-catch-all", Scope::Server, "false", translate.no_catch_all)
        .doc("Whether objects with `spec.defaultBackend` are ignored, as with the flag `--disable-catch-all` of ingress-nginx. Objects whose rules name no host are served all the same; use `hosts.allowed` to prevent that."),
    SettingRow::new("hosts.allowed", Scope::Server, Form::Tables(ALLOWED), "[]", |settings, value| {
        put_allowed(&mut settings.translate.allowed_hosts, value, ALLOWED, "it lists no hosts")
    })
        .doc("Which hosts a namespace may claim at all. Empty lets every namespace claim every host. As soon as there is a table, a namespace may claim only the hosts in the tables that select it. A table selects the namespaces in `namespaces`, or those with the labels in `selector`, or with both keys those that meet both. Everybody who may change Namespaces can set labels; as a rule only administrators may. A namespace whose labels are not known yet is selected by no `selector`, not even by one such as `!restricted`; in a folder of manifests the labels are known when the Namespace is among the manifests."),
];

/// The columns of `[[hosts.allowed]]`.
const ALLOWED: &[Column] = &[
    Column::new("namespaces", Form::List, r#"["team-a"]"#).doc("Names of namespaces; `*` for all."),
    Column::new("selector", Form::Text, r#""team=a""#)
        .doc("Labels of namespaces, written as kubectl takes them with -l, for example `team=a` or `team in (a,b),!old`. The credentials need the right to list and watch Namespaces; without it the hosts of this table are refused, and all others are served."),
    Column::new("hosts", Form::List, r#"["*.a.example.com", "a.example.com"]"#)
        .doc("Hosts that these namespaces may claim. `a.example.com` is only that host. `*.a.example.com` is everything below it at any depth, exact or wildcard, and the wildcard `*.a.example.com` itself, but not `a.example.com`; unlike this, the wildcard of an Ingress stands for one label. `*` is every host."),
];

/// Reads tables of namespaces and what they may use; `nothing` is the mistake of a table that
/// allows nothing.
pub fn put_allowed<T: Setting>(
    place: &mut Vec<Allowed<T>>,
    value: &Value,
    columns: &[Column],
    nothing: &str,
) -> Result<(), String> {
    let read = |(number, entry): (usize, &Value)| {
        let entry = read_table(entry, columns, Allowed::default(), |entry, key, value| match key {
            "namespaces" => put_namespaces(&mut entry.namespaces, value),
            "selector" => put(&mut entry.selector, value),
            "ports" => put(&mut entry.ports, value),
            _ => put(&mut entry.items, value),
        });
        let entry = entry.and_then(|entry| match (entry.namespaces.is_empty(), &entry.selector, &*entry.items) {
            (true, None, _) => Err("it selects no namespace: add namespaces, or a selector of their labels".to_owned()),
            (_, _, []) => Err(nothing.to_owned()),
            _ => Ok(entry),
        });
        entry.map_err(|why| format!("table {}: {why}", number + 1))
    };
    *place = list(value)?.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    Ok(())
}

/// Parses names of namespaces, or `*` for all.
fn put_namespaces(place: &mut Vec<Arc<str>>, value: &Value) -> Result<(), String> {
    put(place, value)?;
    let wrong = place.iter().find(|name| &***name != "*" && !is_label(name));
    wrong.map_or(Ok(()), |name| Err(format!("{name:?} is not a name of a namespace")))
}

impl Setting for HostPattern {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        text.parse().map_err(|why| format!("{text:?} is no host, wildcard or *: {why}"))
    }
}

impl Setting for Selector {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        text.parse().map_err(|why| format!("{text:?} is no selector of labels: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Settings, Sources};

    fn load(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ingressd.toml");
        std::fs::write(&file, text).unwrap();
        let settings = Sources { file: Some(file), ..Sources::default() }.load();
        settings.map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn allowed_hosts_are_tables() {
        let text = "[hosts]\n[[hosts.allowed]]\nnamespaces = ['a']\nhosts = ['*.a.example.com', 'A.example.com']\n\
                    [[hosts.allowed]]\nselector = 'team in (b, c)'\nhosts = ['*']\n";
        let read = load(text).unwrap().translate;
        assert!(read.needs_labels());
        let [first, second] = &*read.allowed_hosts else { panic!("{read:?}") };
        assert_eq!((&*first.namespaces, &first.selector, first.items.len()), (&["a".into()][..], &None, 2));
        assert_eq!(first.items[1], "a.example.com".parse().unwrap());
        assert_eq!((second.namespaces.len(), &second.selector), (0, &Some("team in (b,c)".parse().unwrap())));
        let inline = "hosts.allowed = [{ namespaces = ['a'], hosts = ['*'] }]";
        assert!(!load(inline).unwrap().translate.needs_labels());
    }

    #[test]
    fn mistakes_name_the_table_and_the_key() {
        let all = "namespaces = ['*']\nhosts = ['*']\n";
        for (table, expected) in [
            ("hosts = ['*']", "it selects no namespace"),
            ("namespaces = []\nselector = ''\nhosts = ['*']", "it selects no namespace"),
            ("namespaces = ['a']", "it lists no hosts"),
            ("namespaces = ['A']\nhosts = ['*']", "namespaces: \"A\" is not a name of a namespace"),
            ("namespaces = 'a'\nhosts = ['*']", "namespaces: it takes a list"),
            ("selector = 'team=a b'\nhosts = ['*']", "selector: \"team=a b\" is no selector of labels: "),
            ("selector = 'team'\nhosts = ['a.*']", "hosts: \"a.*\" is no host, wildcard or *: "),
            ("selector = 'team'\nhosts = ['']", "hosts: \"\" is no host, wildcard or *: it is empty"),
            ("selector = 'team'\nhost = ['*']", "unknown key \"host\"; did you mean hosts?"),
        ] {
            let message = load(&format!("\n[[hosts.allowed]]\n{all}[[hosts.allowed]]\n{table}\n")).unwrap_err();
            let expected = format!("ingressd.toml:2: hosts.allowed: table 2: {expected}");
            assert!(message.starts_with(&expected), "got {message}, not {expected}");
        }
        assert!(load("[hosts]\nallowed = 'all'\n").unwrap_err().contains("ingressd.toml:2: hosts.allowed: "));
    }
}
