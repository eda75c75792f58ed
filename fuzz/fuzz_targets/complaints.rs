//! Fuzzes complaints of nginx: see tests/properties/complaints.rs.
#![no_main]

#[path = "../../tests/properties/complaints.rs"]
mod complaints;

libfuzzer_sys::fuzz_target!(|data: &[u8]| complaints::check(data));
