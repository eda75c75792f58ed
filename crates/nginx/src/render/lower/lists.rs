//! Long address lists that many locations use, each written once as a `geo` table.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Plan;
use crate::render::engine::Engine;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::token::{Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::{AccessList, Cidr, ListMark, Refused};

use super::shared::behaviours;
use super::tables::text;

/// The long lists of a plan without duplicates, sorted by name. Of equal lists, the one whose
/// object comes first is taken.
pub fn long_lists(plan: &Plan) -> Vec<Arc<AccessList>> {
    let mut lists: BTreeMap<ListMark, &Arc<AccessList>> = BTreeMap::new();
    for (behaviour, _) in behaviours(plan) {
        let Some((mark, list)) = behaviour.access.as_ref().and_then(|list| Some((behaviour.referred_list()?, list)))
        else {
            continue;
        };
        let known = lists.entry(mark).or_insert(list);
        if !Arc::ptr_eq(known, list) && list.origin() < known.origin() {
            *known = list;
        }
    }
    lists.into_values().cloned().collect()
}

/// The file of a long list.
pub fn list(list: &AccessList, engine: &Engine) -> File {
    // Networks are valid words by construction; without the file nginx's test names the users of
    // its variable.
    let text = text(engine, |tables| say(list, tables));
    File::plain(text, Owners(vec![(1, list.origin().clone())]), [])
}

/// Writes the variable that says whether a client is denied.
fn say(list: &AccessList, tables: &mut Tables) -> Result<(), Refused> {
    let mark = list.mark().ok_or(Refused::because("it is short"))?;
    let word = |denied: bool| if denied { "1" } else { "0" };
    let geo = Block::new(Words::line("geo", Word::variable(&names::list(mark))?));
    let mut geo = geo.row("default", word(!list.allow().is_empty()));
    for (network, denied) in table(list) {
        geo = geo.rows(halves(network).map(|half| Word::network(&half)), word(denied));
    }
    tables.block(geo);
    Ok(())
}

/// The networks whose access differs from that of the surrounding one. nginx looks for the
/// smallest network that contains a client, while in a list denials take precedence over
/// everything allowed within them.
fn table(list: &AccessList) -> Vec<(Cidr, bool)> {
    let denied = list.deny().iter().map(|network| (network.trunc(), true));
    let mut all: Vec<_> = denied.chain(list.allow().iter().map(|network| (network.trunc(), false))).collect();
    // The sort puts a network directly before those within it; of two equal ones the denial comes
    // first.
    all.sort_unstable_by_key(|(network, denied)| (network.network(), network.prefix_len(), !denied));
    let mut around: Vec<(Cidr, bool)> = Vec::new();
    let mut table = Vec::new();
    for (network, denied) in all {
        while around.last().is_some_and(|(outer, _)| !outer.contains(&network)) {
            around.pop();
        }
        let outer = around.last().map(|(_, denied)| *denied);
        // Nothing within a denied network is allowed.
        let is_reported = match outer {
            Some(true) => false,
            Some(false) => denied,
            None => denied == list.allow().is_empty(),
        };
        if is_reported || outer.is_none() {
            around.push((network, denied));
        }
        if is_reported {
            table.push((network, denied));
        }
    }
    table
}

/// The network; a network of all addresses as two halves, because nginx takes it for a second
/// `default`.
pub fn halves(network: Cidr) -> impl Iterator<Item = Cidr> {
    let is_all = network.prefix_len() == 0;
    let halves = network.subnets(network.prefix_len() + u8::from(is_all)).ok();
    halves.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::{Kind, ObjectId, Origin};

    fn shown(deny: &str, allow: &str) -> String {
        let read = |text: &str| text.split_whitespace().map(|network| network.parse().expect("a network")).collect();
        let object = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart"));
        let list = AccessList::new(Origin::object(&object), read(deny), read(allow));
        let networks =
            table(&list).into_iter().flat_map(|(network, denied)| halves(network).map(move |half| (half, denied)));
        let lines = networks.map(|(network, denied)| format!("{}{network}", if denied { "-" } else { "+" }));
        lines.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_smallest_network_around_a_client_decides_as_the_list_does() {
        for (deny, allow, expected) in [
            ("192.0.2.0/24 10.0.0.0/8", "", "-10.0.0.0/8 -192.0.2.0/24"),
            ("10.0.0.0/8 10.1.0.0/16 10.0.0.0/8", "", "-10.0.0.0/8"),
            ("", "10.0.0.0/8 10.1.0.0/16 2001:db8::/32", "+10.0.0.0/8 +2001:db8::/32"),
            // Denials take precedence, whether they are smaller or larger than what is allowed.
            ("10.1.0.0/16", "10.0.0.0/8", "+10.0.0.0/8 -10.1.0.0/16"),
            ("10.0.0.0/8", "10.1.0.0/16 192.0.2.0/24", "+192.0.2.0/24"),
            ("10.0.0.0/8", "10.0.0.0/8", ""),
            ("10.1.0.0/16", "10.0.0.0/8 10.1.2.0/24 10.1.2.3/32", "+10.0.0.0/8 -10.1.0.0/16"),
            // All addresses of an address family.
            ("0.0.0.0/0", "", "-0.0.0.0/1 -128.0.0.0/1"),
            ("192.0.2.1/32", "::/0 0.0.0.0/0", "+0.0.0.0/1 +128.0.0.0/1 -192.0.2.1/32 +::/1 +8000::/1"),
            ("::/0", "2001:db8::/32", ""),
        ] {
            assert_eq!(shown(deny, allow), expected, "deny {deny}, allow {allow}");
        }
    }

    /// For every address of a small family of networks the table gives the same result as nginx's
    /// access rules.
    #[test]
    fn no_address_is_judged_otherwise_than_by_the_list() {
        let networks = ["10.0.0.0/30", "10.0.0.0/31", "10.0.0.2/31", "10.0.0.1/32", "10.0.0.2/32", "0.0.0.0/0"];
        let networks = networks.map(|network| network.parse::<Cidr>().expect("a network"));
        let chosen =
            |mask: usize| networks.iter().enumerate().filter(move |(bit, _)| mask >> bit & 1 == 1).map(|(_, one)| *one);
        let object = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart"));
        for masks in 0..(1 << (2 * networks.len())) {
            let (deny, allow) = (chosen(masks & 63).collect::<Vec<_>>(), chosen(masks >> 6).collect::<Vec<_>>());
            let list = AccessList::new(Origin::object(&object), deny.clone(), allow.clone());
            let table: Vec<_> = table(&list)
                .into_iter()
                .flat_map(|(network, denied)| halves(network).map(move |half| (half, denied)))
                .collect();
            for address in ["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "200.0.0.1"] {
                let client: std::net::IpAddr = address.parse().expect("an address");
                let holds = |networks: &[Cidr]| networks.iter().any(|network| network.contains(&client));
                let expected = holds(&deny) || (!allow.is_empty() && !holds(&allow));
                let smallest = table
                    .iter()
                    .filter(|(network, _)| network.contains(&client))
                    .max_by_key(|(network, _)| network.prefix_len());
                let denied = smallest.map_or(!allow.is_empty(), |(_, denied)| *denied);
                assert_eq!(denied, expected, "{address}: deny {deny:?}, allow {allow:?}: {table:?}");
            }
        }
    }
}
