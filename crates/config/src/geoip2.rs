//! The keys of the section `geoip2`: databases that tell where clients are; it must not know files
//! or layers.

use std::path::PathBuf;
use std::time::Duration;

use config::Value;

use super::table::{SettingRow, row};
use super::value::{Setting, put};
use ingressd_nginx::GeoFile;
use ingressd_translate::Scope;

/// Its keys.
pub const ROWS: &[SettingRow] = &[
    row!("geoip2.enabled", Scope::Server, "false", gate.geo.enabled)
        .doc("Whether the access log (`access-log.line`), headers of all hosts and snippets may use the variables of ingress-nginx about country, city and network of a client, such as `$geoip2_city_country_code`, `$geoip2_country_code` and `$geoip2_asn`. nginx needs the module geoip2 (libnginx-mod-http-geoip2 on Debian and Ubuntu). Without the module or a database the variables are empty, and routes whose snippets decide by them answer 503. nginx loads only databases that are used."),
    row!("geoip2.databases", Scope::Server, r#"["/var/lib/GeoIP/GeoLite2-City.mmdb", "/var/lib/GeoIP/GeoLite2-ASN.mmdb"]"#, gate.geo.files)
        .doc("Absolute paths of databases, which nginx's workers must be able to read. The names have to be those of MaxMind: `GeoLite2-` or `GeoIP2-`, then `City`, `Country`, `ASN`, `ISP`, `Connection-Type` or `Anonymous-IP`, then `.mmdb`. Of two databases with the same variables the first is used. Download them yourself, for example with `geoipupdate`, whose folder is the default. A missing file is left out."),
    row!("geoip2.reload", Scope::Server, r#""0s""#, gate.geo.reload, |time, value| {
        put(time, value)?;
        match *time > LONGEST || time.subsec_nanos() != 0 {
            true => Err("it is not whole seconds up to a month".to_owned()),
            false => Ok(()),
        }
    })
        .doc("How often nginx checks whether a database has changed, in whole seconds. With 0 it reads databases only at a reload."),
];

/// A month.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);

impl Setting for GeoFile {
    fn read(value: &Value) -> Result<Self, String> {
        let path = PathBuf::read(value)?;
        GeoFile::of(&path)
            .ok_or_else(|| format!("{} is not named as MaxMind does, such as GeoLite2-City.mmdb", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_known_by_their_names() {
        for (key, text, why) in [
            ("geoip2.databases", "/a/GeoIP2-City.mmdb, /b/GeoLite2-ASN.mmdb", ""),
            ("geoip2.databases", "GeoIP2-City.mmdb", "absolute path"),
            ("geoip2.databases", "/a/city.mmdb", "as MaxMind does"),
            ("geoip2.databases", "/a/x;/GeoIP2-City.mmdb", "absolute path"),
            ("geoip2.reload", "5m", ""),
            ("geoip2.reload", "1500ms", "whole seconds"),
            ("geoip2.reload", "10000h", "whole seconds"),
        ] {
            let row = ROWS.iter().find(|row| row.key == key).expect("the key is there");
            let read = row.form.read_text(text).and_then(|value| row.prove(&Value::new(None, value)));
            match read {
                Ok(()) => assert_eq!(why, "", "{key} {text}"),
                Err(reported) => assert!(!why.is_empty() && reported.contains(why), "{key} {text}: {reported}"),
            }
        }
    }
}
