//! Lets a script attack.
use crate::rig;

#[test]
#[ignore = "by hand"]
fn ground() {
    rig::run(async |rig| {
        for pair in std::env::var("GROUND_SET").unwrap_or_default().split(';').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap();
            rig.daemon.set(key, value);
        }
        rig.start().await;
        let script = std::env::var("GROUND").unwrap();
        let status = tokio::process::Command::new("python3")
            .arg(script)
            .env("MANIFESTS", rig.manifests.folder())
            .env("FOLDER", rig.folder())
            .env("PREFIX_NGINX", rig.nginx.prefix())
            .status()
            .await
            .unwrap();
        println!("{status}");
        let log = rig.nginx.error_log();
        println!("--- error log\n{}", &log[log.len().saturating_sub(3000)..]);
    });
}
