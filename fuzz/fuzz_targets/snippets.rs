//! Fuzzes snippets: see tests/properties/snippets.rs.
#![no_main]

#[path = "../../tests/injection/blocks.rs"]
mod blocks;
#[path = "../../tests/injection/confinement.rs"]
mod confinement;
#[expect(dead_code, reason = "it has more than these properties need")]
#[path = "../../tests/injection/fields.rs"]
mod fields;
#[path = "../../tests/golden/inputs.rs"]
mod inputs;
#[expect(dead_code, reason = "it has more than these properties need")]
#[path = "../../tests/injection/pipeline.rs"]
mod pipeline;
#[path = "../../tests/properties/snippets.rs"]
mod snippets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| snippets::check(data));
