//! Selects the Ingresses of our classes, with the dialect of each.

use crate::select::seen::Seen;
use crate::{ClassRule, Options};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Field, Origin};
use ingressd_objects::rows::IngressClass;
use ingressd_objects::{Ingress, Snapshot, Stored};

/// The annotation for the class from before `spec.ingressClassName` existed.
const LEGACY: &str = "kubernetes.io/ingress.class";

/// The annotation of the IngressClass for objects that name none.
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";

/// The class rule of an Ingress, or the finding that says why it is ignored.
///
/// The field takes precedence over the annotation: an object whose field names an unknown class is
/// not ours, whatever its annotation is.
pub fn select<'a>(
    ingress: Seen<'_, Ingress>,
    snapshot: &Snapshot,
    options: &'a Options,
) -> Result<&'a ClassRule, Box<Finding>> {
    let rule = of_class(ingress, snapshot, options)?;
    let has_default = ingress.object.default_backend.is_some();
    if options.no_catch_all && has_default {
        let note = "objects with spec.defaultBackend are ignored (`hosts.disable-catch-all`); remove it, and write \
                    rules instead";
        let finding = Finding::new(Reason::ForeignClass, Origin::field(ingress.entry.id, Field::DefaultBackend), note);
        return Err(Box::new(Finding { severity: Severity::Warning, ..finding }));
    }
    Ok(rule)
}

fn of_class<'a>(
    ingress: Seen<'_, Ingress>,
    snapshot: &Snapshot,
    options: &'a Options,
) -> Result<&'a ClassRule, Box<Finding>> {
    let field = |path: &'static str| Origin::field(ingress.entry.id, Field::Other(path.into()));
    let foreign = |origin, note: String| Box::new(Finding::new(Reason::ForeignClass, origin, note));
    let has_none = ingress.object.annotations.get(LEGACY).is_none() && options.fills_in_class;
    let default = || has_none.then(|| default_class(snapshot)).flatten();
    if let Some(name) = ingress.object.class_name.as_deref().or_else(default) {
        let origin = field("spec.ingressClassName");
        let Some(found) = snapshot.ingress_class(name) else {
            let note = format!("there is no IngressClass {name:?}; create it or correct the name");
            return Err(Box::new(Finding { severity: Severity::Warning, ..*foreign(origin, note) }));
        };
        let controller = controller_of(found);
        return of_name(name, snapshot, options).ok_or_else(|| {
            foreign(
                origin,
                format!(
                    "IngressClass {name:?} belongs to the controller {controller:?}, which no entry \
                of `classes` in the settings has"
                ),
            )
        });
    }
    if let Some(name) = ingress.object.annotations.get(LEGACY) {
        let origin = Origin::field(ingress.entry.id, Field::Annotation(LEGACY.into()));
        return options.classes.iter().find(|rule| rule.legacy_class.as_deref() == Some(name)).ok_or_else(|| {
            foreign(
                origin,
                format!(
                    "the class {name:?} of the annotation is served by another controller; no entry \
                of `classes` in the settings has it as `legacy-class`"
                ),
            )
        });
    }
    options.classes.iter().find(|rule| rule.without_class).ok_or_else(|| {
        foreign(
            field("spec.ingressClassName"),
            "it names no class; write spec.ingressClassName with a class that is \
                                                 served here"
                .to_owned(),
        )
    })
}

/// The controller that an IngressClass names.
fn controller_of(class: &Stored<IngressClass>) -> &str {
    class.object.spec.as_ref().and_then(|spec| spec.controller.as_deref()).unwrap_or_default()
}

/// The class rule of the IngressClass with this name.
pub fn of_name<'a>(name: &str, snapshot: &Snapshot, options: &'a Options) -> Option<&'a ClassRule> {
    let controller = controller_of(snapshot.ingress_class(name)?);
    let has = |rule: &&ClassRule| *rule.controller == *controller || rule.class_name.as_deref() == Some(name);
    options.classes.iter().find(has)
}

/// The class that an API server writes into a new object without one: of several the youngest, or
/// the first by name.
fn default_class(snapshot: &Snapshot) -> Option<&str> {
    let is_default = |class: &&Stored<IngressClass>| {
        let annotations = class.object.metadata.annotations.as_ref();
        annotations.and_then(|annotations| annotations.get(DEFAULT)).is_some_and(|value| value == "true")
    };
    let classes = snapshot.ingress_classes.iter().filter(is_default);
    let created = |class: &&Stored<IngressClass>| class.object.metadata.creation_timestamp.clone();
    classes.rev().max_by_key(created).map(|class| &*class.id.name)
}
