//! The status page, as a browser reads it that runs no script.

use html5ever::tendril::TendrilSink as _;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use serde_json::json;

use rig::client::{Reply, get, post};
use rig::manifests::{ingress, tls_secret};
use rig::wait;

const PAGE: &str = "http://127.0.0.1:10254/";

/// What stands in the place of elements that a stranger could want.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=//evil.test onerror=alert(2)>";

/// A parsed page.
struct Page(RcDom);

/// An element: name, attributes, and text with that of all elements in it.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl Page {
    fn read(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{}", reply.text());
        Page(html5ever::parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(reply.text()))
    }

    fn elements(&self) -> Vec<Element> {
        let mut found = Vec::new();
        collect(&self.0.document, &mut found);
        found
    }

    /// The text of a section.
    fn section(&self, id: &str) -> String {
        let section = self.elements().into_iter().find(|element| element.attribute("id") == Some(id));
        section.unwrap_or_else(|| panic!("no section {id}")).text
    }
}

fn collect(node: &Handle, found: &mut Vec<Element>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attribute =
            |attribute: &html5ever::Attribute| (attribute.name.local.to_string(), attribute.value.to_string());
        let attributes = attrs.borrow().iter().map(attribute).collect();
        let mut text = String::new();
        write(node, &mut text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        found.push(Element { name: name.local.to_string(), attributes, text });
    }
    node.children.borrow().iter().for_each(|child| collect(child, found));
}

fn write(node: &Handle, text: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        text.push_str(&contents.borrow());
        text.push(' ');
    }
    node.children.borrow().iter().for_each(|child| write(child, text));
}

async fn page(query: &str) -> Page {
    Page::read(&get(&format!("{PAGE}{query}")).send().await)
}

/// The text of a section of the page.
pub async fn section(query: &str, id: &str) -> String {
    page(query).await.section(id)
}

fn has(page: &Page, section: &str, words: &[&str]) {
    let text = page.section(section);
    for words in words {
        assert!(text.contains(words), "{words:?} is not in {section}:\n{text}");
    }
}

#[test]
fn each_view_says_what_an_administrator_looks_for() {
    rig::run(async |rig| {
        let objects = [
            tls_secret("cert", &["shop.test"]),
            ingress("shop")
                .path("shop.test", "Exact", "/cart", "web")
                .host("shop.test", "web")
                .tls(&["shop.test"], "cert")
                .annotation("proxy-read-timeout", "7")
                .class("nginx")
                .build(),
        ];
        rig.manifests.write("shop.yaml", &objects);
        rig.start().await;
        has(&page("").await, "state", &["All is well", "serving: generation 1, 1 host"]);
        rig.manifests.write("away.yaml", &[ingress("away").host("away.test", "nobody").build()]);
        rig.daemon.status_when("the second one", |status| status["hosts"] == 2).await;
        assert_eq!(get("https://shop.test/cart").send().await.status, 200);
        wait::until("the request is counted", async || {
            page("").await.section("traffic").contains("default/shop").then_some(())
        })
        .await;

        let all = page("").await;
        has(&all, "state", &["1 thing needs attention", "1 warning", "The findings below say where, and what to do."]);
        has(
            &all,
            "hosts",
            &[
                "2 hosts",
                "shop.test TLS by Secret default/cert",
                "/cart exactly",
                "goes to Service default/web, port 80",
                "10.244.0.1:8080",
                "away.test / Ingress default/away is answered 503 shop.test",
                "Ingress default/away closed all its routes answer 503 away.test",
            ],
        );
        has(
            &all,
            "findings",
            &[
                "warning Ingress default/away: spec.rules[0]",
                "Create the Service, or correct its name.",
                "MissingService",
            ],
        );
        has(&all, "generations", &["2 ", "Ingress default/away added", "current", " ms", "ingressd diff"]);
        has(&all, "nodes", &["reads a folder"]);
        has(&all, "certificates", &["1 certificate", "Secret default/cert", "UTC", "in "]);
        has(&all, "generations", &["How long changes took until they were served 2 changes: "]);
        let hour = "1 1 in the last hour, at most 1 in a minute; 0 of them answered 5xx 0";
        has(&all, "traffic", &[&format!("default/shop web {hour}"), &format!("shop.test {hour}"), " ms", "By host"]);
        let reasons = page("reasons").await;
        has(&reasons, "MissingService", &["Create the Service"]);
        let links = all.elements().into_iter().filter_map(|element| element.attribute("href").map(str::to_owned));
        let links: Vec<_> = links.filter_map(|link| Some(link.strip_prefix("/reasons#")?.to_owned())).collect();
        assert_eq!(links, ["MissingService"]);

        // A search has every word, in whatever cell.
        let found = page("?search=SHOP+%2Fcart").await;
        has(&found, "hosts", &["1 host of 2 with SHOP /cart"]);
        has(&found, "findings", &["None of 1 has this."]);
        assert!(!found.section("hosts").contains("away.test"));
        let explained = page("?explain=http%3A%2F%2Fshop.test%2Fcart").await;
        has(
            &explained,
            "explained",
            &[
                "It is taken by Ingress default/shop: spec.rules[0].http.paths[0]",
                "goes to Service default/web",
                "proxy-read-timeout 7",
            ],
        );
        has(&page("?explain=%3F").await, "explained", &["That is no URL of a request"]);

        rig.nginx.stop().await;
        rig.daemon.status_when("the end of nginx", |status| status["phase"] == "nginx-down").await;
        has(&page("").await, "state", &["This node is not ready", "ingressd doctor"]);
    });
}

