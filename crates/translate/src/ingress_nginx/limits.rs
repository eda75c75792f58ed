//! Annotations about rate and connection limits per client.

use std::sync::Arc;

use crate::annotation::{
    Ceiling, Context, Draft, Elsewhere, Entry, Family, Form, Gives, OnError, Row, SOMETHING, built_in, put,
};
use crate::value::{address_list, integer, is_number, positive};
use ingressd_model::catalogue::{DirectiveRow, LIMIT_RATE, LIMIT_RATE_AFTER};
use ingressd_model::{Argument, ByteSize, ClientLimits, LimitRate, Origin, Refused};

/// The highest rate: nginx counts thousandths of a request in 32 bits.
const HIGHEST_RATE: u32 = 1_000_000;
/// No ceiling: nginx keeps one number for each client, whatever the limit is, and delays no
/// request.
const COUNTED: Ceiling = Ceiling::NotNeeded("a higher limit costs nginx nothing, and protects less");
/// The most connections: nginx counts them in 16 bits.
const MOST_CONNECTIONS: u32 = 65_535;
/// The default burst, as a multiple of the rate.
const BURST_MULTIPLIER: &str = "5";

/// The largest multiple.
const MOST_BURSTS: u64 = 10_000;

/// The largest rate in kilobytes.
const MOST_KILOBYTES: u64 = 1 << 30;

