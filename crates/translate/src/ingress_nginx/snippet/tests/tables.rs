//! Lookup tables in snippets: how they are read, what is refused, and which snippets use them.

use std::sync::Arc;

use super::{lines, options, reading};
use crate::Options;
use ingressd_model::{Kind, LookupKey, LookupRows, LookupTable, ObjectId, Origin};

/// Each table on a line, with its rows.
fn shown(tables: &[LookupTable]) -> Vec<String> {
    let line = |table: &LookupTable| {
        let (source, rows): (String, Vec<String>) = match &table.rows {
            LookupRows::Texts(source, rows) => {
                let key = |key: &LookupKey| match key {
                    LookupKey::Is(text) => format!("{text:?}"),
                    LookupKey::Matches { pattern, any_case } => {
                        format!("~{}{pattern}", if *any_case { "*" } else { "" })
                    }
                };
                (source.to_string(), rows.iter().map(|(own, value)| format!("{}={value}", key(own))).collect())
            }
            LookupRows::Addresses(source, rows) => {
                (source.to_string(), rows.iter().map(|(network, value)| format!("{network}={value}")).collect())
            }
        };
        format!("{source} {} |{}| {}", table.variable.as_str(), table.default, rows.join(" "))
    };
    tables.iter().map(line).collect()
}

fn tables(text: &str) -> Result<Vec<LookupTable>, String> {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")));
    super::super::tables(text, &origin).map_err(|refused| refused.to_string())
}

#[test]
fn tables_of_all_hosts_are_read_into_values() {
    let text = "map $http_x_plan $plan {\n default free; Gold \"paid; } #\"; ~^trial-([a-z]+)$ 'trial $1'; \"\" none; \\default x; }\n\
                geo $side { default outside; 10.1.2.3/16 inside; ::1 \"\"; }\n\
                geo $http_x_real $other { 192.0.2.1 a; }\n\
                map \"$plan:$request_uri\" $both { ~*^none: $host; }";
    assert_eq!(
        shown(&tables(text).unwrap()),
        [
            "${http_x_plan} s_table_plan |free| \"Gold\"=paid; } # ~^trial-([a-z]+)$=trial $1 \"\"=none \"default\"=x",
            "${remote_addr} s_table_side |outside| 10.1.0.0/16=inside ::1/128=",
            "${http_x_real} s_table_other || 192.0.2.1/32=a",
            "${s_table_plan}:${request_uri} s_table_both || ~*^none:=${host}",
        ]
    );
    assert_eq!(tables("").unwrap(), []);
}

