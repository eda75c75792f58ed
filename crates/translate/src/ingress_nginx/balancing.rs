//! Annotations about load balancing and session affinity.

use std::sync::Arc;

use crate::RequestedSession;
use crate::annotation::{
    Ceiling, Compared, Context, Draft, Elsewhere, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, Trust,
    built_in, put,
};
use crate::value::{HASH_KEY, boolean, hash_key, integer, is_number, one_of};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Balance, CookiePath, HeaderName, HostName, Refused, SameSite, SessionCookie, Text, UrlPath};

/// The default name of the cookie.
const NAME: &str = "INGRESSCOOKIE";

/// The longest name of a cookie.
const LONGEST_NAME: usize = 128;

/// The default and the greatest number of endpoints that share a key.
const SHARING: &str = "3";
const MOST_SHARING: u64 = 100;

const SESSION: &[(&str, &str)] = &[("affinity", "cookie")];

/// A row about connections to backends.
const fn way(key: &'static str, form: Form) -> Row {
    Row::new(key, form).scope(Scope::Upstream).trust(Trust::Medium).counts_on_canary()
}

/// A row about the cookie.
const fn cookie(key: &'static str, form: Form) -> Row {
    way(key, form).counts_with(SESSION).beside(SESSION)
}

/// A number of seconds for clients.
const SECONDS: Form = Form::Integer { least: 0, most: u32::MAX as u64 };

/// The form of [`cookie_name`].
pub const COOKIE_NAME: Shape = Shape {
    name: "a name of letters, digits, - _ and .",
    pattern: "[A-Za-z0-9_.-]+",
    longest: LONGEST_NAME,
    ..Shape::DEFAULT
};

/// A domain, which includes the hosts below it.
const COOKIE_DOMAIN: Shape = Shape {
    name: "a DNS name in lower case, perhaps with a dot in front",
    pattern: r"\.*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*",
    ..Shape::DEFAULT
};

/// The form of [`CookiePath`].
const COOKIE_PATH: Shape = Shape {
    name: "a path of printable ASCII without quotes, backslash, ; and $",
    pattern: r"/[!#%-:<-\[\]-~]*",
    longest: 1000,
    ..Shape::DEFAULT
};

