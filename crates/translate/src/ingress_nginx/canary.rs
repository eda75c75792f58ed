//! Annotations about canaries.

use std::sync::Arc;

use super::balancing::{COOKIE_NAME, cookie_name};
use crate::Canary;
use crate::annotation::{
    Ceiling, Compared, Context, Draft, Effect, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, Trust,
    built_in,
};
use crate::value::{HEADER_NAME, boolean, integer};
use ingressd_model::{HeaderName, HeaderValue, Pattern, Refused, Share, Test, expression, longest_variable};

/// The default and the least total of weights.
const WHOLE: &str = "100";
const LEAST_WHOLE: u64 = 100;

/// The form of [`HeaderValue`]; the length is left to the parser.
const VALUE: Shape = Shape {
    name: "text without control characters",
    pattern: r"[^\x00-\x1f\x7f-\x{9f}\x{2028}\x{2029}]+",
    verbatim: true,
    ..Shape::DEFAULT
};

/// The form of expressions, which only the parser can check.
const EXPRESSION: Form =
    Form::NotJudged("it is an expression of PCRE that has to be cheap, which takes a reader of its grammar");

const CANARY: &[(&str, &str)] = &[("canary", "true")];

/// A row of this family.
const OF_CANARY: Row = Row { scope: Scope::Upstream, counts_on_canary: true, ..Row::DEFAULT };

pub static FAMILY: Family = Family {
    title: "Canaries",
    rows: &[
        Row {
            key: "canary",
            compared: Compared::Stricter("It takes requests only from an object of its own namespace.", ""),
            on_error: OnError::Refuse,
            form: Form::Boolean,
            documentation: "Makes the object a canary: its backends get some of the requests to the paths of another one, the main object, which has the same host, path and path type and is in the same namespace. The other keys decide which requests: a header takes precedence, then a cookie, then the weight. Annotations about TCP and UDP services count too, and those about sessions and load balancing where the main object has none. All others of the canary have no effect, also those about hosts, such as server-alias: those of the main object apply. Where there is no main object, or two canaries for one path, there is a finding; the older canary is used.",
            tries: &[
                ("true", Gives::Sets("canary: 0.00% of all other requests")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.canary.asked = boolean(entry.value)?.then(|| entry.origin());
                Ok(())
            }),
            ..OF_CANARY
        },
        Row {
            key: "canary-by-cookie",
            counts_with: CANARY,
            trust: Trust::Medium,
            form: Form::Text(&COOKIE_NAME),
            documentation: "The canary gets requests whose cookie of this name is `always`, and the main object those where it is `never`.",
            beside: CANARY,
            tries: &[
                ("canary", Gives::Sets("canary: cookie canary is \"always\"")),
                ("canary", Gives::Sets("main: cookie canary is \"never\"")),
                ("a=b", Gives::Refused("not a token")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.canary.cookie = Some(cookie_name(entry.value)?);
                Ok(())
            }),
            ..OF_CANARY
        },
        Row {
            key: "canary-by-header",
            counts_with: CANARY,
            trust: Trust::Medium,
            form: Form::Text(&HEADER_NAME),
            documentation: "The canary gets requests whose header of this name is `always`, and the main object those where it is `never`. With canary-by-header-value or canary-by-header-pattern the canary gets requests with that value.",
            beside: CANARY,
            tries: &[
                ("X-Canary", Gives::Sets("canary: header X-Canary is \"always\"")),
                ("X-Canary", Gives::Sets("main: header X-Canary is \"never\"")),
                ("X Canary", Gives::Refused("not a token")),
                ("X.Canary", Gives::Refused("letters, digits, - and _")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.canary.header = Some(header(entry.value.trim())?);
                Ok(())
            }),
            ..OF_CANARY
        },
        Row {
            key: "canary-by-header-pattern",
            compared: Compared::StricterValues("Expressions that take nginx too long are refused.", ""),
            counts_with: &[("canary-by-header", SOMETHING)],
            trust: Trust::Medium,
            form: EXPRESSION,
            documentation: "Regular expression that matches a part of the header's value for the canary. It has no \
                            effect together with canary-by-header-value.",
            beside: &[("canary", "true"), ("canary-by-header", "X-Canary")],
            tries: &[
                ("^v[12]$", Gives::Sets("canary: header X-Canary matches \"^v[12]$\"")),
                ("(", Gives::Refused("is refused")),
                ("[^x]*x[^y]*y", Gives::Refused("again and again")),
            ],
            effect: Effect::Part(|draft, entry| {
                let pattern = Pattern::new(entry.value.trim())?;
                expression::weight_anywhere(pattern.as_str(), longest_variable("http_"))?;
                draft.canary.pattern = Some(pattern);
                Ok(())
            }),
            ..OF_CANARY
        },
        Row {
            key: "canary-by-header-value",
            counts_with: &[("canary-by-header", SOMETHING)],
            trust: Trust::Medium,
            form: Form::Text(&VALUE),
            documentation: "Exact value of the header for the canary.",
            beside: &[("canary", "true"), ("canary-by-header", "X-Canary")],
            tries: &[
                ("beta", Gives::Sets("canary: header X-Canary is \"beta\"")),
                ("beta\n", Gives::Refused("control character")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.canary.value = Some(HeaderValue::new(entry.value.trim_matches(' '))?);
                Ok(())
            }),
            ..OF_CANARY
        },
        Row {
            key: "canary-weight",
            counts_with: CANARY,
            ceiling: Ceiling::NotNeeded("a share is everything at most"),
            form: Form::Integer { least: 0, most: u32::MAX as u64 },
            documentation: "How many of canary-weight-total requests the canary gets, of those that neither header \
                            nor cookie decides; none by default. It is rounded to a hundredth of a percent.",
            beside: CANARY,
            tries: &[
                ("10", Gives::Sets("canary: 10.00% of all other requests")),
                ("100", Gives::Sets("canary: 100.00% of all other requests")),
                ("10%", Gives::Refused("whole number")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.canary.weight = Some(integer(entry.value, 0, u32::MAX.into())?);
                Ok(())
            }),
            ..OF_CANARY
        },
        Row {
            key: "canary-weight-total",
            counts_with: &[("canary-weight", SOMETHING)],
            default: WHOLE,
            ceiling: Ceiling::NotNeeded("it says what the weight is a part of"),
            form: Form::Integer { least: LEAST_WHOLE, most: u32::MAX as u64 },
            documentation: "The total of which canary-weight is a part, at least 100.",
            beside: &[("canary", "true"), ("canary-weight", "1")],
            tries: &[
                ("1000", Gives::Sets("canary: 0.10% of all other requests")),
                ("50", Gives::Refused("whole number from 100")),
            ],
            effect: Effect::Part(|draft, entry| {
                draft.canary.total = Some(whole(entry.value)?);
                Ok(())
            }),
            ..OF_CANARY
        },
    ],
    finish,
};

