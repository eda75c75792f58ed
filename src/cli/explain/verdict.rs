//! Whether an answer of nginx is what `ingressd explain` says. It must not know how it was asked.

use serde_json::{Value, json};
use url::Url;

use super::sent::{Sent, Took};
use ingressd_migrate::compare::{Answer, Answered, Scheme};
use ingressd_model::finding::printable;

/// What nginx answered, and how that compares.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AnswerComparison {
    /// What nginx answered, in words that complete "it".
    pub answered: String,
    /// What differs from what is said.
    pub differences: Vec<String>,
    /// What is not known, or is known now.
    pub notes: Vec<String>,
}

/// Compares the answer with what was `reported` of the request.
pub fn verdict(reported: &Value, sent: &Sent) -> AnswerComparison {
    let mut verdict = AnswerComparison { answered: answered(sent), ..AnswerComparison::default() };
    let is_there = |part: &&Value| part["on"].as_array().is_some_and(|on| on.iter().any(|on| *on == *sent.socket));
    let sites = reported["other_sites"].as_array().into_iter().flatten();
    if let Some(site) = sites.clone().find(|site| is_there(site) && site["is_unclear"] != true) {
        let from = printable(site["from"].as_str().unwrap_or("-"));
        verdict.notes.push(format!("another site of this nginx answers there ({from}), so that nothing is compared"));
        return verdict;
    }
    if Some(&reported["passthrough"]).filter(|passed| passed.is_object()).is_some_and(|passed| is_there(&passed)) {
        verdict.notes.push("nginx does not read TLS of the host, so that nothing is compared".to_owned());
        return verdict;
    }
    let reply = match &sent.answer {
        Answer::Some(reply) => reply,
        Answer::None(silence) => {
            verdict.differences.push(format!("nginx does not answer: {silence}"));
            return verdict;
        }
    };
    judge(&reported["route"]["answer"], sent, reply, &mut verdict);
    let unclear =
        reported["route"]["unless"].as_str().map(|expression| format!("the expression {}", printable(expression)));
    let unclear = unclear.or_else(|| {
        let site = { sites }.find(|site| is_there(site))?;
        Some(format!("the expression of the other site at {}", printable(site["from"].as_str().unwrap_or("-"))))
    });
    if let Some(unclear) = unclear.filter(|_| !verdict.differences.is_empty()) {
        let seen = std::mem::take(&mut verdict.differences).join("; ");
        verdict.notes.push(format!("nginx matches {unclear}: {seen}"));
    }
    verdict
}

fn judge(expected: &Value, sent: &Sent, reply: &Answered, verdict: &mut AnswerComparison) {
    let status = reply.status;
    let instead = expected["instead"].as_array();
    let is_instead = instead.is_none_or(|statuses| statuses.iter().any(|other| *other == status));
    let to_https = expected["over_plain_http"].as_u64().filter(|_| sent.scheme == Scheme::Http);
    let location = reply.headers.get(http::header::LOCATION).and_then(|value| value.to_str().ok());
    match (to_https.or(expected["status"].as_u64()), services(expected)) {
        (Some(own), _) if own == u64::from(status) => {
            let host = if to_https.is_some() { Some(&*sent.host) } else { expected["host"].as_str() };
            let wanted = to_https.map_or(expected["location"].as_str(), |_| None);
            verdict.differences.extend(elsewhere(location, to_https.is_some(), host, wanted));
        }
        (Some(_), _) if is_instead => verdict.notes.push(refused(status)),
        (Some(own), _) => verdict.differences.push(format!("{own} is said, and nginx answers {status}")),
        (None, services) => passed_on(&services, is_instead, sent, status, verdict),
    }
    // nginx knows no route yet where it refuses a path.
    if status != 400 {
        let ingress = expected["ingress"].as_str();
        took(ingress, sent, verdict);
    }
}

