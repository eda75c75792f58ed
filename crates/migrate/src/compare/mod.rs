//! Compares the responses of a controller and of ingressd: which requests to send, which parts
//! differ, and which annotation explains it. It must not know how requests are sent.

mod answer;
#[cfg(test)]
mod answer_tests;
mod choice;
mod explain;
mod format;
mod hosts;
mod lines;
mod outcome;
mod request;
mod result;
mod side_by_side;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Answered, Part, Ports, Silence, reported};
pub use choice::{Choice, Chooser, LeftOut};
pub use explain::{Because, Kind, explain};
pub use format::{Fields, Format, Logged};
pub use hosts::{IngressHost, IngressHosts, Route};
pub use lines::Lines;
pub use outcome::{Outcome, Rounds};
pub use request::{AGENT, Method, Request, Scheme};
pub use result::{Comparison, Difference, DifferentPart, Side};
pub use side_by_side::{BESIDE, Taken, side_by_side, taken};
