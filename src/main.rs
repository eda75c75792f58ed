//! The program: exit codes; calls `cli`.

fn main() {}
