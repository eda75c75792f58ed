//! Annotations about the web application firewall; any mistake closes the routes. They must not
//! know where the rules are.

use std::sync::Arc;

use crate::annotation::{Compared, Context, Draft, Family, Form, Gives, OnError, Row, Shape, Trust, put};
use crate::value::{boolean, excerpt, is_harmless};
use ingressd_model::{Firewall, FirewallSetting, LogLine, LogPart, Refused, VariableClass};

const PLAIN: &str = "a firewall";
const WITH_CORE_RULES: &str = "a firewall with the rules of OWASP";
const ON: &[(&str, &str)] = &[("enable-modsecurity", "true")];

/// Files of ingress-nginx's image that snippets include: the OWASP rules, and settings that every
/// route has anyway.
const CORE_RULES_INCLUDED: &str = "include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf";
const RULES_INCLUDED: &str = "include /etc/nginx/modsecurity/modsecurity.conf";

/// Settings, one on each line.
const SNIPPET: Shape = Shape { name: "lines of settings", pattern: "(?s)[#A-Za-z].*", longest: 4096, ..Shape::DEFAULT };

/// A transaction ID.
const TRANSACTION: Shape = Shape {
    name: "letters, digits, - _ and $request_id, $request_method, $remote_addr, $scheme or $is_args",
    pattern: r"(?:[A-Za-z0-9_-]|\$[a-z0-9_]+|\$\{[a-z0-9_]+\})+",
    longest: 200,
    ..Shape::DEFAULT
};

pub static FAMILY: Family = Family {
    title: "Web application firewall",
    rows: &[
        Row::new("enable-modsecurity", Form::Boolean)
            .on_error(OnError::Close)
            .documentation("ModSecurity checks the requests, with the administrator's rules (section firewall of the settings; see docs/modules.md). The routes answer 503 on nodes without the module or its rules. SecRuleEngine in the rules decides whether requests are refused or only logged. nginx reads the whole body before it sends a request to the backend.")
            .tries(&[
                ("true", Gives::Sets(PLAIN)),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.firewall.enabled, boolean(entry.value)))
            .compared(Compared::Stricter(
                "The module and its rules are the node's; on nodes without them the routes answer 503.",
                "install libnginx-mod-http-modsecurity on each node",
            )),
        Row::new("enable-owasp-core-rules", Form::Boolean)
            .on_error(OnError::Close)
            .documentation("Checks requests also by the rules of OWASP. With true the firewall is on unless enable-modsecurity is false; the routes answer 503 on nodes without these rules.")
            .tries(&[
                ("true", Gives::Sets(WITH_CORE_RULES)),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                draft.firewall.core_rules = boolean(entry.value)?;
                draft.firewall.asks_for_core_rules = draft.firewall.core_rules && entry.is_own;
                Ok(())
            })
            .compared(Compared::Stricter(
                "It also switches the firewall on; on nodes without the rules the routes answer 503.",
                "install modsecurity-crs on each node",
            )),
        Row::new(
            "modsecurity-snippet",
            Form::Partly(&Form::Text(&SNIPPET), "what its lines say is left to the program"),
        )
        .counts_with(&[("enable-modsecurity", "true"), ("enable-owasp-core-rules", "true")])
        // Its lines are parsed to values, not used as configuration.
        .trust(Trust::High)
        .on_error(OnError::Refuse)
        .documentation(
            "Settings of ModSecurity, one on each line: SecRuleEngine, SecRequestBodyAccess, SecResponseBodyAccess, \
             the limits of bodies and their actions, SecRuleRemoveById, SecRuleRemoveByTag, and SecAuditEngine with a \
             value other than On. Lines that begin with # are comments. To include nginx-modsecurity.conf of \
             ingress-nginx is the same as enable-owasp-core-rules. With rules (SecRule, SecAction) or names of files \
             the object is refused: write rules into the files of the setting firewall.rules.",
        )
        .beside(ON)
        .tries(&[
            ("SecRuleEngine On", Gives::Sets("its rules: SecRuleEngine On")),
            (
                "# not for us\nSecRuleRemoveById 942100 920000-920999",
                Gives::Sets("its rules: SecRuleRemoveById 942100 920000-920999"),
            ),
            ("Include /etc/nginx/owasp-modsecurity-crs/nginx-modsecurity.conf", Gives::Sets(WITH_CORE_RULES)),
            ("SecRule ARGS \"@contains x\" \"id:1,deny\"", Gives::Refused("only these settings")),
            ("SecAuditLog /var/log/nginx/x", Gives::Refused("only these settings")),
            ("SecRequestBodyLimit 52428800", Gives::Refused("13107200 at most")),
            ("SecResponseBodyLimit 1000000", Gives::Refused("524288 at most")),
        ])
        .part(|draft, entry| snippet(entry.value, draft))
        .compared(Compared::Stricter(
            "Only settings are accepted, and none that names a file; they are added to the administrator's rules.",
            "put rules into a file of firewall.rules on each node",
        )),
        Row::new("modsecurity-transaction-id", Form::Partly(&Form::Text(&TRANSACTION), "not every variable is taken"))
            .counts_with(&[("enable-modsecurity", "true"), ("enable-owasp-core-rules", "true")])
            .trust(Trust::High)
            .documentation("Name of a request in the log of the firewall: letters, digits, - and _, and $request_id, $request_method, $remote_addr, $scheme or $is_args. The firewall encodes nothing there, so other variables could forge lines.")
            .beside(ON)
            .tries(&[
                ("$request_id", Gives::Sets("its log calls a request ${request_id}")),
                ("shop-${remote_addr}", Gives::Sets("its log calls a request shop-${remote_addr}")),
                ("$uri", Gives::Refused("cannot be used here")),
                ("$host", Gives::Refused("cannot be used here")),
                ("$ssl_client_raw_cert", Gives::Refused("no variable")),
                ("$http_authorization", Gives::Refused("cannot be used here")),
                ("a b", Gives::Refused("letters, digits")),
            ])
            .part(|draft, entry| put(&mut draft.firewall.transaction, transaction(entry.value.trim())))
            .compared(Compared::StricterValues("Only variables are accepted that could forge no line of a log.", "")),
    ],
    finish,
};