/// Whether a Service answered, and which.
fn passed_on(services: &[&str], is_instead: bool, sent: &Sent, status: u16, verdict: &mut AnswerComparison) {
    let Some(took) = sent.took.as_deref() else {
        let words = "which Service answered is not known, because the daemon does not count requests (traffic.enabled)";
        verdict.notes.push(words.to_owned());
        return;
    };
    // The Service of a route that no namespace has is counted by its name alone.
    let is_of = |own: &str, one: &&str| own == *one || (own.starts_with('/') && one.ends_with(own));
    let is_it = |took: &Took| took.service.as_deref().is_some_and(|own| services.iter().any(|one| is_of(own, one)));
    let of_it = took.iter().filter(|took| is_it(took)).collect::<Vec<_>>();
    let passed: Vec<_> = took.iter().filter(|took| took.is_passed_on).collect();
    let by = passed.iter().find(|took| is_it(took)).or(passed.first().filter(|_| passed.len() == 1));
    if let Some(service) = by.and_then(|took| took.service.as_deref()) {
        verdict.answered += &format!(", by Service {}", printable(service.trim_start_matches('/')));
    }
    if of_it.iter().any(|took| took.is_passed_on) {
        return;
    }
    if of_it.is_empty() && !took.is_empty() {
        let others: Vec<_> = took.iter().filter_map(|took| took.service.as_deref()).map(printable).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(" or ") };
        verdict.differences.push(format!("Service {} is said, and {others} was asked", services.join(" or ")));
    } else if !of_it.is_empty() && is_instead {
        verdict.notes.push(refused(status));
    } else if !of_it.is_empty() {
        verdict.differences.push(format!("nginx answers {status} by itself, and asks no endpoint"));
    }
}

fn refused(status: u16) -> String {
    format!("{status} is what an option of those above may answer before")
}

/// Whether the Ingress is that whose requests were counted.
fn took(expected: Option<&str>, sent: &Sent, verdict: &mut AnswerComparison) {
    let Some(took) = sent.took.as_deref() else { return };
    let is_it = |took: &&Took| took.ingress.as_deref() == expected;
    let name =
        |ingress: Option<&str>| ingress.map_or("no Ingress".to_owned(), |name| format!("Ingress {}", printable(name)));
    let mut others: Vec<_> =
        took.iter().filter(|took| !is_it(took)).map(|took| name(took.ingress.as_deref())).collect();
    others.dedup();
    match (took.iter().any(|took| is_it(&took)), others.is_empty()) {
        (true, true) => {}
        (true, false) => verdict
            .notes
            .push(format!("others send requests too, so that this may have come to {}", others.join(" or "))),
        (false, false) => {
            verdict.differences.push(format!("{} is said, and {} has it", name(expected), others.join(" or ")));
        }
        (false, true) => verdict.notes.push("the daemon has not counted it in time".to_owned()),
    }
}

/// How the target of a redirect differs.
fn elsewhere(location: Option<&str>, is_https: bool, host: Option<&str>, wanted: Option<&str>) -> Option<String> {
    let url = location.and_then(|location| Url::parse(location).ok());
    let is_right = match (host, wanted) {
        (Some(host), _) => {
            url.as_ref().is_some_and(|url| url.host_str() == Some(host) && (!is_https || url.scheme() == "https"))
        }
        (None, Some(path)) if path.starts_with('/') => location.is_some_and(|location| location.ends_with(path)),
        (None, Some(wanted)) => location == Some(wanted),
        (None, None) => true,
    };
    let shown = location.map_or("nowhere".to_owned(), printable);
    let wanted = wanted.or(host).unwrap_or_default();
    (!is_right).then(|| format!("a redirect to {} is said, and nginx redirects to {shown}", printable(wanted)))
}