pub static FAMILY: Family = Family {
    title: "Load balancing and affinity",
    rows: &[
        way("affinity", Form::Word(&["cookie"]))
            .compared(Compared::Different(
                "The cookie has another value: clients with a cookie of ingress-nginx once get a new one, and perhaps another endpoint.",
                "",
            ))
            .trust(Trust::Low)
            .documentation(
                "Sends all requests of a client to one endpoint, by a cookie that the first response sets. Consistent \
                 hashing finds the endpoint of a cookie: when endpoints are added or removed, as few clients as \
                 possible move to another endpoint, and when an endpoint fails another one takes the request. \
                 Responses to requests for the paths of the object set the cookie; it is HttpOnly.",
            )
            .tries(&[("cookie", Gives::Sets("sessions by cookie INGRESSCOOKIE")), ("ip", Gives::Refused("not cookie"))])
            .part(|draft, entry| {
                put(&mut draft.balance.affinity, one_of(entry.value, &[("cookie", true)], "it is not cookie"))
            }),
        cookie("affinity-canary-behavior", Form::Word(&["sticky", "legacy"]))
            .compared(Compared::Different(
                "When the weight changes, sessions change sides as far as needed, those of `affinity-mode: persistent` \
                 only when it becomes 0; ingress-nginx keeps each where it began.",
                "",
            ))
            .counts_with(&[("affinity", "cookie"), ("canary", "true")])
            .trust(Trust::Low)
            .documentation(
                "Whether a client always gets the canary or always the main object: `sticky` (the default) divides \
                 sessions by the weight, `legacy` single requests; either object may have the annotation. A header or \
                 a cookie of the canary takes precedence, and a client that it brings to the canary stays there: the \
                 cookie says so.",
            )
            .tries(&[
                ("sticky", Gives::Nothing),
                ("legacy", Gives::Sets("clients may change sides of a canary")),
                ("no", Gives::Refused("not sticky or legacy")),
            ])
            .part(|draft, entry| {
                let words = [("sticky", false), ("legacy", true)];
                put(&mut draft.balance.changes_side, one_of(entry.value, &words, "it is not sticky or legacy"))
            }),
        cookie("affinity-mode", Form::Word(&["balanced", "persistent"]))
            .documentation("What the cookie says. With `balanced` (the default) it is the session, for which consistent hashing finds the endpoint: when endpoints are added, a part of the sessions moves to them. With `persistent` it names an endpoint, without telling its address: a session stays as long as that endpoint exists. When it is gone, or the cookie names no endpoint of the Service, the client gets a new cookie from the endpoint that answers. Services on one host whose cookies have the same name and path replace each other's cookies.")
            .tries(&[
                ("balanced", Gives::Nothing),
                ("persistent", Gives::Sets("endpoints that the cookie INGRESSCOOKIE names")),
                ("no", Gives::Refused("not balanced or persistent")),
            ])
            .part(|draft, entry| {
                let words = [("balanced", false), ("persistent", true)];
                put(&mut draft.balance.persistent, one_of(entry.value, &words, "it is not balanced or persistent"))
            }),
        way("load-balance", Form::Word(&["round_robin", "least_conn", "ewma"]))
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .compared(Compared::Different(
                "Of two endpoints chosen at random, the one with fewer connections gets a request: round_robin does not use each in turn, and ewma not the response times.",
                "",
            ))
            .trust(Trust::Low)
            .documentation("How an endpoint is chosen: nginx chooses two at random and uses the one with fewer connections, also with `round_robin` (the default) and `least_conn`: in turn, and by the fewest, every worker would begin with the same endpoint after each reload. With `ewma`, which only ingress-nginx has and which uses the faster one there, there is a finding. Affinity and upstream-hash-by take precedence.")
            .tries(&[
                ("round_robin", Gives::Nothing),
                ("least_conn", Gives::Sets("the less loaded of two random endpoints")),
                ("ewma", Gives::Near("the less loaded of two random endpoints")),
                ("chash", Gives::LeftOut("upstream-hash-by")),
                ("sticky_balanced", Gives::LeftOut("affinity")),
                ("random", Gives::Refused("not one of")),
            ])
            .part(|draft, entry| {
                draft.balance.by_connections = match entry.value.trim() {
                    "round_robin" => None,
                    "least_conn" => Some(Balance::TwoByChance),
                    "ewma" => {
                        let note = "nginx does not measure how fast endpoints answer: it chooses two at random and \
                            uses the one with fewer connections";
                        draft.remark(Finding::new(Reason::NearestUsed, entry.origin(), note));
                        Some(Balance::TwoByChance)
                    }
                    "chash" | "chashsubset" => {
                        let refused = Refused::because("use upstream-hash-by, which also names the key");
                        return draft.leave_out(entry, &refused);
                    }
                    "sticky_balanced" | "sticky_persistent" => {
                        return draft.leave_out(entry, &Refused::because("use affinity"));
                    }
                    _ => return Err(Refused::because("it is not one of round_robin, least_conn, ewma")),
                };
                Ok(())
            }),
        way("service-upstream", Form::Boolean)
            .compared(Compared::Different(
                "Requests go to the cluster address from this node.",
                "give the node a route to cluster addresses (docs/networking.md), or remove it",
            ))
            .trust(Trust::Low)
            .documentation("Sends requests to the cluster address of the Service instead of its pods. Do not set it where the nodes cannot reach cluster addresses. An annotation of the Service (`ingressd/endpoints`) takes precedence.")
            .tries(&[
                ("true", Gives::Sets("backends by cluster address")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.reading.by_cluster_address, boolean(entry.value))),
        cookie("session-cookie-change-on-failure", Form::Boolean)
            .compared(Compared::Different(
                "With affinity-mode: balanced the new cookie leads to a random endpoint. If that one fails, too, the next request sets another cookie.",
                "",
            ))
            .trust(Trust::Low)
            .documentation("Whether a client gets another cookie when its endpoint failed and another one answered, with affinity-mode: persistent that of the endpoint that answered. Otherwise it keeps its cookie, and returns to its endpoint when that works again.")
            .tries(&[
                ("true", Gives::Sets("cookie: another one where an endpoint fails")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.balance.changes_on_failure, boolean(entry.value))),
        cookie("session-cookie-conditional-samesite-none", Form::Boolean)
            .counts_with(&[("session-cookie-samesite", "none")])
            .trust(Trust::Low)
            .documentation("Whether SameSite=None (session-cookie-samesite: none) is left out for browsers that misunderstand it: those of iOS 12 and Safari of macOS 10.14, Chrome 51 to 66, and UC Browser before 12.13.2.")
            .beside(&[("affinity", "cookie"), ("session-cookie-samesite", "none")])
            .tries(&[
                ("true", Gives::Sets("cookie: SameSite=None, where browsers know it")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.balance.conditional_same_site, boolean(entry.value))),
        cookie("session-cookie-domain", Form::Text(&COOKIE_DOMAIN))
            .documentation("Domain of the cookie, which includes hosts below it; only the host itself by default.")
            .tries(&[
                ("example.com", Gives::Sets("cookie: Domain=example.com")),
                (".example.com", Gives::Sets("cookie: Domain=example.com")),
                ("example.com; HttpOnly", Gives::Refused("not a DNS name")),
            ])
            .part(|draft, entry| {
                let name = HostName::new(entry.value.trim().trim_start_matches('.'))?;
                put(&mut draft.balance.domain, Text::new(name.as_str()))
            }),
        cookie("session-cookie-expires", SECONDS)
            .compared(Compared::Different(
                "It is sent as Max-Age, which all browsers understand, and not as Expires, for which nginx has no clock.",
                "",
            ))
            .ceiling(Ceiling::NotNeeded("clients keep it, as long as they like"))
            .documentation(
                "For how many seconds clients keep the cookie; it is sent as Max-Age, and has no effect together with \
                 session-cookie-max-age.",
            )
            .tries(&[("3600", Gives::Sets("cookie: Max-Age=3600")), ("1h", Gives::Refused("whole number"))])
            .part(|draft, entry| put(&mut draft.balance.expires, integer(entry.value, 0, u32::MAX.into()))),
        cookie("session-cookie-max-age", SECONDS)
            .ceiling(Ceiling::NotNeeded("clients keep it, as long as they like"))
            .documentation("For how many seconds clients keep the cookie; by default until the browser is closed.")
            .tries(&[("3600", Gives::Sets("cookie: Max-Age=3600")), ("-1", Gives::Refused("whole number"))])
            .part(|draft, entry| put(&mut draft.balance.max_age, integer(entry.value, 0, u32::MAX.into()))),
        cookie("session-cookie-name", Form::Text(&COOKIE_NAME))
            .default(NAME)
            .documentation("Name of the cookie for the affinity.")
            .tries(&[
                ("route", Gives::Sets("sessions by cookie route")),
                ("my-app.session", Gives::Sets("sessions by cookie my-app.session")),
                ("a b", Gives::Refused("not a token")),
                ("a!", Gives::Refused("letters, digits")),
            ])
            .part(|draft, entry| put(&mut draft.balance.name, cookie_name(entry.value))),
        cookie("session-cookie-path", Form::Text(&COOKIE_PATH))
            .documentation("Path of the cookie: clients send it with requests below this path. The default is the path of the rule, and `/` where that is a regular expression.")
            .tries(&[
                ("/shop", Gives::Sets("cookie: Path=/shop")),
                ("shop", Gives::Refused("begin with /")),
                ("/a;b", Gives::Refused("cannot be")),
            ])
            .part(|draft, entry| {
                let path = UrlPath::new(entry.value.trim())?;
                let refused = Refused::because("it cannot be the path of a cookie");
                put(&mut draft.balance.path, CookiePath::new(&path).ok_or(refused))
            }),
        cookie("session-cookie-samesite", Form::AnyCase(&["none", "lax", "strict"]))
            .trust(Trust::Low)
            .documentation("SameSite of the cookie: none, lax or strict; not set by default. Browsers accept none only over https.")
            .tries(&[
                ("Lax", Gives::Sets("cookie: SameSite=Lax")),
                ("none", Gives::Sets("cookie: SameSite=None")),
                ("STRICT", Gives::Sets("cookie: SameSite=Strict")),
                ("maybe", Gives::Refused("not none, lax or strict")),
            ])
            .part(|draft, entry| {
                let words = [("none", SameSite::None), ("lax", SameSite::Lax), ("strict", SameSite::Strict)];
                let word = entry.value.to_ascii_lowercase();
                put(&mut draft.balance.same_site, one_of(&word, &words, "it is not none, lax or strict"))
            }),
        cookie("session-cookie-secure", Form::Boolean)
            .trust(Trust::Low)
            .documentation("Whether the cookie always has the attribute Secure; otherwise only cookies for requests by https have it.")
            .tries(&[
                ("true", Gives::Sets("cookie: Secure")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.balance.secure, boolean(entry.value))),
        way("upstream-hash-by", Form::Text(&HASH_KEY))
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .compared(Compared::Different(
                "The hash ring differs: a key leads to another endpoint than with ingress-nginx, and always to the same one.",
                "",
            ))
            .trust(Trust::High)
            .documentation(
                "Chooses the endpoint by a hash of this key: text and variables such as $request_uri, $host, \
                 $remote_addr, $arg_user or $http_x_user, those of rewrite-target. When endpoints are added or \
                 removed, as few keys as possible move to another endpoint. The endpoints differ from those of \
                 ingress-nginx. It has no effect together with affinity.",
            )
            .tries(&[
                ("$request_uri", Gives::Sets("endpoints by ${request_uri}")),
                ("user-$http_x_user", Gives::Sets("endpoints by user-${http_x_user}")),
                ("fixed", Gives::LeftOut("no variable")),
                ("$ssl_client_raw_cert", Gives::LeftOut("unknown")),
                ("$1$uri", Gives::LeftOut("capture")),
                ("$uri;", Gives::Refused("cannot hold")),
            ])
            .part(|draft, entry| {
                let is_of_form = |byte: u8| byte.is_ascii_alphanumeric() || b"-_${}".contains(&byte);
                match hash_key(entry.value) {
                    Err(refused) if entry.value.trim().bytes().all(is_of_form) => draft.leave_out(entry, &refused),
                    key => put(&mut draft.balance.key, key),
                }
            }),
        way("upstream-hash-by-subset", Form::Boolean)
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .compared(Compared::Different(
                "The endpoints of a key are chosen one by one by its hash, and not as a fixed group: few keys move when endpoints are added or removed, and a key may have fewer endpoints.",
                "",
            ))
            .trust(Trust::Low)
            .documentation("Distributes the requests with one key (upstream-hash-by) among several endpoints at random: upstream-hash-by-subset-size of them, or fewer, because one may be chosen twice. It has no effect without upstream-hash-by, or together with affinity.")
            .counts_with(&[("upstream-hash-by", SOMETHING)])
            .beside(&[("upstream-hash-by", "$request_uri")])
            .tries(&[
                ("true", Gives::Sets("3 endpoints by ${request_uri}")),
                ("false", Gives::Sets("endpoints by ${request_uri}")),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| put(&mut draft.balance.shares_key, boolean(entry.value))),
        way("upstream-hash-by-subset-size", Form::Integer { least: 1, most: MOST_SHARING })
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .trust(Trust::Low)
            .ceiling(Ceiling::NotNeeded("it goes to 100, and nothing grows by it"))
            .default(SHARING)
            .documentation("How many endpoints a key has at most, with upstream-hash-by-subset.")
            .counts_with(&[("upstream-hash-by-subset", "true")])
            .beside(&[("upstream-hash-by", "$request_uri"), ("upstream-hash-by-subset", "true")])
            .tries(&[
                ("5", Gives::Sets("5 endpoints by ${request_uri}")),
                ("1", Gives::Sets("endpoints by ${request_uri}")),
                ("0", Gives::LeftOut("from 1 to 100")),
                ("101", Gives::LeftOut("from 1 to 100")),
                ("some", Gives::Refused("from 1 to 100")),
            ])
            .part(|draft, entry| match sharing(entry.value) {
                Err(refused) if is_number(entry.value) => draft.leave_out(entry, &refused),
                number => put(&mut draft.balance.sharing, number),
            }),
    ],
    finish,
};

/// Parses the number of endpoints that share a key.
fn sharing(value: &str) -> Result<u8, Refused> {
    integer(value, 1, MOST_SHARING).map(|number| u8::try_from(number).unwrap_or(u8::MAX))
}

/// Parses the name of a cookie.
pub fn cookie_name(value: &str) -> Result<HeaderName, Refused> {
    let name = HeaderName::new(value.trim())?;
    match name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        true if name.as_str().len() <= LONGEST_NAME => Ok(name),
        true => Err(Refused::because("it is longer than 128 letters")),
        false => Err(Refused::because("it holds more than letters, digits, - _ and .")),
    }
}

fn finish(draft: &mut Draft, _context: &Context<'_>) {
    let requested = std::mem::take(&mut draft.balance);
    let reading = &mut draft.reading;
    reading.changes_side = requested.changes_side;
    let name = requested.name.or_else(|| HeaderName::new(NAME).ok());
    let (Some(name), true) = (name, requested.affinity) else {
        let sharing = requested.sharing.unwrap_or_else(|| built_in(SHARING, sharing));
        let by_key = requested.key.map(|key| match requested.shares_key && sharing > 1 {
            true => Balance::SharedKey(key, sharing),
            false => Balance::Key(key),
        });
        reading.balance = by_key.or(requested.by_connections).map(Arc::new);
        return;
    };
    let balance = if requested.persistent { Balance::Named } else { Balance::Session };
    reading.balance = Some(Arc::new(balance(name.clone())));
    let cookie = SessionCookie {
        name,
        domain: requested.domain,
        max_age: requested.max_age.or(requested.expires),
        same_site: match requested.same_site {
            Some(SameSite::None) if requested.conditional_same_site => Some(SameSite::NoneWhereKnown),
            same_site => same_site,
        },
        always_secure: requested.secure,
        changes_on_failure: requested.changes_on_failure,
    };
    reading.session = Some(RequestedSession { cookie: Arc::new(cookie), path: requested.path });
}
