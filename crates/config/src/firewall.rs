//! The keys of the section `firewall`: the rules of ModSecurity. They must not know files or
//! layers.

use config::Value;

use super::table::{SettingRow, row};
use super::value::{Form, Setting, text};
use ingressd_nginx::RuleFiles;
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("firewall.rules", Scope::Route, r#"["/etc/nginx/modsecurity.conf"]"#, gate.firewall.rules)
        .doc("Files with the settings and rules for routes whose annotations ask for ModSecurity (`enable-modsecurity`), in their order; a `*` in the last part of a path matches any name. The default is the file of the package libnginx-mod-http-modsecurity of Debian and Ubuntu, which only logs; write `SecRuleEngine On` into it to refuse requests. Rules for all sites in nginx.conf replace these files. Routes answer 503 when a file is missing."),
    row!("firewall.core-rules", Scope::Route, r#"["/etc/modsecurity/crs/crs-setup.conf", "/etc/modsecurity/crs/REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf", "/usr/share/modsecurity-crs/rules/*.conf", "/etc/modsecurity/crs/RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf"]"#, gate.firewall.core_rules)
        .doc("Files with the rules of OWASP, for routes that ask for these too (`enable-owasp-core-rules`), in their order. The default is that of the package modsecurity-crs of Debian and Ubuntu. An empty list means that `firewall.rules` contains them: then routes that do not ask for them do without the rules with the numbers 900000 to 999999."),
    SettingRow::new("firewall.shared", Scope::Route, Form::Boolean, "false", |settings, value| {
        settings.share_firewall_rules(bool::read(value)?);
        Ok(())
    })
        .doc("Whether nginx reads the rules once for all sites. Otherwise it reads them for each host whose routes ask for them, which takes time and memory for each. Shared rules cost each location of each site of this nginx some memory, whether it uses them or not. `enable-modsecurity: \"true\"` in the ConfigMap of ingress-nginx sets it as well."),
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
