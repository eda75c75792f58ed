//! Fuzzes nginx's language: see tests/properties/language.rs.
#![no_main]

#[path = "../../tests/properties/language.rs"]
mod language;

libfuzzer_sys::fuzz_target!(|data: &[u8]| language::check(data));
