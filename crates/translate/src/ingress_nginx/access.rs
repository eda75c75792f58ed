//! Annotations about client addresses.

use std::sync::Arc;

use crate::annotation::{Context, Draft, Elsewhere, Family, Form, Gives, OnError, Row, Trust, put};
use crate::value::address_list;
use ingressd_model::{AccessList, Origin};

pub static FAMILY: Family = Family {
    title: "Access by address",
    rows: &[
        Row::new("allowlist-source-range", Form::Addresses)
            .elsewhere(&[Elsewhere::Close])
            .aliases(&["whitelist-source-range"])
            .setting("access.allowlist")
            .trust(Trust::Medium)
            .on_error(OnError::Close)
            .documentation(
                "Admits only clients from these addresses and networks, a comma-separated list; all others get 403. It \
                 replaces the administrator's list. An empty value is the same as no annotation.",
            )
            .tries(&[
                ("10.0.0.0/8", Gives::Sets("allow 10.0.0.0/8")),
                ("192.0.2.1, 2001:db8::/32", Gives::Sets("allow 192.0.2.1/32")),
                ("10.0.0.0/33", Gives::Refused("not an address or network")),
                ("10.0.0.0/8; deny all", Gives::Refused("not an address or network")),
            ])
            .part(|draft, entry| put(&mut draft.access.allow, address_list(entry.value))),
        Row::new("denylist-source-range", Form::Addresses)
            .elsewhere(&[Elsewhere::Close])
            .setting("access.denylist")
            .trust(Trust::Medium)
            .on_error(OnError::Close)
            .documentation(
                "Answers 403 to clients from these addresses and networks, a comma-separated list, even when another \
                 list admits them. It replaces the administrator's list. An empty value is the same as no annotation.",
            )
            .tries(&[
                ("203.0.113.7", Gives::Sets("deny 203.0.113.7/32")),
                ("everybody", Gives::Refused("not an address or network")),
            ])
            .part(|draft, entry| put(&mut draft.access.deny, address_list(entry.value))),
    ],
    finish,
};

fn finish(draft: &mut Draft, context: &Context<'_>) {
    let deny = draft.access.deny.take().unwrap_or_else(|| context.options.denylist.clone());
    let allow = draft.access.allow.take().unwrap_or_else(|| context.options.allowlist.clone());
    if !deny.is_empty() || !allow.is_empty() {
        let list = AccessList::new(Origin::object(context.object), deny, allow);
        draft.reading.behaviour.access = Some(Arc::new(list));
    }
}
