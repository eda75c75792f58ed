//! How much one object and one namespace may ask for, as the administrator decides.

use std::time::Duration;

use crate::model::ByteSize;

/// Bounds of whatever an object can make grow. Of a size, a time or a number that is a ceiling for values, 0 is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Paths of one host that one namespace may have: nginx compares each with many others whenever it reads them, and a test that
    /// takes longer than a minute keeps everybody's changes out.
    pub paths_of_host: usize,
    /// Findings of one object that are told.
    pub findings_of_object: usize,
    /// Findings of one namespace that are shown at once, or logged within a minute.
    pub findings_of_namespace: usize,
    /// Names behind Services of type ExternalName that are resolved for one namespace.
    pub names_of_namespace: usize,
    /// Addresses of one such name that are used.
    pub addresses_of_name: usize,
    /// What the expressions of one namespace on one host may weigh together, see [`crate::model::expression::weight`].
    pub expressions_of_host: u32,
    /// Largest request body.
    pub body_size: ByteSize,
    /// Memory for a request body.
    pub body_buffer: ByteSize,
    /// Memory for an answer, all buffers together.
    pub answer_buffers: ByteSize,
    /// Temporary file for an answer.
    pub answer_file: ByteSize,
    /// Waiting for a backend.
    pub timeout: Duration,
    /// Endpoints that are tried for one request.
    pub tries: u32,
    /// What passwords may cost.
    pub password: PasswordLimits,
    /// What one object and one upstream may ask for.
    pub object: ObjectLimits,
    /// What the objects of one namespace may ask for together.
    pub namespace: NamespaceLimits,
    /// What the objects of all namespaces may ask for together.
    pub node: NodeLimits,
}

/// What passwords may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordLimits {
    /// What it may cost to verify one, as the cost of bcrypt.
    pub cost: u8,
    /// Users of one password file.
    pub users: usize,
}

/// What one object and one upstream may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLimits {
    /// Paths of an Ingress.
    pub paths: u64,
    /// Elements of all lists in the annotations of an Ingress.
    pub list_entries: u64,
    /// Bytes of one annotation.
    pub annotation_bytes: u64,
    /// Origins that an Ingress lets in.
    pub origins: u64,
    /// Endpoints of a port of a Service.
    pub endpoints: u64,
}

/// What the objects of one namespace may ask for together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceLimits {
    /// Hosts.
    pub hosts: u64,
    /// Paths of hosts.
    pub routes: u64,
    /// Ports of Services that routes refer to.
    pub upstreams: u64,
    /// Endpoints of all of them.
    pub endpoints: u64,
    /// Secrets with certificates.
    pub certificates: u64,
    /// Files of a generation, whatever they are for.
    pub files: u64,
    /// Bytes of shared memory in which clients are counted.
    pub zones: u64,
    /// Bytes of configuration, as estimated.
    pub configuration: u64,
    /// Bytes of nginx's memory, as estimated.
    pub memory: u64,
    /// Microseconds that nginx needs to read the configuration, as estimated.
    pub test: u64,
}

/// What the objects of all namespaces may ask for together; where they ask for more, each namespace has a fair share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLimits {
    /// Bytes of configuration, as estimated.
    pub configuration: u64,
    /// Bytes of nginx's memory, as estimated.
    pub memory: u64,
    /// Microseconds that nginx needs to read the configuration, as estimated.
    pub test: u64,
}

impl Limits {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        Limits {
            object: ObjectLimits::empty(),
            namespace: NamespaceLimits::empty(),
            node: NodeLimits::empty(),
            paths_of_host: 0,
            findings_of_object: 0,
            findings_of_namespace: 0,
            names_of_namespace: 0,
            addresses_of_name: 0,
            expressions_of_host: 0,
            body_size: ByteSize(0),
            body_buffer: ByteSize(0),
            answer_buffers: ByteSize(0),
            answer_file: ByteSize(0),
            timeout: Duration::ZERO,
            tries: 0,
            password: PasswordLimits { cost: 0, users: 0 },
        }
    }
}

impl ObjectLimits {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        ObjectLimits { paths: 0, list_entries: 0, annotation_bytes: 0, origins: 0, endpoints: 0 }
    }
}

impl NamespaceLimits {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        NamespaceLimits {
            hosts: 0,
            routes: 0,
            upstreams: 0,
            endpoints: 0,
            certificates: 0,
            files: 0,
            zones: 0,
            configuration: 0,
            memory: 0,
            test: 0,
        }
    }
}

/// One namespace gets so much of the memory at most, of which a reload takes twice as much, and so much of the time, of which a test
/// and a reload after it take twice as much: something is left for the changes of others.
const MEMORY_SHARE: u64 = 4;
const TIME_SHARE: u64 = 3;

impl Limits {
    /// What is right on a host with so many bytes of memory, if that is known, whose nginx has so long to take a configuration.
    /// Another number than the default is the administrator's decision.
    pub fn fit(&mut self, memory: Option<u64>, time: Duration) {
        let default = (NamespaceLimits::default(), NodeLimits::default());
        let share = |default: u64, parts: u64| memory.map_or(default, |memory| default.min(memory / parts));
        if self.namespace.memory == default.0.memory {
            self.namespace.memory = share(default.0.memory, MEMORY_SHARE);
        }
        // Old workers have as much again for as long as they finish connections.
        if self.node.memory == default.1.memory {
            self.node.memory = share(default.1.memory, 2);
        }
        if self.namespace.test == default.0.test {
            self.namespace.test = default.0.test.min(u64::try_from(time.as_micros()).unwrap_or(u64::MAX) / TIME_SHARE);
        }
    }
}

impl NodeLimits {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        NodeLimits { configuration: 0, memory: 0, test: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_by_default_than_leaves_room_for_others() {
        const GIB: u64 = 1 << 30;
        let set = Limits {
            namespace: NamespaceLimits { memory: 7 * GIB, test: 90_000_000, ..NamespaceLimits::default() },
            node: NodeLimits { memory: 9 * GIB, ..NodeLimits::default() },
            ..Limits::default()
        };
        for (limits, memory, seconds, expected) in [
            (Limits::default(), Some(64 * GIB), 600, (2 * GIB, 20_000_000, 8 * GIB)),
            (Limits::default(), Some(4 * GIB), 60, (GIB, 20_000_000, 2 * GIB)),
            (Limits::default(), Some(2 * GIB), 9, (GIB / 2, 3_000_000, GIB)),
            (Limits::default(), None, 60, (2 * GIB, 20_000_000, 8 * GIB)),
            (set, Some(GIB), 1, (7 * GIB, 90_000_000, 9 * GIB)),
        ] {
            let mut limits = limits;
            limits.fit(memory, Duration::from_secs(seconds));
            let found = (limits.namespace.memory, limits.namespace.test, limits.node.memory);
            assert_eq!(found, expected, "{memory:?} {seconds}");
        }
    }
}
