//! The session in README.md: its commands run here, and print what it shows but for numbers.

use std::path::Path;
use std::process::Output;

use rig::manifests::{in_namespace, ingress, service_at, tls_secret};
use rig::status::reports;
use rig::{ECHO, Rig};

const BEGINS: &str = "<!-- session -->\n```text\n";
const ENDS: &str = "```\n<!-- end of session -->\n";

/// A setting that tests have and other nodes have not.
const OF_TESTS: &str = "  upstreams.resolvers:";

const COMMANDS: &[&[&str]] = &[&["status", "shop/cart"], &["explain", "https://shop.example/cart/5"]];

fn cart(more: &[(&str, &str)]) -> serde_json::Value {
    let cart = ingress("cart").class("nginx").path("shop.example", "Prefix", "/cart", "cart");
    let cart = cart.tls(&["shop.example"], "shop.example").annotation("proxy-body-size", "20m");
    let cart = more.iter().fold(cart, |cart, (key, value)| cart.annotation(key, value));
    in_namespace("shop", cart.build())
}

async fn prints(rig: &Rig) -> String {
    let mut text = String::new();
    for words in COMMANDS {
        let mut command = rig.daemon.command(words[0]);
        let Output { stdout, .. } = command.args(&words[1..]).output().unwrap();
        let printed = String::from_utf8(stdout).unwrap();
        text += &format!("$ ingressd {}\n{}\n", words.join(" "), without_settings_of_tests(&printed));
    }
    text.trim_end().replace(&format!("{}/", rig.folder().display()), "/etc/ingressd/") + "\n"
}

/// Without the lines about that setting.
fn without_settings_of_tests(printed: &str) -> String {
    let mut is_within = false;
    let lines = printed.lines().filter(|line| {
        is_within = line.starts_with(OF_TESTS) || (is_within && line.starts_with("    "));
        !is_within
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// The text with one sign for each number, and without the blanks that follow from its length.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    for sign in text.chars() {
        let sign = if sign.is_ascii_digit() { '0' } else { sign };
        if !(matches!(sign, '0' | ' ') && plain.ends_with(sign)) {
            plain.push(sign);
        }
    }
    plain
}

#[test]
fn the_session_of_the_first_page_is_what_commands_print() {
    rig::run(async |rig| {
        let service = service_at("cart", &["10.244.0.1"], ECHO).map(|object| in_namespace("shop", object));
        let certificate = in_namespace("shop", tls_secret("shop.example", &["shop.example"]));
        rig.manifests.write("shop.yaml", &service.into_iter().chain([certificate]).collect::<Vec<_>>());
        rig.manifests.write("cart.yaml", &[cart(&[])]);
        rig.start().await;
        rig.manifests.write("cart.yaml", &[cart(&[("ssl-ciphers", "FASTEST")])]);
        rig.daemon.status_when("the mistake", |status| reports(status, "Ingress cart", "Quarantined")).await;
        let printed = prints(rig).await;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        let page = std::fs::read_to_string(&file).unwrap();
        let (before, rest) = page.split_once(BEGINS).unwrap();
        let (shown, after) = rest.split_once(ENDS).unwrap();
        let is_same = without_numbers(shown) == without_numbers(&printed);
        if !is_same && std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, format!("{before}{BEGINS}{printed}{ENDS}{after}")).unwrap();
            return;
        }
        assert!(is_same, "README.md is stale: UPDATE=1 writes what is printed now:\n{printed}");
    });
}
