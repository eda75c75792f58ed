//! Decides where connections to TCP and UDP services are logged, and in which format. It must not
//! know the sources of the settings.

use std::path::PathBuf;
use std::sync::Arc;

use super::access_log::{AccessLogOptions, Buffering, LogPlace, buffering};
use super::{Capabilities, OtherSites};
use ingressd_model::catalogue::Module;
use ingressd_model::{LogLine, USUAL_LINE_OF_STREAMS};

/// The administrator's options of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamLogOptions {
    /// Whether connections are logged.
    pub enabled: bool,
    /// The format of a line.
    pub line: Option<LogLine>,
    /// Their file, where it is not that of requests.
    pub path: Option<PathBuf>,
}

impl StreamLogOptions {
    /// The empty value; the defaults are in the rows of the settings.
    pub fn empty() -> Self {
        StreamLogOptions { enabled: false, line: None, path: None }
    }
}

/// The log of every TCP and UDP service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamLog {
    /// The format of a line.
    pub line: Arc<LogLine>,
    /// Whether values are escaped for JSON.
    pub json: bool,
    /// Its file.
    pub path: PathBuf,
    /// Parameters of the file, such as a buffer.
    pub buffering: Buffering,
}

/// Decides about the log, which exists only where a setting names a file for it.
pub fn decide(
    options: &AccessLogOptions,
    capabilities: &Capabilities,
    other_sites: &OtherSites,
    mut report: impl FnMut(String),
) -> Option<StreamLog> {
    let StreamLogOptions { enabled, line, path } = &options.streams;
    if !(options.enabled && *enabled) {
        return None;
    }
    let Some(path) = path.clone().or_else(|| options.path.clone()) else {
        if line.is_some() {
            report(
                "access-log.stream-line sets the format of the log of TCP and UDP services, but nothing is logged, \
                    because neither access-log.stream-path nor listen.access-log names a file; set one of them"
                    .to_owned(),
            );
        }
        return None;
    };
    let line = line.clone().or_else(|| LogLine::of_streams(USUAL_LINE_OF_STREAMS).ok())?;
    // Without the module no proxy is trusted: the address is that of the connection.
    let has = |module: Option<Module>, since| {
        let module = module.map(|module| if module == Module::RealIp { Module::StreamRealIp } else { module });
        since <= capabilities.version && module.is_none_or(|module| capabilities.has(module))
    };
    let (line, missing) = line.fit(has);
    for name in missing {
        report(format!(
            "this nginx has no variable ${name} for TCP and UDP services; in their log there is a dash \
                      instead"
        ));
    }
    let buffering = buffering(options.buffering, &LogPlace::File(path.clone()), other_sites, &mut report);
    Some(StreamLog { line: line.into(), json: options.json, path, buffering })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::catalogue::Version;

    #[test]
    fn there_is_one_where_a_file_is_named() {
        let (stream, plain) = (PathBuf::from("/var/log/nginx/stream.log"), PathBuf::from("/var/log/nginx/all.log"));
        let line = LogLine::of_streams("$realip_remote_addr $status").ok();
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        let of = |capabilities: &Capabilities, options: AccessLogOptions| {
            let mut reported = Vec::new();
            let decided = decide(&options, capabilities, &OtherSites::default(), |words| reported.push(words));
            (decided.map(|log| (log.path, log.line.parts().len())), reported.len())
        };
        let base = || AccessLogOptions { path: Some(plain.clone()), ..AccessLogOptions::default() };
        let with = |streams| AccessLogOptions { streams, ..base() };
        let own = || StreamLogOptions { path: Some(stream.clone()), line: line.clone(), ..StreamLogOptions::default() };
        assert_eq!(of(&capabilities, AccessLogOptions::default()), (None, 0));
        assert_eq!(of(&capabilities, base()), (Some((plain.clone(), 14)), 0));
        assert_eq!(of(&capabilities, with(own())), (Some((stream.clone(), 3)), 0));
        assert_eq!(of(&capabilities, with(StreamLogOptions { enabled: false, ..own() })), (None, 0));
        assert_eq!(of(&capabilities, AccessLogOptions { enabled: false, ..with(own()) }), (None, 0));
        let nowhere = StreamLogOptions { path: None, ..own() };
        assert_eq!(of(&capabilities, AccessLogOptions { path: None, ..with(nowhere) }), (None, 1));
        capabilities.modules.remove(&Module::StreamRealIp);
        assert_eq!(of(&capabilities, with(own())), (Some((stream, 3)), 1), "a dash stands for it");
    }
}
