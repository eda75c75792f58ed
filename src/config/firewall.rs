//! The keys of the section `firewall`: the rules of ModSecurity. They must not know files or
//! layers.

use config::Value;

use super::table::Row;
use super::value::{Form, Setting, put, text};
use crate::nginx::RuleFiles;
use crate::translate::Scope;

/// Its keys.
pub const ROWS: &[Row] = &[
    Row {
        key: "firewall.rules",
        scope: Scope::Route,
        form: Form::List,
        default: r#"["/etc/nginx/modsecurity.conf"]"#,
        doc: "Files with the settings and rules of every route whose annotations ask for ModSecurity (`enable-modsecurity`), in their order; a `*` in the last part stands for any name. The default is that of the package libnginx-mod-http-modsecurity of Debian and Ubuntu, by which requests are looked at and logged, and none is turned away: `SecRuleEngine On` in it does that. Where nginx.conf names rules for all sites, those count instead. Routes that ask for rules that are not there answer 503.",
        set: |settings, value| put(&mut settings.gate.firewall.rules, value),
    },
    Row {
        key: "firewall.core-rules",
        scope: Scope::Route,
        form: Form::List,
        default: r#"["/etc/modsecurity/crs/crs-setup.conf", "/etc/modsecurity/crs/REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf", "/usr/share/modsecurity-crs/rules/*.conf", "/etc/modsecurity/crs/RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf"]"#,
        doc: "Files with the rules of OWASP, for routes that ask for these too (`enable-owasp-core-rules`), in their order. The default is that of the package modsecurity-crs of Debian and Ubuntu. An empty list says that they are among the others. Their numbers are 900000 to 999999, and no other rule may have one of these: routes that do not ask for them go without.",
        set: |settings, value| put(&mut settings.gate.firewall.core_rules, value),
    },
    Row {
        key: "firewall.shared",
        scope: Scope::Route,
        form: Form::Boolean,
        default: "false",
        doc: "Whether the rules are read once for all sites of nginx. Otherwise each host reads them whose routes ask for them, which takes time and memory for each. Once read, they cost each location of each site of this nginx some memory, whether it asks for them or not. `enable-modsecurity: \"true\"` in the ConfigMap of ingress-nginx sets it as well.",
        set: |settings, value| {
            let mut are_shared = false;
            put(&mut are_shared, value)?;
            settings.share_firewall_rules(are_shared);
            Ok(())
        },
    },
];

impl Setting for RuleFiles {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        let wrong = || {
            format!(
                "{text:?} is not the absolute path of a file, of letters, digits and _ . / -, with * in its last part perhaps"
            )
        };
        text.parse().map_err(|()| wrong())
    }
}
