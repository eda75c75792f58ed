//! Assembles a file from parts, with the owner of each line.

use crate::render::content::Part;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::shape::Filled;
use ingressd_model::{Directive, Origin};

use super::location::{Location, directives};
use super::paths::Place;

/// A file that is being assembled, with the owner of each line.
#[derive(Default)]
pub struct Writer {
    parts: Vec<Part>,
    /// The number of line ends in the parts so far.
    lines: u32,
    owners: Vec<(u32, Origin)>,
    /// Whether the text alone is wanted.
    without_owners: bool,
    unwritten: Vec<Origin>,
}

impl Writer {
    /// A file of which the text alone is wanted.
    pub fn without_owners() -> Self {
        Writer { without_owners: true, ..Writer::default() }
    }

    /// Adds lines that one field caused.
    pub fn add(&mut self, text: Filled, origin: &Origin) {
        self.own(self.lines + 1, origin);
        self.lines += text.lines();
        self.parts.push(text.into());
    }

    /// Adds one line that no field caused; the owner of the line before owns it too.
    pub fn add_line(&mut self, line: &'static str) {
        self.lines += 1;
        self.parts.push(Part::Fixed(line));
    }

    /// Ends a block that one field caused.
    pub fn end(&mut self, origin: &Origin) {
        self.own(self.lines + 1, origin);
        self.add_line("}\n");
    }

    /// The text so far.
    pub fn into_parts(self) -> Vec<Part> {
        self.parts
    }

    /// The finished file.
    pub fn file(mut self, requires: impl IntoIterator<Item = FilePath>) -> File {
        // The list stays in memory as long as the server.
        self.owners.shrink_to_fit();
        File { unwritten: self.unwritten.into(), ..File::plain(self.parts, Owners(self.owners), requires) }
    }

    /// Records a route that cannot be written.
    pub fn leave_out(&mut self, origin: &Origin) {
        if !self.unwritten.contains(origin) {
            self.unwritten.push(origin.clone());
        }
    }

    /// Whether everything could be written.
    pub fn is_complete(&self) -> bool {
        self.unwritten.is_empty()
    }

    /// Adds a location: its texts and its last line. The directives stand directly below the first
    /// line, one line each.
    pub fn add_location(&mut self, texts: Vec<Filled>, location: &Location, place: &Place<'_>, common: &[&Directive]) {
        let first = self.lines + 1;
        let origin = if place.decides() { &place.route.origin } else { &place.handler.origin };
        self.own(first, origin);
        let before = |texts: &[Filled]| texts.iter().map(Filled::lines).sum();
        let (of_location, before_headers) = (before(&texts[..1]), before(&texts[..2.min(texts.len())]));
        for text in texts {
            self.lines += text.lines();
            self.parts.push(text.into());
        }
        self.add_line("}\n");
        if self.without_owners {
            return;
        }
        if place.decides() {
            return;
        }
        let mut next = first + 1;
        for (_, directive) in directives(place.handler, common) {
            self.own(next, &directive.origin);
            next += 1;
        }
        self.own(next, origin);
        for (line, count, owner) in location.owned_lines(of_location, before_headers) {
            self.own(first + line, &owner);
            self.own(first + line + count, origin);
        }
    }

    /// Adds a block: its texts and its last line, which one field caused.
    pub fn add_block(&mut self, texts: Vec<Filled>, origin: &Origin) {
        texts.into_iter().for_each(|text| self.add(text, origin));
        self.end(origin);
    }

    fn own(&mut self, line: u32, origin: &Origin) {
        if self.without_owners {
            return;
        }
        // An owner without lines is removed.
        self.owners.pop_if(|(first, _)| *first == line);
        if self.owners.last().is_none_or(|(_, last)| last != origin) {
            self.owners.push((line, origin.clone()));
        }
    }
}