#[test]
fn other_directives_in_a_snippet_of_all_hosts_are_refused_by_name() {
    let long = format!("map $host $a {{ {} 1; }}", "k".repeat(47));
    let rows = format!("map $host $a {{ {} }}", (0..1001).map(|row| format!("k{row} 1;")).collect::<String>());
    let heavy = format!("map $host $a {{ {} }}", (0..101).map(|row| format!("~a{row}$ 1;")).collect::<String>());
    for (text, why) in [
        (
            "log_format x 'y';",
            "line 1, column 1: \"log_format\": it is refused, because it is read for all hosts; instead: the administrator's access-log",
        ),
        ("\n  limit_req_zone $host zone=a:1m rate=1r/s;", "line 2, column 3: \"limit_req_zone\""),
        ("limit_req_zone $host zone=a:1m rate=1r/s;", "instead: limit-rps or limit-rpm"),
        ("proxy_cache_path /x keys_zone=a:1m;", "files of the node; instead: the backend"),
        ("server { listen 81; }", "hosts are those of Ingresses"),
        ("upstream x { server 127.0.0.1; }", "requests go to the Service of the path"),
        ("lua_shared_dict a 1m;", "Lua is not run"),
        ("init_by_lua_block { x = '}' }", "Lua is not run"),
        ("include /etc/passwd;", "files of the node"),
        ("split_clients $host $a { 50% x; * y; }", "instead: canary-weight"),
        ("proxy_read_timeout 5m;", "instead: location-snippet"),
        ("add_header X-A b;", "instead: location-snippet"),
        ("made_up 1;", "a snippet may not have"),
        ("map $host $a", "unexpected end of file"),
        ("map $host $a;", "write what is looked up, a variable and a block"),
        ("map $host a { x y; }", "write the variable to set as $name"),
        ("map $host $uri { x y; }", "is a variable of nginx"),
        ("map $host $http_x { x y; }", "is a variable of nginx"),
        ("map $host $namespace { x y; }", "is a variable of nginx"),
        ("map $host $a { x y; } geo $A { default 1; }", "another table sets the same variable"),
        ("map $http_authorization $a { x y; }", "contains passwords"),
        ("map $ssl_client_raw_cert $a { x y; }", "may not read"),
        ("map $b $a { x y; } map $host $b { x y; }", "is set further below"),
        ("map $namespace $a { x y; }", "the same for all requests"),
        ("map $host $a { x $service_name; }", "cannot be used in a table for all hosts"),
        ("map $host $a { x $http_cookie; }", "contains passwords"),
        ("map $host $a { x $uri; }", "contain a line break"),
        ("map $uri $a { ~^/(.*) $1; }", "decoded and could contain a line break"),
        ("map $host $a { x $1; }", "has a capture"),
        ("map $host $a { default $1; }", "has a capture"),
        (
            "map $host $a { hostnames; .example.com 1; }",
            "\"hostnames\" in line 1: write names of several hosts as expressions",
        ),
        ("map $host $a { include x; }", "files of the node"),
        ("map $host $a { volatile; }", "once"),
        ("map $host $a { X 1; x 2; }", "it is there twice"),
        ("map $host $a { default 1; default 2; }", "it is there twice"),
        ("map $host $a { x 1 2; }", "the wrong number of arguments"),
        ("map $host $a { x { y z; } }", "the wrong number of arguments"),
        ("map $host $a { ~( 1; }", "the expression"),
        ("map $host $a { ~(?<x>a) 1; }", "the expression"),
        ("geo $a { ranges; 10.0.0.1-10.0.0.2 b; }", "the wrong number of arguments"),
        ("geo $a { proxy 10.0.0.0/8; }", "write a row as default or a network"),
        ("geo $a { include x; }", "write a row as default or a network"),
        ("geo $a { 10.0.0.0/33 b; }", "not an address or network"),
        ("geo $a { 0.0.0.0/0 b; }", "write default for all addresses"),
        ("geo $a { 10.0.0.1/8 b; 10.0.0.0/8 c; }", "it is there twice"),
        ("geo $a { default $host; }", "nginx reads no variables here"),
        ("geo /x $a { default b; }", "write what is looked up as $name"),
        (&long, "longer than the 46 bytes"),
        (&rows, "more than 1000 rows"),
        (&heavy, "a weight of more than 100"),
    ] {
        let reported = tables(text).map(|tables| shown(&tables)).expect_err(text);
        assert!(reported.contains(why), "{text}: {reported}");
    }
}

#[test]
fn snippets_read_the_tables_of_all_hosts() {
    let lookup_tables = tables("map $http_x_plan $plan { default free; }").unwrap().into();
    let with = Options { lookup_tables, ..options() };
    let reported = |options: &Options, snippet: &str| {
        let reading = reading("scribe", options, &[("configuration-snippet", snippet)]);
        let notes: Vec<_> = reading.findings.iter().map(|finding| finding.note.to_string()).collect();
        (reading.behaviour.snippets.iter().flat_map(|snippet| lines(snippet)).collect::<Vec<_>>(), notes)
    };
    let snippet = "add_header X-Plan $Plan;\nif ($plan = free) { return 402; }";
    assert_eq!(reported(&with, snippet).0, ["if ${s_table_plan} = \"free\": return 402;", "+X-Plan: ${s_table_plan}"]);
    assert!(reported(&options(), snippet).1[0].contains("may not read"));
    // A variable that a snippet sets is its own, whatever the names of tables are.
    assert!(!reported(&with, "set $plan x;\nadd_header X-Plan $plan;").0.concat().contains("s_table"));
    // A table may match expressions, which overwrites earlier captures.
    let captured = "if ($request_uri ~ ^/(.*)) { return 301 https://x.test/$plan/$1; }";
    assert!(reported(&with, captured).1[0].contains("overwrite the captures"));
    for first in ["set $x $plan;", "add_header X-Plan $plan;", "set $x $best_http_host;"] {
        let then = format!("if ($request_uri ~ ^/(.*)) {{ {first} add_header X-Path $1; }}");
        assert!(reported(&with, &then).1[0].contains("no regular expression before it"), "{first}");
        let then = format!("if ($request_uri ~ ^/(.*)) {{ add_header X-Path $1; {first} }}");
        assert!(reported(&with, &then).1.is_empty(), "{first}");
    }
}