fn services(expected: &Value) -> Vec<&str> {
    expected["services"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What nginx answered.
fn answered(sent: &Sent) -> String {
    match &sent.answer {
        Answer::Some(reply) => {
            let location = reply.headers.get(http::header::LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()));
            let to = location.map(|to| format!(", to {}", printable(&to))).unwrap_or_default();
            format!("is answered {}{to}", reply.status)
        }
        Answer::None(silence) => format!("is not answered: {silence}"),
    }
}

impl AnswerComparison {
    /// Names of members are a contract.
    pub fn json(&self, sent: &Sent) -> Value {
        let (status, location) = match &sent.answer {
            Answer::Some(reply) => (
                Some(reply.status),
                reply.headers.get(http::header::LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned()),
            ),
            Answer::None(_) => (None, None),
        };
        let took = sent.took.as_ref().map(|took| {
            let one = |took: &Took| json!({ "ingress": took.ingress, "service": took.service, "is_passed_on": took.is_passed_on });
            took.iter().map(one).collect::<Vec<_>>()
        });
        json!({
            "to": sent.to.to_string(),
            "status": status,
            "location": location,
            "counted": took,
            "differences": self.differences,
            "notes": self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::LOCATION;

    use super::*;
    use ingressd_migrate::compare::Silence;

    fn reported(answer: Value) -> Value {
        json!({"other_sites": [], "passthrough": null, "route": {"answer": answer, "unless": null}})
    }

    fn sent(status: u16, location: &str, took: Option<&[(&str, &str, bool)]>) -> Sent {
        let mut headers = HeaderMap::new();
        if !location.is_empty() {
            headers.insert(LOCATION, location.parse().unwrap());
        }
        let word = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let one = |(ingress, service, is_passed_on): &(&str, &str, bool)| Took {
            ingress: word(ingress),
            service: word(service),
            is_passed_on: *is_passed_on,
        };
        Sent {
            socket: "0.0.0.0:80".to_owned(),
            to: "127.0.0.1:80".parse().unwrap(),
            scheme: Scheme::Http,
            host: "shop.example".to_owned(),
            answer: Answer::Some(Answered { status, headers, ..Answered::default() }),
            took: took.map(|took| took.iter().map(one).collect()),
        }
    }

    #[test]
    fn what_differs_is_named_and_nothing_else() {
        let shop = json!({"ingress": "a/shop", "services": ["a/web"], "instead": [401]});
        let https = json!({"ingress": "a/shop", "services": ["a/web"], "instead": [], "over_plain_http": 308});
        let moved = json!({"ingress": "a/shop", "status": 301, "location": "https://new.example/", "instead": []});
        let (it, own): (&[_], &[_]) = (&[("a/shop", "a/web", true)], &[("a/shop", "a/web", false)]);
        for (expected, sent, differences, notes) in [
            (&shop, sent(200, "", Some(it)), "", ""),
            (&shop, sent(401, "", Some(own)), "", "401 is what an option"),
            (&shop, sent(413, "", Some(own)), "nginx answers 413 by itself", ""),
            (&shop, sent(200, "", None), "", "which Service answered is not known"),
            (&shop, sent(200, "", Some(&[])), "", "has not counted it in time"),
            (&shop, sent(200, "", Some(&[("a/other", "a/api", true)])), "a/web is said, and a/api was asked", ""),
            (&shop, sent(404, "", Some(&[("", "", false)])), "Ingress a/shop is said, and no Ingress has it", ""),
            (&shop, sent(200, "", Some(&[it[0], ("b/x", "b/y", true)])), "", "may have come to Ingress b/x"),
            (&https, sent(308, "https://shop.example/", Some(own)), "", ""),
            (&https, sent(308, "https://evil.example/", Some(own)), "redirects to https://evil.example/", ""),
            (&https, sent(308, "http://shop.example/", Some(own)), "redirects to http://shop.example/", ""),
            (&https, sent(200, "", Some(it)), "308 is said, and nginx answers 200", ""),
            (&moved, sent(301, "https://new.example/", Some(own)), "", ""),
            (&moved, sent(301, "https://\u{9b}.example/", Some(own)), "https://new.example/ is said", ""),
        ] {
            let found = verdict(&reported(expected.clone()), &sent);
            let (different, noted) = (found.differences.join("; "), found.notes.join("; "));
            assert_eq!(different.is_empty(), differences.is_empty(), "{expected} {sent:?}: {different}");
            assert!(different.contains(differences) && noted.contains(notes), "{different} {noted}");
            assert_eq!(noted.is_empty(), notes.is_empty(), "{expected} {sent:?}: {noted}");
        }
    }

    #[test]
    fn an_expression_that_is_not_judged_is_settled_by_the_answer() {
        let mut reported = reported(json!({"ingress": "a/shop", "services": ["a/web"], "instead": []}));
        reported["route"]["unless"] = "^/(?!x)".into();
        let found = verdict(&reported, &sent(200, "", Some(&[("a/other", "a/api", true)])));
        assert!(
            found.differences.is_empty() && found.notes[0].contains("nginx matches the expression ^/(?!x): "),
            "{found:?}"
        );
        // What goes elsewhere is not compared.
        reported["passthrough"] = json!({"on": ["0.0.0.0:80"]});
        assert!(verdict(&reported, &sent(200, "", None)).notes[0].contains("nothing is compared"));
        reported["passthrough"] = Value::Null;
        let silent = Sent { answer: Answer::None(Silence::Late), ..sent(200, "", None) };
        reported["route"]["unless"] = Value::Null;
        assert_eq!(verdict(&reported, &silent).differences, ["nginx does not answer: no answer in time"]);
    }
}
