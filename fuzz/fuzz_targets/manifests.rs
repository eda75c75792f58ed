//! Fuzzes manifests: see tests/properties/manifests.rs.
#![no_main]

#[path = "../../tests/properties/manifests.rs"]
mod manifests;

libfuzzer_sys::fuzz_target!(|data: &[u8]| manifests::check(data));