/// Parses the name of a header for which nginx has a variable.
fn header(name: &str) -> Result<HeaderName, Refused> {
    let known = HeaderName::new(name)?;
    match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        true => Ok(known),
        false => {
            Err(Refused::because("nginx distinguishes only headers whose names consist of letters, digits, - and _"))
        }
    }
}

/// The least total is also the default.
fn whole(value: &str) -> Result<u64, Refused> {
    integer(value, LEAST_WHOLE, u32::MAX.into())
}

fn finish(draft: &mut Draft, _context: &Context<'_>) {
    let requested = std::mem::take(&mut draft.canary);
    let Some(origin) = requested.asked else { return };
    let either = |test: &dyn Fn(HeaderValue) -> Test| {
        let values = [("always", true), ("never", false)];
        values
            .into_iter()
            .filter_map(|(value, takes)| Some((test(HeaderValue::new(value).ok()?), takes)))
            .collect::<Vec<_>>()
    };
    let mut tests = match (requested.header, requested.value, requested.pattern) {
        (Some(name), Some(value), _) => vec![(Test::Header(name, value), true)],
        (Some(name), None, Some(pattern)) => vec![(Test::HeaderMatches(name, pattern), true)],
        (Some(name), None, None) => either(&|value| Test::Header(name.clone(), value)),
        (None, _, _) => Vec::new(),
    };
    if let Some(name) = requested.cookie {
        tests.extend(either(&|value| Test::Cookie(name.clone(), value)));
    }
    let share =
        Share::of(requested.weight.unwrap_or_default(), requested.total.unwrap_or_else(|| built_in(WHOLE, whole)));
    draft.reading.canary = Some(Arc::new(Canary { origin, tests, share }));
}
