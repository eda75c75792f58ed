//! The steps of setup, with their purpose and their changes on this host.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::edit;
use super::journal::Change;
use super::layout::{Layout, ServerBlock, claims};
use super::state::{Content, Mode, Owned, State};
use ingressd_apply::{Survey, matches};
use ingressd_cluster::source::cluster::DEFAULT_KUBECONFIG;
use ingressd_config::Settings;

/// The file that the packages install, when the folder of generations is the default one.
const HTTP_FILE: &str = include_str!("../../packaging/nginx/ingressd.conf");

/// Server names without meaning: a site with another name is in use.
const NOBODYS_NAMES: &[&str] = &["_", "localhost", "", "localhost.localdomain"];

/// Permission bits of group and others.
const FOREIGN: u32 = 0o077;

/// A step of setup.
#[derive(Debug)]
pub struct Step {
    pub(crate) name: &'static str,
    /// Its purpose; one sentence for the manual.
    pub about: &'static str,
    /// What it would do on this host now.
    pub(super) plan: fn(&Ground<'_>) -> io::Result<Planned>,
}

/// The input of the steps.
pub struct Ground<'a> {
    pub settings: &'a Settings,
    /// The folder of the settings file.
    pub settings_folder: &'a Path,
    /// Whether to remove the distribution's default site.
    pub disable_default_site: bool,
    /// nginx's capabilities, and the claims of its sites.
    pub survey: Survey,
    /// The layout of its files.
    pub layout: Layout,
}

/// The plan of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Planned {
    /// Nothing has to be done.
    Nothing(String),
    /// It cannot be done: the reason, and the remedy if there is one.
    Left(String),
    /// These changes, each with a description.
    Change(Vec<(String, Change)>),
}

/// Every step, in order: which site gets requests for unknown hosts is known only after our files
/// are included.
pub const STEPS: &[Step] = &[
    Step {
        name: "folders",
        about: "Makes the folders of the settings (0755), of the generations (0755) and of the state (0700), and closes a state folder that others than its owner may enter.",
        plan: folders,
    },
    Step {
        name: "http-include",
        about: "Lets nginx include the generated sites: by a file ingressd.conf (ingressd-NAME.conf for an instance) in the folder that its http block includes (conf.d on Debian, Fedora, RHEL and with nginx.org's package), and where there is no such folder by a line at the end of the http block.",
        plan: http_include,
    },
    Step {
        name: "stream-include",
        about: "Lets nginx include generated TCP and UDP services, where it has the stream module: by a file in the folder that the main context includes (/etc/nginx/modules-enabled on Debian, /usr/share/nginx/modules on Fedora and RHEL), by a line in a stream block that is there already, or by a block at the end of the main file (nginx.org's package).",
        plan: stream_include,
    },
    Step {
        name: "default-site",
        about: "Only with --disable-default-site, and only where the distribution's default site answers requests for unknown hosts on a port of ours: removes Debian's link sites-enabled/default, renames nginx.org's conf.d/default.conf, and turns the server block in Fedora's and RHEL's nginx.conf into comments. A site with a name of its own is never touched.",
        plan: default_site,
    },
    Step {
        name: "kubeconfig-mode",
        about: "Closes a kubeconfig that others than its owner may read: the daemon refuses it.",
        plan: kubeconfig_mode,
    },
];

/// The steps in the order of their undo. Our files are excluded before the default site comes
/// back, because both are default servers; and the folders with the journal come last.
pub(super) const TAKEN_BACK: &[&str] =
    &["kubeconfig-mode", "stream-include", "http-include", "default-site", "folders"];

