//! The nodes of the group, and certificates by their end.

use std::time::SystemTime;

use jiff::Timestamp;
use maud::{Markup, html};

use super::{Asked, age, moment, table, text};
use crate::daemon::status::Status;
use ingressd_cluster::publish::{Outlook, Peer};
use ingressd_model::finding::count;

/// How many certificates are shown.
const MOST: usize = 100;

/// How many seconds before its end a certificate is looked at.
const SOON: i64 = 14 * 86_400;

pub fn section(status: &Status) -> Markup {
    let view = status.outlook.as_ref().map(Outlook::view);
    let leader = view.as_ref().and_then(|view| view.leader.clone());
    let members = view.iter().flat_map(|view| &view.members);
    let rows: Vec<_> = members.map(|peer| row(peer, leader.as_deref())).collect();
    html! {
        section #nodes aria-labelledby="nodes-title" {
            h2 #nodes-title { "Nodes" }
            @match (&view, rows.is_empty()) {
                (None, _) => { p { "This node reads a folder, so it knows no others." } }
                (Some(_), true) => { p { "No node has told of itself yet." } }
                (Some(_), false) => { (table(&["Node", "State", "Addresses", "Generation", "Version", "Seen"], &rows)) }
            }
        }
    }
}

fn row(Peer { member, life, age: seen }: &Peer, leader: Option<&str>) -> Vec<Markup> {
    vec![
        html! { strong { (text(&member.identity)) } @if leader == Some(&*member.identity) { " leads" } },
        html! {
            span class=(if member.serving { "well" } else { "error" }) {
                (life.name()) ", " (if member.serving { "serving" } else { "not serving" })
            }
            @if member.drained { ", " strong { "drained" } }
            @if member.pinned.is_some() { ", pinned" }
        },
        html! { @for address in &member.addresses { code { (text(&address.to_string())) } " " } },
        html! { @if let Some(generation) = member.generation { (generation) } },
        html! { (text(&member.version)) },
        html! { (age(seen.as_secs())) " ago" },
    ]
}

/// The certificates that are served, those that end first before the others.
pub fn certificates(asked: &Asked, status: &Status, now: SystemTime) -> Markup {
    let now = Timestamp::try_from(now).map_or(0, Timestamp::as_second);
    let mut found: Vec<_> = status.certificates.iter().filter(|(id, _)| asked.wants(&[&id.to_string()])).collect();
    found.sort_by(|one, other| (one.1, &one.0).cmp(&(other.1, &other.0)));
    let row = |id: &str, ends: i64| {
        let left = ends - now;
        let word = match left {
            ..=0 => "error",
            1..SOON => "warning",
            _ => "well",
        };
        vec![
            html! { (text(id)) },
            html! { @if let Ok(ends) = Timestamp::from_second(ends) { (moment(ends)) } },
            html! { span class=(word) {
                @if left > 0 { "in " (age(left.unsigned_abs())) } @else { "ended " (age(left.unsigned_abs())) " ago" }
            } },
        ]
    };
    let rows: Vec<_> = found.iter().take(MOST).map(|(id, ends)| row(&id.to_string(), *ends)).collect();
    html! {
        section #certificates aria-labelledby="certificates-title" {
            h2 #certificates-title { "Certificates" }
            @if rows.is_empty() { p { "None is served." } } @else {
                p { (count(found.len(), "certificate", "certificates")) ", those that end first before the others" }
                (table(&["Secret", "Ends", "Left"], &rows))
                @if found.len() > MOST { p.faint { "and " (found.len() - MOST) " more" } }
            }
        }
    }
}