pub static FAMILY: Family = Family {
    title: "Limits for each client",
    rows: &[
        Row::new("limit-allowlist", Form::Addresses)
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .counts_with(&[("limit-rps", SOMETHING), ("limit-rpm", SOMETHING), ("limit-connections", SOMETHING)])
            .aliases(&["limit-whitelist"])
            .documentation("Clients of these addresses and networks, a comma-separated list, are not limited.")
            .beside(&[("limit-rps", "10")])
            .tries(&[
                ("10.0.0.0/8,192.0.2.1", Gives::Sets("no limits for 10.0.0.0/8")),
                ("localhost", Gives::Refused("not an address or network")),
            ])
            .part(|draft, entry| put(&mut draft.limits.exempt, address_list(entry.value))),
        Row::new("limit-burst-multiplier", Form::Integer { least: 1, most: MOST_BURSTS })
            .counts_with(&[("limit-rps", SOMETHING), ("limit-rpm", SOMETHING)])
            .default(BURST_MULTIPLIER)
            .ceiling(COUNTED)
            .documentation(
                "How many times limit-rps or limit-rpm a client may send at once before its requests are refused.",
            )
            .beside(&[("limit-rps", "10")])
            .tries(&[
                ("3", Gives::Sets("each client: 10 requests a second, burst 30")),
                ("0", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| put(&mut draft.limits.burst_multiplier, burst_multiplier(entry.value))),
        Row::new("limit-connections", Form::Integer { least: 0, most: MOST_CONNECTIONS as u64 })
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .ceiling(COUNTED)
            .documentation(
                "Simultaneous connections of one client address, over all routes of the object; 0 is no limit.",
            )
            .tries(&[
                ("20", Gives::Sets("each client: 20 connections")),
                ("0", Gives::Nothing),
                ("65536", Gives::Refused("from 0 to 65535")),
                ("-1", Gives::LeftOut("whole number")),
                ("20 clients", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| limit(draft, entry, MOST_CONNECTIONS, |draft| &mut draft.limits.connections)),
        Row::new("limit-rate", Form::Integer { least: 0, most: MOST_KILOBYTES })
            .ceiling(Ceiling::NotNeeded("a higher rate costs nginx nothing"))
            .documentation(
                "Kilobytes in a second of one response; 0 is no limit. It has an effect where responses are buffered \
                 (proxy-buffering: \"on\").",
            )
            .tries(&[
                ("100", Gives::Sets("limit_rate 100k;")),
                ("0", Gives::Nothing),
                ("100k", Gives::Refused("whole number")),
                ("-1", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| kilobytes(&LIMIT_RATE, draft, entry)),
        Row::new("limit-rate-after", Form::Integer { least: 0, most: MOST_KILOBYTES })
            .counts_with(&[("limit-rate", SOMETHING)])
            .ceiling(Ceiling::NotNeeded("it only puts limit-rate off"))
            .documentation("How many kilobytes of a response are sent before limit-rate applies.")
            .beside(&[("limit-rate", "100")])
            .tries(&[
                ("50", Gives::Sets("limit_rate_after 50k;")),
                ("0", Gives::Nothing),
                ("much", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| kilobytes(&LIMIT_RATE_AFTER, draft, entry)),
        Row::new("limit-rpm", Form::Integer { least: 0, most: HIGHEST_RATE as u64 })
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .ceiling(COUNTED)
            .documentation(
                "Requests in a minute from one client address, over all routes of the object; requests beyond the \
                 burst get 503. 0 is no limit.",
            )
            .tries(&[
                ("60", Gives::Sets("each client: 60 requests a minute, burst 300")),
                ("0", Gives::Nothing),
                ("60/m", Gives::Refused("whole number")),
            ])
            .part(|draft, entry| limit(draft, entry, HIGHEST_RATE, |draft| &mut draft.limits.per_minute)),
        Row::new("limit-rps", Form::Integer { least: 0, most: HIGHEST_RATE as u64 })
            .on_error(OnError::Refuse)
            .elsewhere(&[Elsewhere::Refuse])
            .ceiling(COUNTED)
            .documentation(
                "Requests in a second from one client address, over all routes of the object; requests beyond the \
                 burst get 503. 0 is no limit.",
            )
            .tries(&[
                ("10", Gives::Sets("each client: 10 requests a second, burst 50")),
                ("0", Gives::Nothing),
                ("ten", Gives::Refused("whole number")),
                ("-10", Gives::LeftOut("whole number")),
            ])
            .part(|draft, entry| limit(draft, entry, HIGHEST_RATE, |draft| &mut draft.limits.per_second)),
    ],
    finish,
};

/// A limit; one below 0 is none.
fn limit(
    draft: &mut Draft,
    entry: &Entry<'_>,
    most: u32,
    place: fn(&mut Draft) -> &mut Option<u32>,
) -> Result<(), Refused> {
    match positive(entry.value, most) {
        Ok(number) => *place(draft) = number,
        Err(refused) if is_number(entry.value) && entry.value.trim().starts_with('-') => {
            return draft.leave_out(entry, &refused);
        }
        Err(refused) => return Err(refused),
    }
    Ok(())
}

fn burst_multiplier(value: &str) -> Result<u32, Refused> {
    integer(value, 1, 10_000).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// Sets a directive in kilobytes, unless the value is 0.
fn kilobytes(row: &'static DirectiveRow, draft: &mut Draft, entry: &Entry<'_>) -> Result<(), Refused> {
    let number = integer(entry.value, 0, MOST_KILOBYTES)?;
    if number > 0 {
        draft.directive(row, vec![Argument::Size(ByteSize(number << 10))], entry.origin());
    }
    Ok(())
}

/// For rows of which 0 has no effect.
fn finish(draft: &mut Draft, context: &Context<'_>) {
    let limits = &mut draft.limits;
    let multiplier = limits.burst_multiplier.unwrap_or_else(|| built_in(BURST_MULTIPLIER, burst_multiplier));
    let second = limits.per_second.map(|rate| (LimitRate::PerSecond(rate), rate.saturating_mul(multiplier)));
    let minute = limits.per_minute.map(|rate| (LimitRate::PerMinute(rate), rate.saturating_mul(multiplier)));
    let rates: Vec<_> = second.into_iter().chain(minute).collect();
    if !rates.is_empty() || limits.connections.is_some() {
        draft.reading.behaviour.limits = Some(Arc::new(ClientLimits {
            origin: Origin::object(context.object),
            rates,
            connections: limits.connections,
            exempt: std::mem::take(&mut limits.exempt),
        }));
    }
}
