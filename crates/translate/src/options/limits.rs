//! The administrator's limits for one object, for one namespace and for the node.

use std::time::Duration;

use ingressd_model::ByteSize;

/// Limits for everything that an object can make grow. Among the ceilings for values (sizes, times
/// and numbers) 0 means none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Paths of one host that one namespace may have. nginx compares each path with many others
    /// when it reads them, and a test that takes longer than a minute blocks the changes of all.
    pub paths_of_host: usize,
    /// Findings of one object that are reported.
    pub findings_of_object: usize,
    /// Findings of one namespace that are shown at once, or logged within a minute.
    pub findings_of_namespace: usize,
    /// DNS names of ExternalName Services that are resolved for one namespace.
    pub names_of_namespace: usize,
    /// Ports of the node that objects of one namespace may open.
    pub ports_of_namespace: usize,
    /// Addresses of one such name that are used.
    pub addresses_of_name: usize,
    /// The total weight of the expressions of one namespace on one host, see
    /// [`ingressd_model::expression::weight`].
    pub expressions_of_host: u32,
    /// The largest request body.
    pub body_size: ByteSize,
    /// The buffer for a request body.
    pub body_buffer: ByteSize,
    /// The memory for a response, all buffers together.
    pub answer_buffers: ByteSize,
    /// The temporary file for a response.
    pub answer_file: ByteSize,
    /// Timeouts of backends.
    pub timeout: Duration,
    /// Endpoints that are tried for one request.
    pub tries: u32,
    /// Limits for passwords.
    pub password: PasswordLimits,
    /// Limits for one object and one upstream.
    pub object: ObjectLimits,
    /// Limits for all objects of one namespace together.
    pub namespace: NamespaceLimits,
    /// Limits for all objects of all namespaces together.
    pub node: NodeLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordLimits {
    /// The cost of verifying one, on the scale of bcrypt.
    pub cost: u8,
    /// The number of users in one password file.
    pub users: usize,
}

/// Limits for one object and one upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectLimits {
    /// Paths of an Ingress.
    pub paths: u64,
    /// Elements of all lists in the annotations of an Ingress.
    pub list_entries: u64,
    /// Bytes of one annotation.
    pub annotation_bytes: u64,
    /// Origins that an Ingress allows.
    pub origins: u64,
    /// Endpoints of a port of a Service.
    pub endpoints: u64,
}

/// Limits for all objects of one namespace together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceLimits {
    pub hosts: u64,
    /// Paths of hosts.
    pub routes: u64,
    /// Ports of Services that routes refer to.
    pub upstreams: u64,
    /// Endpoints of all upstreams.
    pub endpoints: u64,
    /// Secrets with certificates.
    pub certificates: u64,
    /// Files of a generation.
    pub files: u64,
    /// Bytes of shared memory for limits per client.
    pub zones: u64,
    /// Estimated bytes of configuration.
    pub configuration: u64,
    /// Estimated bytes of nginx's memory.
    pub memory: u64,
    /// Estimated microseconds for nginx to read the configuration.
    pub test: u64,
}

/// Limits for all objects of all namespaces together; above them each namespace has a fair share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLimits {
    /// Estimated bytes of configuration.
    pub configuration: u64,
    /// Estimated bytes of nginx's memory.
    pub memory: u64,
    /// Estimated microseconds for nginx to read the configuration.
    pub test: u64,
}

/// Without any settings.
impl Default for Limits {
    fn default() -> Self {
        Limits {
            paths_of_host: 10_000,
            findings_of_object: 20,
            findings_of_namespace: 200,
            names_of_namespace: 500,
            ports_of_namespace: 20,
            addresses_of_name: 64,
            expressions_of_host: 500,
            body_size: ByteSize(16 << 30),
            body_buffer: ByteSize(1 << 20),
            answer_buffers: ByteSize(2 << 20),
            answer_file: ByteSize(1 << 30),
            timeout: Duration::from_secs(24 * 3600),
            tries: 20,
            password: PasswordLimits { cost: 10, users: 5000 },
            object: ObjectLimits::default(),
            namespace: NamespaceLimits::default(),
            node: NodeLimits::default(),
        }
    }
}

impl Default for ObjectLimits {
    fn default() -> Self {
        ObjectLimits { paths: 2000, list_entries: 5000, annotation_bytes: 128 << 10, origins: 200, endpoints: 2000 }
    }
}

impl Default for NamespaceLimits {
    fn default() -> Self {
        NamespaceLimits {
            hosts: 10_000,
            routes: 20_000,
            upstreams: 10_000,
            endpoints: 50_000,
            certificates: 6000,
            files: 40_000,
            zones: 512 << 20,
            configuration: 128 << 20,
            memory: 2 << 30,
            test: 20_000_000,
        }
    }
}

impl Default for NodeLimits {
    fn default() -> Self {
        NodeLimits { configuration: 512 << 20, memory: 8 << 30, test: 80_000_000 }
    }
}

/// The divisor for the share of one namespace in memory and time. A reload needs twice the memory,
/// and a test with the following reload twice the time, so that something is left for changes of
/// others.
const MEMORY_SHARE: u64 = 4;
const TIME_SHARE: u64 = 3;

impl Limits {
    /// Fits the limits to a host with this many bytes of memory, if that is known, and this time
    /// limit for nginx. A number that differs from the default is the administrator's and stays.
    pub fn fit(&mut self, memory: Option<u64>, time: Duration) {
        let default = (NamespaceLimits::default(), NodeLimits::default());
        let share = |default: u64, parts: u64| memory.map_or(default, |memory| default.min(memory / parts));
        if self.namespace.memory == default.0.memory {
            self.namespace.memory = share(default.0.memory, MEMORY_SHARE);
        }
        // Old workers need as much memory again while they finish connections.
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
