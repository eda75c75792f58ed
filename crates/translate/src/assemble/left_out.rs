//! Findings about refused objects besides the reason: all that is wrong with their paths and
//! Services, so that one change mends it.

use std::collections::HashMap;

use crate::attach::subject::Subject;
use crate::build::built::Outside;
use crate::build::server::Servers;
use crate::position;
use crate::read::path::{self, Matching};
use ingressd_model::finding::Finding;
use ingressd_model::{Field, Origin};

/// The number of paths of a namespace with such findings: no budget counts paths of refused
/// objects.
const MOST: usize = 200;

/// What is wrong with these objects, the oldest first, besides what refuses them, and what it
/// depends on.
pub fn findings<'a>(mut servers: Servers<'a>, left_out: &[Subject<'a>]) -> (Vec<Finding>, Outside) {
    let mut reported: HashMap<&str, usize> = HashMap::new();
    for subject in left_out {
        for (rule, _) in subject.rules() {
            for (number, read, backend) in subject.paths(rule) {
                let Some((written, _)) = read.parts() else { continue };
                let reported = reported.entry(&subject.id().namespace).or_default();
                *reported += 1;
                if *reported > MOST {
                    break;
                }
                let origin = Origin::field(subject.id(), Field::Path(position(rule), position(number), ""));
                let is_text = !subject.reading.use_regex && subject.reading.rewrite_target.is_none();
                if is_text && path::is_like_an_expression(Matching::Prefix, written) {
                    servers.report_of_literal_path(written, None, &origin);
                }
                let action = servers.action(subject, Some(backend), &origin);
                servers.with_errors(action, subject, Some(backend));
            }
        }
    }
    (servers.findings, Outside::of(servers.backends))
}
