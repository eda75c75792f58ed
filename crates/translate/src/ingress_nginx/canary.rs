//! Annotations about canaries.

use std::sync::Arc;

use super::balancing::{COOKIE_NAME, cookie_name};
use crate::Canary;
use crate::annotation::{
    Ceiling, Compared, Context, Draft, Family, Form, Gives, OnError, Row, SOMETHING, Scope, Shape, Trust, built_in, put,
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
const fn of_canary(key: &'static str, form: Form) -> Row {
    Row::new(key, form).scope(Scope::Upstream).counts_on_canary()
}

pub static FAMILY: Family = Family {
    title: "Canaries",
    rows: &[
        of_canary("canary", Form::Boolean)
            .compared(Compared::Stricter("It takes requests only from an object of its own namespace.", ""))
            .on_error(OnError::Refuse)
            .documentation("Makes the object a canary: its backends get some of the requests to the paths of another one, the main object, which has the same host, path and path type and is in the same namespace. The other keys decide which requests: a header takes precedence, then a cookie, then the weight. Annotations about TCP and UDP services count too, and those about sessions and load balancing where the main object has none. All others of the canary have no effect, also those about hosts, such as server-alias: those of the main object apply. Where there is no main object, or two canaries for one path, there is a finding; the older canary is used.")
            .tries(&[
                ("true", Gives::Sets("canary: 0.00% of all other requests")),
                ("false", Gives::Nothing),
                ("yes", Gives::Refused("not true or false")),
            ])
            .part(|draft, entry| {
                put(&mut draft.canary.asked, boolean(entry.value).map(|asks| asks.then(|| entry.origin())))
            }),
        of_canary("canary-by-cookie", Form::Text(&COOKIE_NAME))
            .counts_with(CANARY)
            .trust(Trust::Medium)
            .documentation("The canary gets requests whose cookie of this name is `always`, and the main object those where it is `never`.")
            .beside(CANARY)
            .tries(&[
                ("canary", Gives::Sets("canary: cookie canary is \"always\"")),
                ("canary", Gives::Sets("main: cookie canary is \"never\"")),
                ("a=b", Gives::Refused("not a token")),
            ])
            .part(|draft, entry| put(&mut draft.canary.cookie, cookie_name(entry.value))),
        of_canary("canary-by-header", Form::Text(&HEADER_NAME))
            .counts_with(CANARY)
            .trust(Trust::Medium)
            .documentation("The canary gets requests whose header of this name is `always`, and the main object those where it is `never`. With canary-by-header-value or canary-by-header-pattern the canary gets requests with that value.")
            .beside(CANARY)
            .tries(&[
                ("X-Canary", Gives::Sets("canary: header X-Canary is \"always\"")),
                ("X-Canary", Gives::Sets("main: header X-Canary is \"never\"")),
                ("X Canary", Gives::Refused("not a token")),
                ("X.Canary", Gives::Refused("letters, digits, - and _")),
            ])
            .part(|draft, entry| put(&mut draft.canary.header, header(entry.value.trim()))),
        of_canary("canary-by-header-pattern", EXPRESSION)
            .compared(Compared::StricterValues("Expressions that take nginx too long are refused.", ""))
            .counts_with(&[("canary-by-header", SOMETHING)])
            .trust(Trust::Medium)
            .documentation(
                "Regular expression that matches a part of the header's value for the canary. It has no effect \
                 together with canary-by-header-value.",
            )
            .beside(&[("canary", "true"), ("canary-by-header", "X-Canary")])
            .tries(&[
                ("^v[12]$", Gives::Sets("canary: header X-Canary matches \"^v[12]$\"")),
                ("(", Gives::Refused("is refused")),
                ("[^x]*x[^y]*y", Gives::Refused("again and again")),
            ])
            .part(|draft, entry| {
                let pattern = Pattern::new(entry.value.trim())?;
                expression::weight_anywhere(pattern.as_str(), longest_variable("http_"))?;
                draft.canary.pattern = Some(pattern);
                Ok(())
            }),
        of_canary("canary-by-header-value", Form::Text(&VALUE))
            .counts_with(&[("canary-by-header", SOMETHING)])
            .trust(Trust::Medium)
            .documentation("Exact value of the header for the canary.")
            .beside(&[("canary", "true"), ("canary-by-header", "X-Canary")])
            .tries(&[
                ("beta", Gives::Sets("canary: header X-Canary is \"beta\"")),
                ("beta\n", Gives::Refused("control character")),
            ])
            .part(|draft, entry| put(&mut draft.canary.value, HeaderValue::new(entry.value.trim_matches(' ')))),
        of_canary("canary-weight", Form::Integer { least: 0, most: u32::MAX as u64 })
            .counts_with(CANARY)
            .ceiling(Ceiling::NotNeeded("a share is everything at most"))
            .documentation(
                "How many of canary-weight-total requests the canary gets, of those that neither header nor cookie \
                 decides; none by default. It is rounded to a hundredth of a percent.",
            )
            .beside(CANARY)
            .tries(&[
                ("10", Gives::Sets("canary: 10.00% of all other requests")),
                ("100", Gives::Sets("canary: 100.00% of all other requests")),
                ("10%", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| put(&mut draft.canary.weight, integer(entry.value, 0, u32::MAX.into()))),
        of_canary("canary-weight-total", Form::Integer { least: LEAST_WHOLE, most: u32::MAX as u64 })
            .counts_with(&[("canary-weight", SOMETHING)])
            .default(WHOLE)
            .ceiling(Ceiling::NotNeeded("it says what the weight is a part of"))
            .documentation("The total of which canary-weight is a part, at least 100.")
            .beside(&[("canary", "true"), ("canary-weight", "1")])
            .tries(&[
                ("1000", Gives::Sets("canary: 0.10% of all other requests")),
                ("50", Gives::Refused("whole number from 100")),
            ])
            .part(|draft, entry| put(&mut draft.canary.total, whole(entry.value))),
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
