//! Every block of every page has a language and is valid in it.

use std::path::Path;
use std::process::{Command, Output};

use ingressd_config::Sources;

use super::commands;
use super::pages::{self, Block, Page, is_tried};

/// Runs a check on every block of these languages, and fails with everything that is wrong.
fn check(languages: &[&str], check: impl Fn(&Page, &Block) -> Result<(), String>) {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages::all() {
        for block in page.blocks.iter().filter(|block| languages.contains(&block.language())) {
            count += 1;
            if let Err(why) = check(&page, block) {
                wrong.push(format!("{}:{}: {why}", page.name, block.line));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 0, "no page has a block of {languages:?}");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_block_is_of_a_kind_that_is_checked() {
    let known = ["sh", "toml", "yaml", "nginx", "systemd", "bird", "text"];
    let mut wrong = Vec::new();
    for page in pages::all() {
        for block in &page.blocks {
            let place = format!("{}:{}", page.name, block.line);
            if !known.contains(&block.language()) {
                wrong.push(format!("{place}: a block of {:?}; there are {known:?}", block.language()));
            }
            if block.words.len() > 1 && (block.place().is_none() || block.language() != "sh") {
                wrong.push(format!("{place}: {:?}: commands (sh) are run on a `node` or in a `cluster`", block.words));
            }
            if block.place().is_some() && !is_tried(&page.name) {
                wrong
                    .push(format!("{place}: nobody runs this: add the page to those that are tried on booted systems"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn settings_can_be_used() {
    check(&["toml"], |_, block| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ingressd.toml");
        std::fs::write(&file, &block.text).unwrap();
        let sources = Sources { file: Some(file), ..Sources::default() };
        sources.load().map(drop).map_err(|error| error.to_string())
    });
}

#[test]
fn manifests_have_no_mistake() {
    check(&["yaml", "sh"], |_, block| {
        let here = block.commands().into_iter().filter(|command| command.starts_with("kubectl apply -f - <<"));
        let manifests = match block.language() {
            "yaml" => vec![block.text.clone()],
            _ => here.map(|command| body(&command)).collect(),
        };
        // Files of other programs are YAML, and no more is known of them here.
        let (manifests, others): (Vec<_>, Vec<_>) =
            manifests.into_iter().partition(|text| text.lines().any(|line| line.starts_with("apiVersion:")));
        for other in others {
            serde_saphyr::from_str::<serde_json::Value>(&other).map_err(|error| error.to_string())?;
        }
        for manifest in manifests {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("manifest.yaml"), manifest).unwrap();
            let check = Command::new(env!("CARGO_BIN_EXE_ingressd")).arg("check").arg(folder.path()).output().unwrap();
            if !check.status.success() {
                return Err(said(&check));
            }
        }
        Ok(())
    });
}

/// What a here-document holds.
fn body(command: &str) -> String {
    let lines = Vec::from_iter(command.lines());
    lines[1..lines.len() - 1].join("\n")
}

#[test]
fn nginx_takes_its_configuration() {
    check(&["nginx"], |_, block| {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_str().unwrap();
        // Logs and the file of the process id are made by a test, too.
        let text = block.text.replace("/var/log/nginx/", &format!("{place}/")).replace("/run/", &format!("{place}/"));
        let text = match text.contains("events {") {
            true => text,
            false => format!("events {{}}\npid {place}/pid;\nhttp {{\naccess_log off;\n{text}\n}}\n"),
        };
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, text).unwrap();
        let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].into_iter().find(|path| Path::new(path).exists());
        let mut nginx = Command::new(nginx.expect("nginx is installed: run `make test`"));
        let tested = nginx.args(["-t", "-e", &format!("{place}/error.log"), "-c"]).arg(&file).output().unwrap();
        match tested.status.success() {
            true => Ok(()),
            false => Err(said(&tested)),
        }
    });
}

#[test]
fn bird_takes_its_configuration() {
    check(&["bird"], |_, block| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bird.conf");
        std::fs::write(&file, &block.text).unwrap();
        let bird = ["/usr/sbin/bird", "/usr/bin/bird"].into_iter().find(|path| Path::new(path).exists());
        let mut bird = Command::new(bird.expect("bird is installed: run `make test`"));
        let read = bird.args(["-p", "-c"]).arg(&file).output().unwrap();
        match read.status.success() {
            true => Ok(()),
            false => Err(said(&read)),
        }
    });
}

/// Their parts are what systemd has; the units themselves are verified and run on booted systems.
#[test]
fn units_are_of_the_form_of_units() {
    check(&["systemd"], |_, block| {
        let mut section = None;
        for line in block.text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if ["[Unit]", "[Service]", "[Install]", "[Timer]", "[Route]"].contains(&line) {
                section = Some(line);
            } else if !line.split_once('=').is_some_and(|(key, _)| key.chars().all(char::is_alphabetic)) {
                return Err(format!("{line:?} is neither a section nor a key"));
            } else if section.is_none() {
                return Err(format!("{line:?} is in no section"));
            }
        }
        Ok(())
    });
}

#[test]
fn commands_are_known_or_run() {
    check(&["sh"], |page, block| {
        let is_tried = block.place().is_some() && is_tried(&page.name);
        block.commands().iter().try_for_each(|command| commands::check(command, is_tried))
    });
}
