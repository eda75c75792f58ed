//! The control protocol: a request is one of those there are and says no more than its line, and
//! any response is shown in harmless characters.

use std::time::Instant;

use ingressd::cli::status::{overview, subject};
use ingressd::daemon::control::{ControlRequest, LONGEST_REQUEST};
use ingressd::daemon::{ControlCommand, Inquiry, Status};
use serde_json::Value;

pub fn check(data: &[u8]) {
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    request(&String::from_utf8_lossy(&line[..line.len().min(LONGEST_REQUEST)]));
    if let Ok(response) = serde_json::from_slice(data) {
        shown(&response);
    }
}

fn request(line: &str) {
    let request = match ControlRequest::read(line) {
        Ok(request) => request,
        Err(error) => return assert!(!error.is_empty()),
    };
    assert_eq!(ControlRequest::read(&written(&request)).as_ref(), Ok(&request), "{line:?}");
    if let ControlRequest::Inquiry(inquiry) = request {
        let response = Status::default().answer(&inquiry, Instant::now());
        assert!(response.is_object(), "{line:?}: {response}");
        let text = response.to_string();
        assert!(text.len() < 16 << 10, "{line:?}: {} bytes", text.len());
        assert_eq!(serde_json::from_str::<Value>(&text).ok().as_ref(), Some(&response), "{line:?}");
        shown(&response);
    }
}

/// The line of a request.
fn written(request: &ControlRequest) -> String {
    match request {
        ControlRequest::Inquiry(Inquiry::Everything) => "status".to_owned(),
        ControlRequest::Inquiry(Inquiry::Object(id)) => {
            format!("ingress {}/{}/{}", id.kind.name(), id.namespace, id.name)
        }
        ControlRequest::Inquiry(Inquiry::Host(host)) => format!("host {host}"),
        ControlRequest::Inquiry(Inquiry::Request(address)) => format!("explain {}", address.written()),
        ControlRequest::Traffic => "traffic".to_owned(),
        ControlRequest::Drain(drained) => if *drained { "drain" } else { "undrain" }.to_owned(),
        ControlRequest::Command(ControlCommand::RollBack(None)) => "rollback".to_owned(),
        ControlRequest::Command(ControlCommand::RollBack(Some(number))) => format!("rollback {number}"),
        ControlRequest::Command(ControlCommand::Resume) => "resume".to_owned(),
        ControlRequest::Command(ControlCommand::Reload) => "reload".to_owned(),
    }
}

/// A response is text from a daemon of any version, whose findings quote what users wrote.
fn shown(response: &Value) {
    for text in [overview(response, false, None), overview(response, true, Some(40)), subject(response, Some(80))] {
        // The only control characters are newlines and those of our styles.
        for (number, part) in text.split('\u{1b}').enumerate() {
            let plain = match part.strip_prefix('[').and_then(|style| style.split_once('m')) {
                Some((style, plain)) if style.bytes().all(|byte| byte.is_ascii_digit() || byte == b';') => plain,
                _ => {
                    assert_eq!(number, 0, "an escape that is no style: {text:?}");
                    part
                }
            };
            let odd = |character: char| character.is_control() && character != '\n';
            assert!(!plain.contains(odd), "{text:?}");
        }
    }
}