impl Ground<'_> {
    /// `ingressd`, followed by the name of the instance if it has one: several may share an nginx.
    fn name(&self) -> String {
        match self.settings.instance.name() {
            "" => "ingressd".to_owned(),
            name => format!("ingressd-{name}"),
        }
    }

    /// The pattern that nginx has to include in `http` or `stream`.
    fn pattern(&self, context: &str) -> String {
        self.settings.apply.root.join("current").join(context).join("*.conf").display().to_string()
    }

    /// The first folder of these patterns in which a file of this name would be included.
    fn included_folder(patterns: &[PathBuf], name: &str) -> Option<PathBuf> {
        let takes = |pattern: &&PathBuf| {
            let last = pattern.file_name().map(OsStrExt::as_bytes);
            last.is_some_and(|last| matches(last, name.as_bytes())) && pattern.parent().is_some_and(Path::is_dir)
        };
        patterns.iter().find(takes).and_then(|pattern| pattern.parent()).map(Path::to_owned)
    }
}

fn change(step: &str, path: &Path, before: State, after: State) -> Change {
    Change { step: step.to_owned(), path: path.to_owned(), before, after }
}

/// Removes the permissions of others for a path.
fn closing(step: &str, what: &str, path: &Path, before: Mode) -> (String, Change) {
    let after = before.with(before.mode & !FOREIGN);
    let what = format!("close {what}: mode {:04o} becomes {:04o}", before.mode, after.mode);
    (what, change(step, path, State::Mode(before), State::Mode(after)))
}

fn folders(ground: &Ground<'_>) -> io::Result<Planned> {
    let apply = &ground.settings.apply;
    // The state folder comes first: what is made first is removed last, and the journal is in it.
    let wanted = [
        (apply.state.clone(), 0o700),
        (ground.settings_folder.to_owned(), 0o755),
        (ground.settings_folder.join("conf.d"), 0o755),
        (apply.root.clone(), 0o755),
    ];
    let mut changes = Vec::<(String, Change)>::new();
    for (folder, mode) in &wanted {
        let mut missing = Vec::new();
        let mut at = Some(folder.as_path());
        while let Some(path) = at.filter(|path| !path.exists()) {
            missing.push(path);
            at = path.parent();
        }
        for path in missing.into_iter().rev() {
            let mode = if path == folder { *mode } else { 0o755 };
            if !changes.iter().any(|(_, known)| known.path == *path) {
                let what = format!("make the folder {} with mode {mode:04o}", path.display());
                changes.push((what, change("folders", path, State::Absent, State::Folder(Owned::ours(mode)))));
            }
        }
    }
    if let State::Mode(before) = State::mode_of(&apply.state)?
        && before.mode & FOREIGN != 0
    {
        changes.push(closing("folders", &format!("the folder {}", apply.state.display()), &apply.state, before));
    }
    match changes.is_empty() {
        true => Ok(Planned::Nothing("the folders are there".to_owned())),
        false => Ok(Planned::Change(changes)),
    }
}

fn http_include(ground: &Ground<'_>) -> io::Result<Planned> {
    let (pattern, step) = (ground.pattern("http"), "http-include");
    if ground.survey.includes_ours {
        return Ok(Planned::Nothing(format!("nginx includes {pattern}")));
    }
    let line = format!("include {};", edit::argument(&pattern));
    let said = format!("the line `{line}`");
    let name = format!("{}.conf", ground.name());
    if let Some(folder) = Ground::included_folder(&ground.layout.http_includes, &name) {
        let comment = HTTP_FILE.lines().next().unwrap_or_default();
        return created(
            step,
            &folder.join(name),
            format!("{comment}\n{line}\n"),
            &said,
            &format!("{pattern}: write {said}"),
        );
    }
    let main = &ground.layout.configuration;
    let what = format!("add {said} to the http block of {}", main.display());
    let by_hand = format!("write {said} into its http block");
    Ok(planned(edited(step, main, |text| edit::include_in(text, &["http"], &pattern))?, main, what, &by_hand))
}

