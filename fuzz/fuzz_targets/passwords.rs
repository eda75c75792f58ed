//! Fuzzes password files: see tests/properties/passwords.rs.
#![no_main]

#[path = "../../tests/properties/passwords.rs"]
mod passwords;

libfuzzer_sys::fuzz_target!(|data: &[u8]| passwords::check(data));
