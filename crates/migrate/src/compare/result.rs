//! The result of a comparison as a value and as JSON for other programs. It must not know how
//! requests were sent.

use serde_json::{Value, json};

use super::answer::{Part, Ports};
use super::choice::LeftOut;
use super::explain::Because;
use super::request::Request;

/// The version of the JSON; additions do not change it.
const VERSION: u32 = 1;

/// The address of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// An address or a host name.
    pub address: String,
    pub ports: Ports,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// When it ended, in the format of RFC 3339.
    pub finished: String,
    /// The address of the controller.
    pub controller: Side,
    /// The address of ingressd.
    pub ingressd: Side,
    /// How many requests were sent to both.
    pub asked: usize,
    /// How many of them neither side answered.
    pub unanswered: usize,
    /// What was left out.
    pub left_out: LeftOut,
    /// The requests with different responses.
    pub different: Vec<Difference>,
    /// Requests with parts that vary on one side.
    pub unsteady: Vec<(Request, Vec<Part>)>,
}

/// A request with different responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub request: Request,
    /// The Ingress whose path matched, as namespace/name.
    pub ingress: Option<String>,
    /// The parts that differ.
    pub parts: Vec<DifferentPart>,
}

/// A part of an answer that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferentPart {
    pub part: Part,
    /// The controller's value; empty when the part is missing.
    pub controller: String,
    /// ingressd's value; empty when the part is missing.
    pub ingressd: String,
    /// The explanations.
    pub because: Vec<Because>,
}

impl DifferentPart {
    /// Whether the report predicts the difference.
    pub fn is_explained(&self) -> bool {
        self.because.iter().any(|because| because.is_foreseen)
    }
}

impl Difference {
    /// Whether each part is explained.
    pub fn is_explained(&self) -> bool {
        self.parts.iter().all(DifferentPart::is_explained)
    }
}

impl Comparison {
    /// An empty result for these sides.
    pub fn new(controller: Side, ingressd: Side) -> Self {
        Comparison {
            finished: String::new(),
            controller,
            ingressd,
            asked: 0,
            unanswered: 0,
            left_out: LeftOut::default(),
            different: Vec::new(),
            unsteady: Vec::new(),
        }
    }

    /// Whether both sides responded, and alike.
    pub fn is_clean(&self) -> bool {
        self.different.is_empty() && self.asked > self.unanswered
    }

    /// How many of the differences are explained.
    pub fn explained(&self) -> usize {
        self.different.iter().filter(|difference| difference.is_explained()).count()
    }

    /// The result as JSON.
    pub fn json(&self) -> Value {
        let left_out = self.left_out.counts().map(|(name, _, count)| (name.to_owned(), json!(count)));
        let unsteady = self.unsteady.iter().map(|(request, parts)| {
            json!({
                "request": request.to_string(),
                "parts": parts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        });
        json!({
            "version": VERSION,
            "finished": self.finished,
            "verdict": if self.is_clean() { "clean" } else { "different" },
            "asked": self.asked,
            "different": self.different.len(),
            "explained": self.explained(),
            "unsteady": self.unsteady.len(),
            "unanswered": self.unanswered,
            "leftOut": serde_json::Map::from_iter(left_out),
            "controller": side(&self.controller),
            "ingressd": side(&self.ingressd),
            "differences": self.different.iter().map(difference).collect::<Vec<_>>(),
            "unsteadyRequests": unsteady.collect::<Vec<_>>(),
        })
    }
}

fn side(side: &Side) -> Value {
    json!({ "address": side.address, "httpPort": side.ports.http, "httpsPort": side.ports.https })
}

fn difference(difference: &Difference) -> Value {
    let parts = difference.parts.iter().map(|part| {
        json!({
            "part": part.part.to_string(),
            "controller": part.controller,
            "ingressd": part.ingressd,
            "explained": part.is_explained(),
            "because": part.because.iter().map(because).collect::<Vec<_>>(),
        })
    });
    json!({
        "request": difference.request.to_string(),
        "ingress": difference.ingress,
        "explained": difference.is_explained(),
        "parts": parts.collect::<Vec<_>>(),
    })
}

fn because(because: &Because) -> Value {
    json!({
        "kind": because.kind.name(),
        "ingress": (!because.ingress.is_empty()).then_some(&because.ingress),
        "name": because.item.name,
        "value": because.item.value,
        "verdict": because.item.verdict.name(),
        "foreseen": because.is_foreseen,
        "why": because.item.why,
        "remedy": because.item.remedy,
    })
}