fn stream_include(ground: &Ground<'_>) -> io::Result<Planned> {
    let (pattern, step, layout) = (ground.pattern("stream"), "stream-include", &ground.layout);
    if layout.stream_includes_ours {
        return Ok(Planned::Nothing(format!("nginx includes {pattern}")));
    }
    if !ground.survey.capabilities.has_stream() {
        return Ok(Planned::Left(
            "this nginx has no stream module, and nothing is served over TCP or UDP without it; when you want that, install \
             it (libnginx-mod-stream on Debian, nginx-mod-stream on Fedora and RHEL) and run this again"
                .to_owned(),
        ));
    }
    let line = format!("include {};", edit::argument(&pattern));
    if let Some(file) = &layout.stream_in {
        let file = std::fs::canonicalize(file)?;
        let what = format!("add the line `{line}` to the stream block of {}", file.display());
        let by_hand = format!("write the line `{line}` into its stream block");
        let edited = edited(step, &file, |text| edit::include_in(text, &["stream"], &pattern))?;
        return Ok(planned(edited, &file, what, &by_hand));
    }
    // Its name sorts after every module of Debian (`50-mod-stream.conf`) and Fedora
    // (`mod-stream.conf`), because nginx accepts no `load_module` after it.
    let name = format!("zz-{}-stream.conf", ground.name());
    let block = format!("write `stream {{ {line} }}`");
    if let Some(folder) = Ground::included_folder(&layout.main_includes, &name) {
        let said = format!("a stream block that has the line `{line}`");
        return created(step, &folder.join(name), edit::stream_file(&pattern), &said, &format!("{pattern}: {block}"));
    }
    let main = &layout.configuration;
    let what = format!("add a stream block with the line `{line}` at the end of {}", main.display());
    let edited = edited(step, main, |text| edit::append_stream(text, &pattern))?;
    Ok(planned(edited, main, what, &format!("{block} at its end")))
}

/// The plan of a new file with this text; one that is there has to be completed by hand, because
/// it does not include what it should.
fn created(step: &str, file: &Path, text: String, said: &str, lacks: &str) -> io::Result<Planned> {
    if State::read(file)? != State::Absent {
        return Ok(Planned::Left(format!("{} is there and does not include {lacks} into it", file.display())));
    }
    let after = State::File(Content { bytes: text.into_bytes(), owned: Owned::ours(0o644) });
    let what = format!("create {} with {said}", file.display());
    Ok(Planned::Change(vec![(what, change(step, file, State::Absent, after))]))
}

/// The plan of an edit; one that is unsafe is left to the administrator.
fn planned(edited: Option<Change>, file: &Path, what: String, by_hand: &str) -> Planned {
    match edited {
        Some(change) => Planned::Change(vec![(what, change)]),
        None => Planned::Left(format!("{} cannot be changed safely: {by_hand}", file.display())),
    }
}

/// The change of a file by an edit of its text; `None` when the edit is unsafe.
fn edited(step: &str, path: &Path, edit: impl FnOnce(&str) -> Option<String>) -> io::Result<Option<Change>> {
    let State::File(before) = State::read(path)? else { return Ok(None) };
    let text = std::str::from_utf8(&before.bytes).ok().and_then(edit);
    Ok(text.map(|text| {
        let after = Content { bytes: text.into_bytes(), owned: before.owned };
        change(step, path, State::File(before), State::File(after))
    }))
}

