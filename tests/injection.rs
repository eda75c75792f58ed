//! Hostile strings in every input, from manifests to parsed configuration: refused, or nothing but
//! a value.
//!
//! The judge is the tree of directives as nginx reads it, never the text: names, nesting and
//! numbers of arguments are those of a harmless value of the same field, and nothing of any other
//! object changes by a byte.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "injection/bad_values.rs"]
mod bad_values;
#[path = "injection/blocks.rs"]
mod blocks;
#[path = "injection/confinement.rs"]
mod confinement;
#[path = "injection/corpus.rs"]
mod corpus;
#[path = "injection/cves.rs"]
mod cves;
#[path = "injection/fields.rs"]
mod fields;
#[path = "golden/inputs.rs"]
mod inputs;
#[expect(dead_code, reason = "which version judges is of no matter here")]
#[path = "golden/judge.rs"]
mod judge;
#[path = "injection/known.rs"]
mod known;
#[path = "injection/mistakes.rs"]
mod mistakes;
#[path = "injection/pipeline.rs"]
mod pipeline;
#[path = "injection/shop.rs"]
mod shop;
#[path = "injection/snippets.rs"]
mod snippets;
#[path = "injection/streams.rs"]
mod streams;
#[path = "injection/table.rs"]
mod table;
#[path = "injection/tenants.rs"]
mod tenants;
