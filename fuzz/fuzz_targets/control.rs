//! Fuzzes the control protocol: see tests/properties/control.rs.
#![no_main]

#[path = "../../tests/properties/control.rs"]
mod control;

libfuzzer_sys::fuzz_target!(|data: &[u8]| control::check(data));
