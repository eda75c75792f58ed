//! Default values for objects without an annotation.

use super::{read_all, said_for_all};
use crate::{INGRESS_NGINX, Options, PREFIX};

#[test]
fn an_empty_key_hides_neither_its_other_spelling_nor_a_default() {
    let list = |annotations: &[(&str, &str)], options: &Options| {
        let annotations = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned()));
        let reading = read_all(&annotations.collect(), &INGRESS_NGINX, options);
        reading.behaviour.access.as_ref().map(|access| access.allow().len())
    };
    let default = said_for_all("whitelist-source-range", "10.0.0.0/8, 192.0.2.0/24");
    let under = Options { defaults: [default].into(), ..Options::default() };
    let (key, other) = ("allowlist-source-range", "whitelist-source-range");
    for (annotations, plain, defaulted) in [
        (&[(key, ""), (other, "10.0.0.0/8")][..], Some(1), Some(1)),
        (&[(key, "10.0.0.0/8"), (other, "")], Some(1), Some(1)),
        (&[(key, " ")], None, Some(2)),
        (&[], None, Some(2)),
    ] {
        assert_eq!(list(annotations, &Options::default()), plain, "{annotations:?}");
        assert_eq!(list(annotations, &under), defaulted, "{annotations:?}");
    }
}
