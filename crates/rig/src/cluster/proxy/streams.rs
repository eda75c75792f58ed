//! Watches that run through the proxy, to which lines can be added and which can be ended.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::call::Call;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A command to a running watch.
enum Order {
    Send(Bytes),
    End,
}

/// Watches that run, each with a way to tell it something.
type Running = Vec<(Call, UnboundedSender<Order>)>;

/// The watches that run. Clones share them.
#[derive(Clone, Default)]
pub struct Streams(Arc<Mutex<Running>>);

impl Streams {
    /// Ends the watches of these kinds, as if their connections broke, and tells how many those
    /// were.
    pub fn cut(&self, matches: impl Fn(&Call) -> bool) -> usize {
        self.report(matches, || Order::End)
    }

    /// Sends an event into the watches of these kinds, and tells how many those were.
    pub fn send(&self, matches: impl Fn(&Call) -> bool, event: &Value) -> usize {
        let line = Bytes::from(format!("{event}\n"));
        self.report(matches, || Order::Send(line.clone()))
    }

    /// How many of these run.
    pub fn count(&self, matches: impl Fn(&Call) -> bool) -> usize {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|(_, orders)| !orders.is_closed());
        streams.iter().filter(|(call, _)| matches(call)).count()
    }

    fn report(&self, matches: impl Fn(&Call) -> bool, order: impl Fn() -> Order) -> usize {
        let streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reported = streams.iter().filter(|(call, orders)| matches(call) && orders.send(order()).is_ok());
        reported.count()
    }

    /// Passes a watch on until it ends or is ended.
    pub fn pass(&self, call: Call, from: Incoming) -> Body {
        let (orders, reported) = unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((call, orders));
        let watch = Watch { from, rest: Vec::new(), reported };
        BodyExt::boxed_unsync(StreamBody::new(unfold(watch, Watch::next)))
    }
}

/// A watch that runs.
struct Watch {
    from: Incoming,
    /// The bytes since the last end of a line: no other line may be inserted into them.
    rest: Vec<u8>,
    reported: UnboundedReceiver<Order>,
}

impl Watch {
    /// The next bytes for the client: whole lines.
    async fn next(mut self) -> Option<(io::Result<Frame<Bytes>>, Self)> {
        loop {
            tokio::select! {
                frame = self.from.frame() => {
                    let frame = match frame? {
                        Ok(frame) => frame,
                        Err(error) => return Some((Err(io::Error::other(error)), self)),
                    };
                    let Ok(data) = frame.into_data() else { continue };
                    self.rest.extend_from_slice(&data);
                    let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { continue };
                    let lines: Vec<u8> = self.rest.drain(..=end).collect();
                    return Some((Ok(Frame::data(lines.into())), self));
                }
                order = self.reported.recv() => return match order {
                    Some(Order::Send(line)) => Some((Ok(Frame::data(line)), self)),
                    Some(Order::End) => Some((Err(io::ErrorKind::ConnectionReset.into()), self)),
                    None => None,
                },
            }
        }
    }
}
