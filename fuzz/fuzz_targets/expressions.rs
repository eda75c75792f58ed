//! Fuzzes expressions: see tests/properties/expressions.rs.
#![no_main]

#[path = "../../tests/properties/expressions.rs"]
mod expressions;

libfuzzer_sys::fuzz_target!(|data: &[u8]| expressions::check(data));
