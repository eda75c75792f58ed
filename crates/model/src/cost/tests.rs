//! What is dearer than its length tells has its price.

use super::Cost;

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
