//! Findings about refused objects besides the reason: all that is wrong with their paths and
//! Services, so that one change mends it.

use std::collections::HashMap;

use crate::admit::admitted::Admitted;
use crate::build::server::Servers;
use crate::position;
use crate::read::path::{self, Matching};
use ingressd_model::{Field, Origin};

/// The number of paths of a namespace with such findings: no budget counts paths of refused
/// objects.
const MOST: usize = 200;

/// Looks at what is wrong with these objects, the oldest first, besides what refuses them.
pub fn look<'a>(servers: &mut Servers<'a>, left_out: &[Admitted<'a>]) {
    let mut reported: HashMap<&str, usize> = HashMap::new();
    for object in left_out {
        for (rule, _) in object.rules() {
            for (number, read, backend) in object.paths(rule) {
                let Some((written, _)) = read.parts() else { continue };
                let reported = reported.entry(&object.id().namespace).or_default();
                *reported += 1;
                if *reported > MOST {
                    break;
                }
                let origin = Origin::field(object.id(), Field::Path(position(rule), position(number), ""));
                let is_text = !object.policy.reading.use_regex && object.policy.reading.rewrite_target.is_none();
                if is_text && path::is_like_an_expression(Matching::Prefix, written) {
                    servers.report_of_literal_path(written, None, &origin);
                }
                let action = servers.action(object, Some(backend), &origin);
                servers.with_errors(action, object, Some(backend));
            }
        }
    }
}
