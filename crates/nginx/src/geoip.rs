//! Where databases of GeoIP2 are on this host, and which of them tells what is asked for; it must
//! not know who asks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Capabilities, OtherSites};
use ingressd_model::catalogue::Module;
use ingressd_model::{GeoDatabase, GeoVariable, LogLine, LogPart, LookupRows, LookupTable, Model, SnippetPart};

/// A file with a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoFile {
    /// What it is about, by its name.
    pub database: GeoDatabase,
    /// Where it is.
    pub path: PathBuf,
}

impl GeoFile {
    /// A file by its path.
    pub fn of(path: &Path) -> Option<Self> {
        let database = GeoDatabase::of_file(path.file_name()?.to_str()?)?;
        Some(GeoFile { database, path: path.to_owned() })
    }
}

/// What the administrator decides about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeoOptions {
    /// Whether there is a database for any of them.
    pub enabled: bool,
    /// The databases. The first that tells something counts.
    pub files: Vec<GeoFile>,
    /// How often nginx looks whether they are others; zero for at reloads alone.
    pub reload: Duration,
}

impl GeoOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        GeoOptions { enabled: false, files: Vec::new(), reload: Duration::ZERO }
    }
}

/// The databases that nginx reads, for the variables that are used and no others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Geo {
    /// Each database, with what it tells and where in it.
    pub files: Vec<(PathBuf, Vec<(GeoVariable, &'static str)>)>,
    /// How often nginx looks whether they are others.
    pub reload: Option<Duration>,
    /// Variables without a database: they are empty for all clients.
    pub unknown: Vec<GeoVariable>,
}

impl Geo {
    /// Whether any variable is used.
    pub fn is_asked(&self) -> bool {
        !(self.files.is_empty() && self.unknown.is_empty())
    }
}

/// What a line asks for.
pub fn of_line(line: &LogLine) -> impl Iterator<Item = GeoVariable> {
    line.parts().iter().filter_map(|part| match part {
        LogPart::Geo(variable) => Some(*variable),
        _ => None,
    })
}

/// What parts of snippets ask for.
pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a SnippetPart>) -> impl Iterator<Item = GeoVariable> {
    parts.into_iter().filter_map(|part| match part {
        SnippetPart::Geo(variable) => Some(*variable),
        _ => None,
    })
}

/// The variables by which a table for all hosts is looked up, and those in its rows.
pub fn parts_of_table(table: &LookupTable) -> impl Iterator<Item = &SnippetPart> {
    let of_rows: Vec<&SnippetPart> = match &table.rows {
        LookupRows::Texts(source, rows) => {
            let values = rows.iter().flat_map(|(_, value)| value.parts());
            source.parts().iter().chain(values).collect()
        }
        LookupRows::Addresses(source, _) => vec![source],
    };
    of_rows.into_iter().chain(table.default.parts())
}

/// What tables and snippets of a model ask for.
pub fn of_model(model: &Model) -> BTreeSet<GeoVariable> {
    let routes = model.servers.iter().flat_map(|server| server.handlers());
    let snippets = routes.flat_map(|route| &route.behaviour.snippets);
    let of_snippets = snippets.flat_map(|snippet| of_parts(snippet.parts()).collect::<Vec<_>>());
    of_snippets.chain(of_parts(model.lookup_tables.iter().flat_map(parts_of_table))).collect()
}

/// Decides which database has which of the variables that are used.
pub fn decide(
    asked: &BTreeSet<GeoVariable>,
    options: &GeoOptions,
    capabilities: &Capabilities,
    other_sites: &OtherSites,
) -> Geo {
    let mut geo = Geo { reload: Some(options.reload).filter(|time| !time.is_zero()), ..Geo::default() };
    let is_had = options.enabled && capabilities.has(Module::GeoIp2);
    let files = || options.files.iter().filter(|file| is_had && !other_sites.missing_databases.contains(&file.path));
    for variable in asked {
        let reported = files().find_map(|file| {
            let (_, way) = variable.places().find(|(database, _)| *database == file.database)?;
            Some((&file.path, way))
        });
        match reported {
            Some((path, way)) => match geo.files.iter_mut().find(|(known, _)| known == path) {
                Some((_, all)) => all.push((*variable, way)),
                None => geo.files.push((path.clone(), vec![(*variable, way)])),
            },
            None => geo.unknown.push(*variable),
        }
    }
    geo
}

