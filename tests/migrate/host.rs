//! What `ingressd migrate` says of the host's own nginx and its sites.

use std::path::Path;

use serde_json::Value;

use super::{DUMP, migrate};

/// What is on the node's own nginx already, and what its nginx.conf says of keys that belong
/// there.
#[test]
fn other_sites_and_nginx_conf_of_the_host_are_reported() {
    let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
    let nginx = nginx.expect("nginx is installed: run `make test`");
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["shop.example".to_owned(), "*.example".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    std::fs::write(folder.path().join("site.pem"), certificate.pem()).unwrap();
    let sites = "server { listen 80 default_server; server_name shop.example; return 204; }\n\
                 server { listen 443 ssl; server_name shop.example; ssl_certificate site.pem; ssl_certificate_key k; }";
    let conf = |first: &str| {
        let text = format!("{first}\nevents {{}}\nhttp {{ include {place}/root/current/http/*.conf;\n{sites} }}\n");
        std::fs::write(folder.path().join("nginx.conf"), text).unwrap();
    };
    conf("worker_processes auto;");
    // One host that the site keeps, and one that only its certificate has.
    let tls = "ingressClassName: nginx\n    tls: [{hosts: [admin.example]}]\n    rules:\n    - host: admin.example";
    let dump = DUMP.replacen("ingressClassName: nginx\n    rules:\n    - host: admin.example", tls, 1);
    std::fs::write(folder.path().join("dump.yaml"), dump).unwrap();
    let settings =
        format!("apply.root = '{place}/root'\nnginx.binary = '{nginx}'\nnginx.configuration = '{place}/nginx.conf'\n");
    std::fs::write(folder.path().join("ingressd.toml"), settings).unwrap();
    let (dump, config) = (format!("{place}/dump.yaml"), format!("{place}/ingressd.toml"));
    let report = |form: &str| migrate("report", &["--config", &config, &dump, "--format", form]).text;
    let json = || serde_json::from_str::<Value>(&report("json")).unwrap();
    let found = json();
    let clashes: Vec<_> = found["clashes"].as_array().unwrap().iter().map(|clash| clash.as_str().unwrap()).collect();
    assert!(clashes.iter().any(|clash| clash.contains("HostConflict") && clash.contains("shop")), "{clashes:#?}");
    assert!(clashes.iter().any(|clash| clash.contains("DefaultServerTaken")), "{clashes:#?}");
    let of =
        |field: &str| found["certificates"].as_array().unwrap().iter().map(|of| of[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("host"), ["shop.example", "admin.example"]);
    assert_eq!((of("taken"), of("secret")), (vec![true.into(), false.into()], vec!["shop/shop-tls".into(), "".into()]));
    assert_eq!(of("file"), [format!("{place}/site.pem"), format!("{place}/site.pem")]);
    let heading = format!("shop.example of Ingress shop/plain is also in {place}/site.pem");
    let text = report("text");
    assert!(text.contains("\nOther sites of this host\n- "), "{text}");
    assert!(
        text.contains(&format!("\nCertificates of other sites\n- {heading}\n  the site at {place}/nginx.conf:5 keeps")),
        "{text}"
    );
    assert!(report("html").contains(&heading));
    // A key of nginx.conf is judged by what stands there.
    let of_workers = |report: &Value| {
        let keys = report["configMap"]["keys"].as_array().unwrap().iter();
        let item = keys.clone().find(|key| key["name"] == "worker-processes").unwrap();
        (item["verdict"].as_str().unwrap().to_owned(), item["remedy"].as_str().unwrap().to_owned())
    };
    let remedy = format!("{place}/nginx.conf:1 says `worker_processes auto;`: write `worker_processes 4;` there");
    assert_eq!(of_workers(&found), ("different".to_owned(), remedy));
    conf("worker_processes 4;");
    assert_eq!(of_workers(&json()), ("equal".to_owned(), String::new()));
}
