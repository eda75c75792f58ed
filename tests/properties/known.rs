//! Inputs that once broke a property, which `make fuzz` or somebody found.

/// A subject, and the input.
pub const KNOWN: &[(&str, &[u8])] = &[
    // Nothing has no weight where it may match anywhere.
    ("expressions", b""),
    // The message quoted the lines around the mistake, which may hold a token.
    ("kubeconfigs", b"apiVersion: v1\nkind: Config\nc"),
    // The client library panicked at half a character at the end.
    ("kubeconfigs", b"\xff\xfec\0u"),
    // nginx takes this user for a comment.
    ("passwords", b"#a:{SHA}h"),
];
