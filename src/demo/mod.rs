//! A private nginx and backends that answer for themselves, to try ingressd without a cluster; it must not know how a cluster is read.

pub mod echo;
