//! `ingressd setup` on the layouts of Debian, Fedora, RHEL and nginx.org, with the real nginx over
//! files of the test's own.

mod host;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use host::Package::{Debian, Fedora, NginxOrg, Rhel};
use host::{run, said};

#[test]
fn every_layout_is_made_ready_and_put_back_to_the_byte() {
    for package in [Debian, Fedora, Rhel, NginxOrg] {
        run(
            move |host| {
                let before = host.tree();
                let (code, text) = host.setup(&["--disable-default-site"]);
                assert_eq!((code, host.tree() == before), (Some(0), true), "only shown on {package:?}: {text}");
                assert!(text.contains("would") && text.contains("Nothing was changed"), "{package:?}: {text}");

                let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                assert_eq!(code, Some(0), "{package:?}: {text}");
                host.write_generation();
                let (code, dump) = host.nginx("-T");
                assert_eq!(code, Some(0), "{package:?}: {dump}");
                for word in ["generated-http", "generated-stream"] {
                    assert!(dump.contains(word), "{package:?}: {word} in {dump}");
                }
                // Where no other site is it, our own server is the default server.
                let site = dump.lines().filter(|line| !line.trim_start().starts_with('#'));
                let claims =
                    site.filter(|line| line.contains("listen") && line.contains("80") && !line.contains("808"));
                assert_eq!(claims.count(), if package == Fedora { 2 } else { 0 }, "{package:?}: {dump}");
                let mode = fs::metadata(host.path("ingressd/kubeconfig")).unwrap().mode() & 0o777;
                assert_eq!(mode, 0o600, "{package:?}");

                let ready = host.tree();
                let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                assert!(code == Some(0) && text.contains("There was nothing to do"), "{package:?}: {text}");
                assert_eq!(host.tree(), ready, "{package:?}");

                // Setup does not remove files of the daemon: the folder stays as long as it is in
                // use.
                fs::remove_dir_all(host.path("nginx/ingressd/generations")).unwrap();
                fs::remove_file(host.path("nginx/ingressd/current")).unwrap();
                let (code, text) = host.setup(&["--undo"]);
                assert_eq!(code, Some(0), "{package:?}: {text}");
                assert_eq!(host.tree(), before, "{package:?}: {text}");
                assert!(host.setup(&["--undo"]).1.contains("nothing to undo"), "{package:?}");
            },
            package,
        );
    }
}

/// Hosts of the cluster get the requests of the default site: they are not included any more when
/// that site comes back.
#[test]
fn what_is_served_is_no_obstacle_to_undo() {
    for package in [Debian, Fedora, Rhel, NginxOrg] {
        run(
            move |host| {
                let before = host.tree();
                // The default site goes after the includes are there.
                assert_eq!(host.setup(&["--yes"]).0, Some(0), "{package:?}");
                assert_eq!(host.setup(&["--yes", "--disable-default-site"]).0, Some(0), "{package:?}");
                host.write_generation();
                let listens = ["80", "[::]:80"].map(|address| format!("listen {address} default_server;")).concat();
                host.write("nginx/ingressd/current/http/b.conf", &format!("server {{ {listens} }}\n"));
                assert_eq!(host.nginx("-t").0, Some(0), "{package:?}");

                let (code, text) = host.setup(&["--undo", "--step", "default-site"]);
                let is_taken = text.contains("duplicate default server");
                assert_eq!(code, Some(if is_taken { 69 } else { 0 }), "{package:?}: {text}");
                assert_eq!(text.contains("`ingressd setup --undo`"), is_taken, "{package:?}: {text}");
                // The others name no default server.
                assert_eq!(is_taken, matches!(package, Debian | Rhel), "{package:?}: {text}");

                let (code, text) = host.setup(&["--undo"]);
                assert!(code == Some(0) && text.contains("it is in use"), "{package:?}: {text}");
                let (code, dump) = host.nginx("-T");
                assert!(code == Some(0) && !dump.contains("generated-http"), "{package:?}: {dump}");
                let files = |mut tree: host::Tree| {
                    tree.retain(|path, about| {
                        let is_ours =
                            path.starts_with(host.path("nginx/ingressd")) || path.starts_with(host.path("var"));
                        !is_ours && !about.contains("folder")
                    });
                    tree
                };
                assert_eq!(files(host.tree()), files(before), "{package:?}: {text}");
            },
            package,
        );
    }
}

