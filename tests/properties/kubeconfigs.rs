//! Kubeconfigs: whatever such a file holds, it gives the address of a server, or a reason on one
//! line.

use std::cell::LazyCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use ingressd_cluster::source::cluster::kubeconfig;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static PLACE: LazyCell<(TempDir, Runtime)> = LazyCell::new(|| {
        (tempfile::tempdir().unwrap(), Builder::new_current_thread().build().unwrap())
    });
}

pub fn check(data: &[u8]) {
    // A file that has no end is none to name in one's own kubeconfig.
    let plain = String::from_utf8_lossy(data).replace('\0', "");
    if ["/dev", "/proc", "/sys", "\\"].iter().any(|odd| plain.contains(odd)) {
        return;
    }
    PLACE.with(|place| {
        let (folder, runtime) = &**place;
        let path = folder.path().join("kubeconfig");
        fs::write(&path, data).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        match runtime.block_on(kubeconfig::read(&path)) {
            Ok(credentials) => {
                assert!(credentials.config.cluster_url.host().is_some(), "{:?}", credentials.config.cluster_url);
                assert_eq!(credentials.files.first(), Some(&path));
                assert!(credentials.files.iter().all(|file| file.is_absolute()), "{:?}", credentials.files);
                assert_eq!(kubeconfig::fingerprint(&credentials.files), credentials.fingerprint);
            }
            Err(error) => {
                let words = error.to_string();
                assert!(!words.contains(char::is_control), "{words:?}");
                assert!(words.len() < 1000, "{} bytes: {words}", words.len());
            }
        }
    });
}
