//! What is dearer than its length tells has its price.

use super::{Behaviour, Cost};

#[test]
fn an_expression_costs_what_its_size_takes() {
    // The bytes and microseconds that nginx took for the first; a short one was not measured, and
    // only has to stay cheap.
    for (text, memory, test) in [("(?:(?:(?:(?:a|b)|c)|d)|e){150}", 47_000, 120), ("/abc", 700, 5)] {
        let cost = Cost::of_expression(text);
        assert!(cost.memory >= memory && cost.memory <= 4 * memory, "{text}: {} bytes", cost.memory);
        assert!(cost.test >= test && cost.test <= 4 * test, "{text}: {} microseconds", cost.test);
    }
}

#[test]
fn upstreams_cost_what_nginx_takes_to_find_them() {
    // The microseconds that nginx took beyond what each path and upstream takes.
    for (passes, upstreams, test) in [(20_000, 10_000, 1_300_000), (80_000, 40_000, 40_000_000)] {
        let cost = Cost { passes, upstreams, ..Cost::default() }.alone();
        assert!(cost.test >= test && cost.test <= 2 * test, "{passes} and {upstreams}: {} microseconds", cost.test);
    }
    // The search goes on among the upstreams of others.
    let others = Cost { upstreams: 10_000, ..Cost::default() };
    let plain = Cost::of_route(1, 0, &Behaviour::default(), false);
    for (what, cost) in [("a path", plain), ("an error page", Cost::of_error_pages(1))] {
        assert!(cost.among(&others).test >= cost.test + 100, "{what}");
    }
}
