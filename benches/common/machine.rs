//! The machine and time of a measurement.

use std::fs;
use std::process::Command;

use rig::nginx::Nginx;

/// Facts of this machine, each with its name.
pub fn facts() -> Vec<(&'static str, String)> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    vec![
        ("date", jiff::Zoned::now().strftime("%Y-%m-%d %H:%M %Z").to_string()),
        ("cores", cores.to_string()),
        ("processor", processor()),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("nginx", nginx()),
        ("load before", read("/proc/loadavg")),
        ("ingressd", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn processor() -> String {
    let text = read("/proc/cpuinfo");
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.unwrap_or_default().trim_start_matches([' ', '\t', ':']).to_owned()
}

fn nginx() -> String {
    let output = Command::new(Nginx::binary()).arg("-v").output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    words.trim().trim_start_matches("nginx version: nginx/").to_owned()
}