/// On Debian the package brings the include for http, so setup has none to take back.
#[test]
fn an_include_of_the_package_is_no_obstacle_to_undo_and_what_is_one_changes_nothing() {
    run(
        |host| {
            host.write("nginx/conf.d/ingressd.conf", "include /etc/nginx/ingressd/current/http/*.conf;\n");
            let before = host.tree();
            assert_eq!(host.setup(&["--yes", "--disable-default-site"]).0, Some(0));
            host.write_generation();
            host.write("nginx/ingressd/current/http/b.conf", "server { listen 80 default_server; }\n");
            assert_eq!(host.nginx("-t").0, Some(0));
            let served = host.tree();

            // A site of the administrator's has the place of the default site meanwhile.
            host.write("nginx/conf.d/other.conf", "server { listen 80 default_server; }\n");
            host.write("nginx/ingressd/current/http/b.conf", "server { listen 80; }\n");
            let other = host.tree();
            let (code, text) = host.setup(&["--undo"]);
            assert!(code == Some(69) && text.contains("everything stays as it is"), "{text}");
            assert!(text.contains("duplicate default server"), "{text}");
            assert_eq!(host.tree(), other, "all or nothing: {text}");
            fs::remove_file(host.path("nginx/conf.d/other.conf")).unwrap();
            host.write("nginx/ingressd/current/http/b.conf", "server { listen 80 default_server; }\n");
            assert_eq!(host.tree(), served);

            let (code, text) = host.setup(&["--undo"]);
            assert!(code == Some(0) && text.contains("nothing of the cluster is served"), "{text}");
            let (code, dump) = host.nginx("-T");
            assert!(code == Some(0) && !dump.contains("generated-"), "{dump}");
            let files = |mut tree: host::Tree| {
                let ours = [host.path("nginx/ingressd"), host.path("var")];
                tree.retain(|path, about| !ours.iter().any(|ours| path.starts_with(ours)) && !about.contains("folder"));
                tree
            };
            assert_eq!(files(host.tree()), files(before), "{text}");
        },
        Debian,
    );
}

#[test]
fn the_default_site_goes_only_on_request_and_only_when_it_is_the_distributions() {
    for package in [Debian, Rhel, NginxOrg] {
        run(
            move |host| {
                let sites = ["nginx/sites-enabled/default", "nginx/conf.d/default.conf", "nginx/nginx.conf"];
                let site = sites.iter().find(|name| host.path(name).exists()).unwrap();
                let (code, text) = host.setup(&["--yes"]);
                assert!(code == Some(0) && text.contains("--disable-default-site"), "{package:?}: {text}");
                assert!(host.nginx("-T").1.contains("listen"), "{package:?}");
                // The administrator made it a site of their own.
                let file =
                    fs::canonicalize(host.path(site)).unwrap_or_else(|_| host.path("nginx/sites-available/default"));
                let name = if package == NginxOrg { "server_name  localhost" } else { "server_name _" };
                let name = if package == Rhel { "server_name  _" } else { name };
                let text = fs::read_to_string(&file).unwrap();
                assert!(text.contains(name), "{package:?}: {text}");
                fs::write(&file, text.replace(name, "server_name shop.example")).unwrap();
                let own = host.tree();
                let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                assert!(code == Some(0) && text.contains("shop.example"), "{package:?}: {text}");
                assert_eq!(host.tree(), own, "{package:?}: {text}");
            },
            package,
        );
    }
}

