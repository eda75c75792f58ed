//! Has nginx test files that it does not get, or does not get yet.

use itertools::Itertools as _;

use super::super::blame::GenerationFolders;
use super::super::error::ApplyError;
use super::super::host::{Host, Tested};
use super::super::manifest::by_path;
use super::super::outcome::{Complaint, Outcome};
use super::super::scratch::{Context, Scratch, ScratchResult, changed_files};
use super::super::tree::Tree;
use super::{Applier, hosts_fault};
use ingressd_nginx::render::{FilePath, FileSet};

impl<H: Host> Applier<H> {
    /// What nginx's test says about these files, which are not applied; `None` when only applying
    /// them could tell.
    ///
    /// # Errors
    ///
    /// When files cannot be written, or nginx cannot be run.
    pub fn try_out(&mut self, files: &FileSet) -> Result<Option<Vec<Complaint>>, ApplyError> {
        let _turn = self.turn()?;
        let Some(context) = self.context() else { return Ok(None) };
        let staged = self.stage(files)?;
        let mut judged = self.test((files, self.changed(files)), staged.manifest.generation, &context);
        if let Ok(ScratchResult::Accepted) = judged {
            judged = self.scratch(files, staged.manifest.generation, &context).test_whole(&mut self.host);
        }
        self.generations.discard(&staged);
        Ok(match judged? {
            ScratchResult::Accepted => Some(Vec::new()),
            ScratchResult::Refused(complaints) => Some(complaints),
            ScratchResult::HostRefused(_) | ScratchResult::TooMuch(_) => None,
        })
    }

    /// Has nginx test the configuration in place, with which it would be started.
    ///
    /// # Errors
    ///
    /// When it could not be tested.
    pub fn test_in_place(&mut self) -> Result<Tested, ApplyError> {
        let _turn = self.turn()?;
        self.host.test(None)
    }

    /// The outcome when nginx refuses the configuration in place, of which nothing was changed;
    /// `None` when it does not, when it does not run, and where that cannot be found out.
    pub fn refusal_in_place(&mut self) -> Option<Outcome> {
        let _turn = self.turn().ok()?;
        self.master().ok()?;
        let tested = self.host.test(None).ok().filter(|tested| !tested.accepted)?;
        let places = GenerationFolders { link: self.generations.link(), copies: Vec::new() };
        let why = hosts_fault(&places.failure(&tested.words).words);
        let generation = self.generations.current().map(|manifest| manifest.generation);
        Some(Outcome::RolledBack { generation, why, too_much: None })
    }

    /// Tests the files that differ from the last confirmed generation.
    pub(super) fn test(
        &mut self,
        (files, changed): (&FileSet, Vec<FilePath>),
        generation: u64,
        context: &Context,
    ) -> Result<ScratchResult, ApplyError> {
        self.scratch(files, generation, context).test(changed, &mut self.host)
    }

    /// The files to test for what differs from the generation in place.
    pub(super) fn changed(&self, files: &FileSet) -> Vec<FilePath> {
        let known = self.generations.current().into_iter().flat_map(|manifest| &manifest.entries);
        let both = files.files.iter().merge_join_by(known, |(path, _), (known, _)| by_path(path, known));
        let differing = both.filter_map(|either| {
            let (file, known) = either.left_and_right();
            let (path, file) = file?;
            known.is_none_or(|(_, entry)| entry.digest != file.digest).then_some(path)
        });
        changed_files(files, differing)
    }

    fn scratch<'a>(&self, files: &'a FileSet, generation: u64, context: &'a Context) -> Scratch<'a> {
        Scratch {
            folder: self.options.state.join("scratch"),
            staged: self.generations.folder(generation),
            link: self.generations.link(),
            confirmed: self.generations.confirmed().map(|number| self.generations.folder(number)),
            files,
            context,
            limit: self.options.culprits.max(1),
        }
    }

    /// The parts of the host's configuration that a scratch test needs; without them only the
    /// whole configuration can be tested.
    pub(super) fn context(&self) -> Option<Context> {
        let tree = Tree::read(self.options.nginx_configuration.as_deref()?, &self.options.root);
        let directives = tree.and_then(|tree| tree.expanded());
        let directives =
            directives.inspect_err(|error| tracing::warn!("changed files are not tested by themselves: {error}"));
        directives.ok().map(|directives| Context::of(&directives))
    }
}
