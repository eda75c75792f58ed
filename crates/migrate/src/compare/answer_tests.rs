//! The differences between two responses. These tests must not know how responses are obtained.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

/// A response by http.
pub(super) fn answered(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers = headers
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap()));
    let mut map = HeaderMap::new();
    map.extend(headers);
    Answer::Some(Answered { status, headers: map, body: body.into(), ..Answered::default() })
}

/// The usual ports of a controller.
pub(super) const CONTROLLER: Ports = Ports { http: 80, https: 443 };

/// A request for a path of one host.
pub(super) fn request(scheme: Scheme, target: &str) -> Request {
    Request::new(Method::Get, scheme, "a.test", target).unwrap()
}

/// The differences between two responses, each given once.
fn differing(controller: &Answer, ingressd: &Answer) -> Vec<String> {
    differing_for(&request(Scheme::Http, "/"), controller, ingressd)
}

fn differing_for(request: &Request, controller: &Answer, ingressd: &Answer) -> Vec<String> {
    let reported = |answer: &Answer, ports: Ports| vec![reported(answer, request, ports)];
    let rounds = Rounds { controller: reported(controller, CONTROLLER), ingressd: reported(ingressd, BESIDE) };
    let different = rounds.outcome().different;
    different.into_iter().map(|(part, one, other)| format!("{part}: {one} | {other}")).collect()
}

#[test]
fn answers_are_compared_without_what_differs_each_time() {
    const PAGE: &str = "<html><center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>";
    let none: [&str; 0] = [];
    let ok = |headers: &[(&str, &str)]| answered(200, headers, "x");
    for (one, other, expected) in [
        (ok(&[("date", "Mon")]), ok(&[("date", "Tue"), ("server", "nginx"), ("x-request-id", "1")]), &none[..]),
        (
            ok(&[("set-cookie", "a=1; Path=/; HttpOnly; Expires=x")]),
            ok(&[("set-cookie", "a=2; expires=y; httponly; path=/")]),
            &none[..],
        ),
        (ok(&[("cache-control", "no-cache, Private")]), ok(&[("cache-control", "private,no-cache")]), &none[..]),
        (answered(404, &[], PAGE), answered(404, &[], &PAGE.replace("nginx<", "nginx/1.22.1<")), &none[..]),
        (
            ok(&[("set-cookie", "a=1; Path=/")]),
            ok(&[("set-cookie", "a=1; Path=/; Secure"), ("set-cookie", "b=1")]),
            &["cookie a: path=/ | path=/; secure", "cookie b:  | no attributes"],
        ),
        (ok(&[("x-frame-options", "DENY")]), ok(&[]), &["header x-frame-options: DENY | "]),
        // With another status everything else differs too and is not listed, except the target of
        // a redirect.
        (
            ok(&[("x-a", "b")]),
            answered(308, &[("location", "https://a.test/")], ""),
            &["status: 200 | 308", "location:  | https://a.test/"],
        ),
        (ok(&[]), Answer::None(Silence::NoTls), &["answer: an answer | the TLS handshake fails"]),
        (Answer::None(Silence::Late), Answer::None(Silence::Late), &none[..]),
    ] {
        assert_eq!(differing(&one, &other), expected);
    }
    let [body] = &differing(&answered(200, &[], "x"), &answered(200, &[], "xy"))[..] else { panic!("the body alone") };
    assert!(body.starts_with("body: 1 bytes, ") && body.contains(" | 2 bytes, "), "{body}");
}

#[test]
fn certificates_are_compared_by_their_digest_and_their_names() {
    let certificate = |host: &str| {
        let made = rcgen::generate_simple_self_signed(vec![host.to_owned()]).unwrap();
        Answer::Some(Answered { certificate: Some(made.cert.der().to_vec()), ..Answered::default() })
    };
    let [different] = &differing(&certificate("a.test"), &certificate("a.test"))[..] else {
        panic!("the certificate alone")
    };
    assert!(different.starts_with("certificate: a.test, ") && different.contains(" | a.test, "), "{different}");
    // Each program makes its own default certificate.
    assert_eq!(differing(&certificate("ingress.local"), &certificate("ingressd.invalid")), [""; 0]);
    assert_eq!(differing(&certificate("ingress.local"), &certificate("*.test")).len(), 1);
}

/// Different spellings of the same redirect target are equal.
#[test]
fn redirects_are_compared_by_where_they_lead() {
    use Scheme::{Http, Https};
    let to = |place: &str| answered(302, &[("location", place)], "");
    for (scheme, target, one, other, differs) in [
        (Https, "/", "https://a.test", "https://a.test:8444/", None),
        (Http, "/", "http://a.test/app", "/app", None),
        (Http, "/", "http://a.test:80/app", "http://a.test:8080/app", None),
        (Https, "/", "https://a.test:443/app", "/app", None),
        (Https, "/", "/app", "https://a.test:8444/app", None),
        (Https, "/", "https://B.test/x?y#z", "//b.test:8444/x?y#z", None),
        (Http, "/shop/cart?a=1", "http://a.test/shop/pay", "pay", None),
        (Http, "/shop/cart?a=1", "?b=2", "/shop/cart?b=2", None),
        (Http, "/shop/cart/", "../pay", "/shop/pay", None),
        (Https, "/", "/app", "http://a.test/app", Some("https://a.test/app | http://a.test/app")),
        (Http, "/", "http://a.test:8444/", "/", Some("http://a.test:8444/ | http://a.test/")),
        (Http, "/a/b", "c", "/c", Some("http://a.test/a/c | http://a.test/c")),
        (Http, "/", "/a%2Fb", "/a/b", Some("http://a.test/a%2Fb | http://a.test/a/b")),
        (Http, "/", "mailto:a@a.test", "mailto:b@a.test", Some("mailto:a@a.test | mailto:b@a.test")),
        // Invalid targets.
        (Http, "/", "http://[", "/[", Some("http://[ | http://a.test/[")),
    ] {
        let expected = differs.map(|places| format!("location: {places}"));
        let found = differing_for(&request(scheme, target), &to(one), &to(other));
        assert_eq!(found, Vec::from_iter(expected), "{one} {other}");
    }
}