#[test]
fn a_run_that_is_cut_off_anywhere_is_undone_to_the_byte() {
    const ABORT_AT: &str = "TEST_INGRESSD_SETUP_ABORT_AT";
    for package in [Debian, NginxOrg] {
        run(
            move |host| {
                let before = host.tree();
                let mut cut = 0;
                for point in 1.. {
                    let point = point.to_string();
                    let mut command = host.command(&["--yes", "--disable-default-site"]);
                    let output = command.env(ABORT_AT, &point).output().unwrap();
                    let (code, text) = host.setup(&["--undo"]);
                    assert_eq!(code, Some(0), "{package:?} at {point}: {text}");
                    assert_eq!(host.tree(), before, "{package:?} at {point}: {text}");
                    if output.status.success() {
                        break;
                    }
                    assert_eq!(output.status.code(), None, "{package:?} at {point}: {}", said(&output).1);
                    cut += 1;
                }
                assert!(cut > 10, "{package:?}: only {cut} points");
                // The same holds when --undo is killed.
                for point in 1.. {
                    let (code, text) = host.setup(&["--yes", "--disable-default-site"]);
                    assert_eq!(code, Some(0), "{package:?} at {point}: {text}");
                    let output = host.command(&["--undo"]).env(ABORT_AT, point.to_string()).output().unwrap();
                    let (code, text) = host.setup(&["--undo"]);
                    assert_eq!(code, Some(0), "{package:?} at {point}: {text}");
                    assert_eq!(host.tree(), before, "{package:?} at {point}: {text}");
                    if output.status.success() {
                        assert!(point > 5, "{package:?}: only {point} points");
                        break;
                    }
                }
            },
            package,
        );
    }
}

#[test]
fn files_that_were_edited_since_are_never_overwritten() {
    run(
        |host| {
            let before = host.tree();
            assert_eq!(host.setup(&["--yes", "--disable-default-site"]).0, Some(0));
            host.append("nginx/conf.d/ingressd.conf", "# mine\n");
            let edited = host.tree().remove(&host.path("nginx/conf.d/ingressd.conf"));
            let (code, text) = host.setup(&["--undo"]);
            assert!(code == Some(1) && text.contains("conf.d/ingressd.conf: somebody changed it"), "{text}");
            let mut left = host.tree();
            assert_eq!(left.remove(&host.path("nginx/conf.d/ingressd.conf")), edited);
            left.retain(|path, _| !path.starts_with(host.path("var/state")));
            assert_eq!(left, before, "everything else is undone: {text}");
            let (code, text) = host.setup(&["--undo", "--keep-edited"]);
            assert_eq!(code, Some(0), "{text}");
            assert_eq!(host.tree().remove(&host.path("nginx/conf.d/ingressd.conf")), edited);
            assert!(!host.path("var/state").exists());
            // One that includes something else is left alone, and said so.
            host.write("nginx/conf.d/ingressd.conf", "# mine\n");
            let (code, text) = host.setup(&["--yes"]);
            assert!(code == Some(0) && text.contains("does not include"), "{text}");
            assert_eq!(fs::read_to_string(host.path("nginx/conf.d/ingressd.conf")).unwrap(), "# mine\n");
        },
        Debian,
    );
}

#[test]
fn nothing_is_done_where_nginx_refuses_and_a_step_that_it_refuses_is_taken_back() {
    run(
        |host| {
            // A generation breaks nginx as soon as it is included.
            host.write_generation();
            host.write("nginx/ingressd/current/http/a.conf", "nonsense;\n");
            let before = host.tree();
            let (code, text) = host.setup(&["--yes"]);
            assert!(code == Some(69) && text.contains("step http-include, which was taken back"), "{text}");
            assert!(text.contains("nonsense"), "nginx's own words: {text}");
            assert_eq!(host.nginx("-t").0, Some(0));
            assert!(!host.path("nginx/conf.d/ingressd.conf").exists());
            host.setup(&["--undo"]);
            assert_eq!(host.tree(), before);

            host.append("nginx/nginx.conf", "nonsense;\n");
            let broken = host.tree();
            for arguments in [&["--yes"][..], &[]] {
                let (code, text) = host.setup(arguments);
                assert!(code == Some(69) && text.contains("nothing is changed"), "{text}");
                assert_eq!(host.tree(), broken);
            }
        },
        Debian,
    );
}