#[test]
fn what_strangers_write_is_text_in_every_cell() {
    rig::run(async |rig| {
        let backend = json!({"service": {"name": HOSTILE, "port": {"number": 80}}});
        let objects = [
            ingress("path")
                .path_to("a.test", "ImplementationSpecific", &format!("/{HOSTILE}"), backend.clone())
                .build(),
            ingress("host").host(HOSTILE, "web").build(),
            ingress("note").host("b.test", "web").annotation("proxy-read-timeout", HOSTILE).class("nginx").build(),
            ingress("secret").host("c.test", "web").tls(&["c.test"], HOSTILE).build(),
            ingress(HOSTILE).host("d.test", "web").build(),
            ingress("good").host("e.test", "web").build(),
        ];
        rig.manifests.write("hostile.yaml", &objects);
        rig.start().await;
        let queries = [
            String::new(),
            format!("?search={}", encoded(HOSTILE)),
            format!("?search=a.test&explain={}", encoded(&format!("a.test/{HOSTILE}"))),
            format!("?explain={}", encoded(HOSTILE)),
            "?explain=a.test/x".to_owned(),
        ];
        for query in &queries {
            let page = page(query).await;
            for element in page.elements() {
                let Element { name, attributes, text } = &element;
                let is_ours = match name.as_str() {
                    "script" => text.is_empty() && element.attribute("src") == Some("/page.js"),
                    "svg" => element.attribute("class") == Some("chart") && !text.contains("alert"),
                    "img" | "style" | "iframe" | "object" | "embed" | "base" => false,
                    _ => true,
                };
                assert!(is_ours, "{query}: {name} {attributes:?} {text}");
                for (name, value) in attributes {
                    let is_local = ["/", "#"].iter().any(|begin| value.starts_with(begin)) && !value.starts_with("//");
                    assert!(!["src", "href", "action"].contains(&name.as_str()) || is_local, "{query}: {name}={value}");
                    assert!(!name.starts_with("on") && name != "style", "{query}: {name}={value}");
                }
            }
        }
        // It is shown, so that it is known what was written.
        let all = page("").await;
        let words = HOSTILE.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.section("findings").contains(&words), "{}", all.section("findings"));
        let search =
            page(&queries[1]).await.elements().into_iter().find(|element| element.attribute("id") == Some("search"));
        assert_eq!(search.unwrap().attribute("value"), Some(HOSTILE));
    });
}

#[test]
fn a_browser_may_load_nothing_from_elsewhere_and_asks_for_nothing_but_reading() {
    rig::run(async |rig| {
        rig.start().await;
        for path in ["", "page.css", "page.js", "page.svg", "reasons"] {
            let reply = get(&format!("{PAGE}{path}")).send().await;
            let header = |name: &str| reply.headers.get(name).map_or("", |value| value.to_str().unwrap());
            let policy = header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{path}: {policy}");
            for word in ["http:", "https:", "*", "data:"] {
                assert!(!policy.contains(word), "{path}: {policy}");
            }
            let reported = ["x-content-type-options", "referrer-policy", "x-frame-options"].map(header);
            assert_eq!(reported, ["nosniff", "no-referrer", "DENY"], "{path}");
            assert_eq!(header("cache-control"), "no-store", "{path}");
            assert!(!reply.text().contains("http://") || path == "page.svg", "{path} names another host");
        }
        assert_eq!(post(PAGE, "search=a").send().await.status, 405);
        assert_eq!(get(PAGE).header("host", "rebound.example").send().await.status, 421);
        assert_eq!(get(&format!("{PAGE}page.html")).send().await.status, 404);
    });
}

#[test]
fn many_hosts_are_shown_a_page_at_a_time() {
    rig::run(async |rig| {
        let names: Vec<_> = (100..220).map(|number| format!("h{number}")).collect();
        let objects: Vec<_> =
            names.iter().map(|name| ingress(name).host(&format!("{name}.test"), "web").build()).collect();
        rig.manifests.write("many.yaml", &objects);
        rig.start().await;
        let (mut seen, mut next) = (Vec::new(), Some(String::from("?page=1")));
        while let Some(query) = next {
            let page = page(&query).await;
            let text = page.section("hosts");
            seen.extend(names.iter().filter(|name| text.contains(&format!("{name}.test"))).cloned());
            let link = page.elements().into_iter().find(|element| element.attribute("rel") == Some("next"));
            next = link.map(|link| link.attribute("href").unwrap().trim_start_matches('/').to_owned());
            next = next.map(|url| url.trim_end_matches("#hosts").to_owned());
        }
        assert_eq!(seen, names);
        has(&page("?search=h217").await, "hosts", &["1 host of 120", "h217.test"]);
    });
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