/// Why there is no database for these, and what to do.
pub fn why(unknown: &[GeoVariable], options: &GeoOptions, capabilities: &Capabilities) -> Option<String> {
    if unknown.is_empty() {
        return None;
    }
    let names = unknown.iter().map(|variable| format!("${variable}")).collect::<Vec<_>>().join(", ");
    let remedy = if !options.enabled {
        "set geoip2.enabled, or use-geoip2 in the ConfigMap".to_owned()
    } else if !capabilities.has(Module::GeoIp2) {
        let install = Capabilities::install(Module::GeoIp2).unwrap_or_default();
        format!("nginx has no {}: {install}", Capabilities::name(Module::GeoIp2))
    } else {
        let databases: BTreeSet<_> = unknown.iter().flat_map(|variable| variable.places()).collect();
        let databases: BTreeSet<_> = databases.into_iter().map(|(database, _)| database.name()).collect();
        let files = options.files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>().join(", ");
        let wanted = databases.into_iter().collect::<Vec<_>>().join(" or ");
        format!("there is no database for {wanted}: geoip2.databases names {files}")
    };
    Some(format!("{names} is empty for all clients: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::catalogue::Version;

    #[test]
    fn the_first_database_with_a_variable_counts_and_a_variable_without_one_is_empty() {
        let named = |name: &str| GeoVariable::named(name).unwrap();
        let asked = BTreeSet::from(["geoip2_city", "geoip2_asn", "geoip2_isp"].map(named));
        let file = |name: &str| GeoFile::of(Path::new("/db").join(name).as_ref()).unwrap();
        let files = ["GeoIP2-City.mmdb", "GeoLite2-City.mmdb", "GeoLite2-ASN.mmdb"].map(file).to_vec();
        let on = GeoOptions { enabled: true, files, ..GeoOptions::default() };
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        let mut sites = OtherSites::default();
        let shown = |options: &GeoOptions, capabilities: &Capabilities, sites: &OtherSites| {
            let geo = decide(&asked, options, capabilities, sites);
            let files: Vec<_> =
                geo.files.iter().map(|(path, all)| format!("{}: {}", path.display(), all.len())).collect();
            (files.join(", "), geo.unknown.len(), why(&geo.unknown, options, capabilities).unwrap_or_default())
        };
        let (files, unknown, words) = shown(&on, &capabilities, &sites);
        assert!(files.is_empty() && unknown == 3 && words.contains("libnginx-mod-http-geoip2"), "{words}");
        capabilities.modules.insert(Module::GeoIp2);
        let (files, unknown, words) = shown(&on, &capabilities, &sites);
        assert_eq!((&*files, unknown), ("/db/GeoLite2-ASN.mmdb: 1, /db/GeoIP2-City.mmdb: 1", 1));
        assert!(words.contains("$geoip2_isp") && words.contains("for ISP"), "{words}");
        sites.missing_databases = [PathBuf::from("/db/GeoIP2-City.mmdb")].into();
        assert!(shown(&on, &capabilities, &sites).0.ends_with("/db/GeoLite2-City.mmdb: 1"));
        let (files, unknown, words) = shown(&GeoOptions { enabled: false, ..on }, &capabilities, &sites);
        assert!(files.is_empty() && unknown == 3 && words.contains("use-geoip2"), "{words}");
        assert!(!decide(&BTreeSet::new(), &GeoOptions::default(), &capabilities, &sites).is_asked());
    }
}