#[test]
fn a_module_that_goes_takes_nothing_down_that_undo_could_not_mend() {
    run(
        |host| {
            let before = host.tree();
            assert_eq!(host.setup(&["--yes"]).0, Some(0));
            let module = host.path("nginx/modules-enabled/50-mod-stream.conf");
            let text = fs::read(&module).unwrap();
            fs::remove_file(&module).unwrap();
            assert_eq!(host.nginx("-t").0, Some(1), "the stream block is left without its module");
            let (code, text_of_undo) = host.setup(&["--undo"]);
            assert_eq!((code, host.nginx("-t").0), (Some(0), Some(0)), "{text_of_undo}");
            fs::write(&module, text).unwrap();
            assert_eq!(host.tree(), before);
            // Without the module there is no step for it.
            fs::remove_file(&module).unwrap();
            let (code, text) = host.setup(&["--yes"]);
            assert!(code == Some(0) && text.contains("libnginx-mod-stream"), "{text}");
            assert_eq!(host.nginx("-t").0, Some(0));
        },
        Debian,
    );
}

#[test]
fn a_configuration_of_ones_own_gets_lines_in_its_blocks() {
    run(
        |host| {
            let text = fs::read_to_string(host.path("nginx/nginx.conf")).unwrap();
            let text = text.replace("    include /etc/nginx/conf.d/*.conf;\n", "");
            host.write("nginx/nginx.conf", &(text + "stream {\n    tcp_nodelay on;\n}\n"));
            let before = host.tree();
            let (code, text) = host.setup(&["--yes"]);
            assert_eq!(code, Some(0), "{text}");
            host.write_generation();
            let (code, dump) = host.nginx("-T");
            assert!(code == Some(0) && dump.contains("generated-http") && dump.contains("generated-stream"), "{dump}");
            assert_eq!(dump.matches("\nstream {").count(), 1);
            fs::remove_dir_all(host.path("nginx/ingressd/generations")).unwrap();
            fs::remove_file(host.path("nginx/ingressd/current")).unwrap();
            assert_eq!(host.setup(&["--undo"]).0, Some(0));
            assert_eq!(host.tree(), before);
        },
        NginxOrg,
    );
}

#[test]
fn permissions_of_one_file_never_go_to_another_in_its_place() {
    run(
        |host| {
            let (kubeconfig, next) = (host.path("ingressd/kubeconfig"), host.path("ingressd/next"));
            let mode = || fs::metadata(host.path("ingressd/kubeconfig")).unwrap().mode() & 0o777;
            assert_eq!(host.setup(&["--yes"]).0, Some(0));
            assert_eq!(mode(), 0o600);
            // `ingressd kubeconfig --force` replaces the file like this.
            fs::write(&next, "credentials: {}").unwrap();
            fs::set_permissions(&next, Permissions::from_mode(0o600)).unwrap();
            fs::rename(&next, &kubeconfig).unwrap();
            let (code, text) = host.setup(&["--undo"]);
            assert!(code == Some(1) && text.contains("kubeconfig: somebody changed it"), "{text}");
            assert_eq!(mode(), 0o600, "{text}");
            let (code, text) = host.setup(&["--undo", "--keep-edited"]);
            assert_eq!((code, mode()), (Some(0), 0o600), "{text}");
        },
        Debian,
    );
}