fn default_site(ground: &Ground<'_>) -> io::Result<Planned> {
    let (layout, listeners) = (&ground.layout, ground.settings.translate.listeners.all());
    let other_sites = &ground.survey.other_sites;
    if !ground.survey.includes_ours && claims(other_sites, &listeners).iter().any(|claim| !claim.default_server) {
        // The order of sites is known only when our files are included.
        let words = "whether another site has the requests for unknown hosts is seen when nginx includes our files";
        return Ok(Planned::Left(words.to_owned()));
    }
    let sites = layout.default_sites(other_sites, &listeners);
    if sites.is_empty() {
        return Ok(Planned::Nothing("no other site has the requests for unknown hosts on our ports".to_owned()));
    }
    let place = |site: &ServerBlock| format!("{}:{}", site.file.display(), site.line);
    let places: Vec<_> = sites.iter().map(|site| place(site)).collect();
    let places = places.join(", ");
    if !ground.disable_default_site {
        return Ok(Planned::Left(format!(
            "{places} has the requests for unknown hosts and keeps them; with --disable-default-site the distribution's \
             default site is moved out of the way"
        )));
    }
    let named = |site: &&&ServerBlock| site.names.iter().any(|name| !NOBODYS_NAMES.contains(&name.as_str()));
    // Other blocks of the same file are removed with it.
    let with_it = |other: &&ServerBlock| {
        sites.iter().any(|site| {
            site.file == other.file && std::fs::canonicalize(&site.file).ok().as_ref() != Some(&layout.configuration)
        }) || sites.contains(other)
    };
    let going: Vec<_> = layout.sites.iter().filter(with_it).collect();
    if let Some(site) = going.iter().find(named) {
        return Ok(Planned::Left(format!(
            "{} has a name of its own ({}), so it is not the distribution's default site: take default_server out of it, \
             or the file out of the way, yourself",
            place(site),
            site.names.join(" ")
        )));
    }
    let mut changes = Vec::new();
    for site in &sites {
        if changes.iter().any(|(_, known): &(String, Change)| known.path == site.file) {
            continue;
        }
        match removal(site, layout)? {
            Some(removal) => changes.extend(removal),
            None => {
                return Ok(Planned::Left(format!(
                    "{} is not where a distribution has its default site: take default_server out of it, or the file out \
                     of the way, yourself",
                    place(site)
                )));
            }
        }
    }
    Ok(Planned::Change(changes))
}

/// How a distribution's default site is moved out of the way; `None` for any other site.
fn removal(site: &ServerBlock, layout: &Layout) -> io::Result<Option<Vec<(String, Change)>>> {
    let step = "default-site";
    let name = site.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let folder = site.file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let before = State::read(&site.file)?;
    match (folder, name, &before) {
        ("sites-enabled", "default", State::Link(target)) => {
            let what = format!("take away the link {} to {}", site.file.display(), target.display());
            Ok(Some(vec![(what, change(step, &site.file, before, State::Absent))]))
        }
        ("conf.d", "default.conf", State::File(_)) => {
            let other = site.file.with_file_name("default.conf.disabled");
            let what = format!("give {} the name {}", site.file.display(), other.display());
            let gone = (format!("so that {} is gone", site.file.display()), State::Absent);
            let mut changes = Vec::new();
            match State::read(&other)? {
                State::Absent => changes.push((what, change(step, &other, State::Absent, before.clone()))),
                // A run that was killed came this far.
                same if same == before => {}
                _ => return Ok(None),
            }
            changes.push((gone.0, change(step, &site.file, before, gone.1)));
            Ok(Some(changes))
        }
        _ if std::fs::canonicalize(&site.file)? == layout.configuration => {
            let edited = edited(step, &layout.configuration, |text| {
                let blocks = edit::blocks(text);
                let block = blocks.iter().find(|block| block.line == site.line && block.path == ["http", "server"])?;
                edit::comment_out(text, block)
            })?;
            let what = || format!("make comments of the server block at {}:{}", site.file.display(), site.line);
            Ok(edited.map(|change| vec![(what(), change)]))
        }
        _ => Ok(None),
    }
}

fn kubeconfig_mode(ground: &Ground<'_>) -> io::Result<Planned> {
    if ground.settings.manifests.is_some() {
        return Ok(Planned::Nothing("the settings name a folder of manifests, not a cluster".to_owned()));
    }
    let path = ground.settings.cluster.kubeconfig.clone().unwrap_or_else(|| DEFAULT_KUBECONFIG.into());
    match State::mode_of(&path)? {
        State::Mode(before) if before.mode & FOREIGN != 0 => {
            Ok(Planned::Change(vec![closing("kubeconfig-mode", &path.display().to_string(), &path, before)]))
        }
        State::Mode(_) => Ok(Planned::Nothing(format!("{} is for its owner alone", path.display()))),
        _ => Ok(Planned::Left(format!(
            "{} is not there yet: `ingressd kubeconfig` makes one, see /usr/share/doc/ingressd/docs/install.md",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_step_is_taken_back() {
        let taken: BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(taken, TAKEN_BACK.iter().copied().collect());
    }
}
