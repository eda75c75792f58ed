//! Fuzzes kubeconfigs: see tests/properties/kubeconfigs.rs.
#![no_main]

#[path = "../../tests/properties/kubeconfigs.rs"]
mod kubeconfigs;

libfuzzer_sys::fuzz_target!(|data: &[u8]| kubeconfigs::check(data));