/// Two may share an nginx: none of them writes into the file of the other.
#[test]
fn an_instance_has_files_of_its_own() {
    run(
        |host| {
            // The package installs this file.
            host.write("nginx/conf.d/ingressd.conf", "include /etc/nginx/ingressd/current/http/*.conf;\n");
            let before = host.tree();
            let state = format!("apply.state={}", host.path("var/green").display());
            let (code, text) = host.setup(&["--yes", "--instance", "green", "--set", &state]);
            assert_eq!(code, Some(0), "{text}");
            let written = fs::read_to_string(host.path("nginx/conf.d/ingressd-green.conf")).expect(&text);
            assert!(written.ends_with("include /etc/nginx/ingressd-green/current/http/*.conf;\n"), "{written}");
            let written = fs::read_to_string(host.path("nginx/modules-enabled/zz-ingressd-green-stream.conf")).unwrap();
            assert!(written.contains("/etc/nginx/ingressd-green/current/stream/*.conf;"), "{written}");
            let (code, text) = host.setup(&["--undo", "--instance", "green", "--set", &state]);
            assert_eq!((code, host.tree() == before), (Some(0), true), "{text}");
        },
        Debian,
    );
}

#[test]
fn one_step_can_be_taken_back_alone() {
    run(
        |host| {
            assert_eq!(host.setup(&["--yes", "--disable-default-site"]).0, Some(0));
            let mut set_up = host.tree();
            let (code, text) = host.setup(&["--undo", "--step", "stream-include"]);
            assert_eq!(code, Some(0), "{text}");
            set_up.remove(&host.path("nginx/modules-enabled/zz-ingressd-stream.conf")).unwrap();
            let mut now = host.tree();
            for tree in [&mut set_up, &mut now] {
                tree.retain(|path, _| !path.starts_with(host.path("var/state")));
            }
            assert_eq!(now, set_up, "{text}");
            let (code, text) = host.setup(&["--undo", "--step", "stream"]);
            assert!(code == Some(64) && text.contains("stream-include"), "{text}");
        },
        Debian,
    );
}

/// The files that packages keep until they are purged.
#[test]
fn a_script_puts_files_back_without_ingressd() {
    for package in [Debian, Fedora, Rhel, NginxOrg] {
        run(
            move |host| {
                if package == NginxOrg {
                    // The file needs a line in the http block.
                    let text = fs::read_to_string(host.path("nginx/nginx.conf")).unwrap();
                    host.write("nginx/nginx.conf", &text.replace("conf.d/*.conf", "conf.d/default*.conf"));
                }
                let before = host.tree();
                assert_eq!(host.setup(&["--yes", "--disable-default-site"]).0, Some(0));
                let (code, script) = host.setup(&["--undo-script"]);
                assert_eq!(code, Some(0), "{script}");
                let undo = || said(&Command::new("sh").args(["-c", &script]).output().unwrap());
                // Files that were changed since stay.
                let place = ["nginx/conf.d/ingressd.conf", "nginx/nginx.conf"].map(|name| host.path(name));
                let place = place.iter().find(|path| path.exists()).unwrap();
                let ours = fs::read(place).unwrap();
                fs::write(place, [&ours[..], b"# mine\n"].concat()).unwrap();
                let (_, text) = undo();
                assert!(text.contains("somebody changed it"), "{package:?}: {text}");
                assert!(fs::read_to_string(place).unwrap().ends_with("# mine\n"), "{package:?}: {text}");
                fs::write(place, ours).unwrap();
                assert_eq!(undo(), (Some(0), String::new()), "{package:?}");
                let files = |mut tree: host::Tree| {
                    tree.retain(|path, about| path.starts_with(host.path("nginx")) && !about.contains("folder"));
                    tree
                };
                assert_eq!(files(host.tree()), files(before), "{package:?}");
                assert_eq!(undo(), (Some(0), String::new()), "{package:?}: once more changes nothing");
            },
            package,
        );
    }
}
