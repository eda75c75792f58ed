//! How much one object and one namespace may ask for, as the administrator decides; it must not know how settings are written.

/// Bounds of whatever an object can make grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Paths of one host that one namespace may have: nginx compares each with many others whenever it reads them, and a test that
    /// takes longer than a minute keeps everybody's changes out.
    pub paths_of_host: usize,
    /// What one object and one upstream may ask for.
    pub object: ObjectLimits,
    /// What the objects of one namespace may ask for together.
    pub namespace: NamespaceLimits,
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

/// A mebibyte.
const MIB: u64 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        let (object, namespace) = (ObjectLimits::default(), NamespaceLimits::default());
        Limits { paths_of_host: 10_000, object, namespace }
    }
}

impl Default for ObjectLimits {
    fn default() -> Self {
        ObjectLimits { paths: 2000, list_entries: 5000, annotation_bytes: 131_072, origins: 200, endpoints: 2000 }
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
            zones: 512 * MIB,
            configuration: 128 * MIB,
            memory: 2048 * MIB,
            test: 25_000_000,
        }
    }
}