fn snippet(value: &str, draft: &mut Draft) -> Result<(), Refused> {
    if value.trim().chars().count() > SNIPPET.longest {
        return Err(Refused(format!("it is longer than {} characters", SNIPPET.longest).into()));
    }
    let mut settings = Vec::new();
    let lines = value.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        match line.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase().as_str() {
            CORE_RULES_INCLUDED => draft.firewall.core_rules = true,
            RULES_INCLUDED => {}
            _ => {
                let refused = |Refused(why)| Refused(format!("{}: {why}", excerpt(line)).into());
                settings.push(FirewallSetting::new(line).map_err(refused)?);
            }
        }
    }
    draft.firewall.settings = settings;
    Ok(())
}

fn transaction(value: &str) -> Result<LogLine, Refused> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_${}".contains(&byte);
    if !value.bytes().all(is_plain) || value.len() > TRANSACTION.longest {
        return Err(Refused::because("it is not of letters, digits, - and _, and variables"));
    }
    let line = LogLine::new(value)?;
    let is_kept_back = |part: &&LogPart| match part {
        LogPart::Text(text) => text.contains(['{', '}']),
        // The firewall encodes nothing in its log. Hosts that are alike share a server, whose name
        // may be that of another host.
        LogPart::Nginx(name) => {
            let is_known = is_harmless(name) && **name != *"server_name" || **name == *"request_id";
            !is_known || VariableClass::of(name) != Some(VariableClass::Fixed)
        }
        LogPart::Route(_) | LogPart::Geo(_) => true,
    };
    match line.parts().iter().find(is_kept_back) {
        Some(part) => Err(Refused(
            format!("{part} cannot be used here; use values of nginx's own, such as $request_id or $remote_addr")
                .into(),
        )),
        None => Ok(line),
    }
}

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let asked = std::mem::take(&mut draft.firewall);
    if !asked.enabled.unwrap_or(asked.asks_for_core_rules) {
        return;
    }
    draft.reading.behaviour.firewall = Some(Arc::new(Firewall {
        core_rules: asked.core_rules,
        transaction: asked.transaction,
        settings: asked.settings,
        shares_rules: context.options.shares_firewall_rules,
    }));
}
