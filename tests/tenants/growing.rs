//! Texts with variables that grow with each request, and their cost for others.

use serde_json::Value;

use crate::row::{ask, reported};
use crate::scene::Scene;
use crate::weigh::{Added, LITTLE, WEIGHT, Weight};
use crate::weights;

/// Each variable holds the one before eight times: eight bytes of a client would be 8 GB.
fn captures(scene: &Scene) -> Value {
    let grown: String = (0..10)
        .map(|number| {
            let next = number + 1;
            format!("if ($v{number} ~ \"(.*)\") {{ set $v{next} \"$1$1$1$1$1$1$1$1\"; }}\n")
        })
        .collect();
    let snippet = format!("set $v0 $http_x;\n{grown}");
    let object = scene.of_evil("captures").host(&scene.host("captures"), "web");
    object.annotation("configuration-snippet", &snippet).build()
}

/// Each header of the answer holds the one before eight times.
fn answers(scene: &Scene) -> Value {
    let header =
        |number: usize| format!("add_header X-{} \"{}\";\n", number + 1, format!("$sent_http_x_{number}").repeat(8));
    let snippet = format!("add_header X-0 12345678;\n{}", (0..9).map(header).collect::<String>());
    let object = scene.of_evil("answers").host(&scene.host("answers"), "web");
    object.annotation("configuration-snippet", &snippet).build()
}

/// A thousand requests with a path of 8 KB would be 14 GB.
fn rewritten(scene: &Scene) -> Value {
    let object =
        scene.of_evil("rewritten").annotation("use-regex", "true").annotation("rewrite-target", &"$1".repeat(900));
    object.path(&scene.host("rewritten"), "ImplementationSpecific", "/(.*)", "web").build()
}

/// nginx keeps a slot for each of these variables in every request of every client, and compares
/// their names one by one.
fn names(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let key: String = (0..30).map(|part| format!("$arg_n{number}x{part}")).collect();
        let object =
            scene.of_evil(&format!("attack-{number:03}")).host(&scene.host(&format!("own-{number:03}")), "web");
        object.annotation("upstream-hash-by", &key).build()
    };
    (0..250).map(object).collect()
}

weights! {
    what_is_made_of_a_request_is_bounded => Weight {
        name: "growing-texts",
        settings: &[("snippets.allowed", "[{namespaces = ['*'], kinds = ['configuration-snippet']}]")],
        attack: |scene| vec![captures(scene), answers(scene), rewritten(scene)],
        reported: &[
            reported("Ingress captures", &["RefusedValue"]),
            reported("Ingress answers", &["RefusedValue"]),
            reported("Ingress rewritten", &[]),
        ],
        during: &[
            ask("http://captures.{h}/").with(&[("x", "12345678")]),
            ask("http://answers.{h}/"),
            ask("http://rewritten.{h}/12345678").gets("evil"),
        ],
        ..WEIGHT
    };
    a_namespace_names_so_many_variables => Weight {
        name: "names-of-variables",
        attack: names,
        reported: &[reported("Ingress attack-249", &["OverBudget"])],
        most: Added { files: 800, written: 2 << 10, nginx: 64 << 10, ..LITTLE },
        ..WEIGHT
    };
}
