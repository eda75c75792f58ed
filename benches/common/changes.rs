//! The sorts of changes whose time into service is measured, and how each is observed from
//! outside.

use std::net::IpAddr;

use super::applications::{Application, EDITED};
use rig::client::{Reply, Request, get};

/// A sort of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Another application comes.
    RouteAdd,
    /// A path gets another name.
    PathEdit,
    /// All pods of a Service are replaced.
    Endpoint,
    /// A host gets another certificate.
    Certificate,
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 4] = [Change::RouteAdd, Change::PathEdit, Change::Endpoint, Change::Certificate];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Change::RouteAdd => "route add",
            Change::PathEdit => "path edit",
            Change::Endpoint => "endpoint change",
            Change::Certificate => "certificate change",
        }
    }

    /// The application that changes in the given round, as it is afterwards. `size` applications
    /// were there at first.
    pub fn of_round(self, round: usize, size: usize) -> Application {
        // The changes are spread over all files, and no application is changed twice as long as
        // there are enough of them.
        let tens = (round * 7) % (size / 10);
        let plain = tens * 10 + EDITED;
        let revision = round + 1;
        match self {
            Change::RouteAdd => Application::new(size + round * 10 + 1),
            Change::PathEdit => Application { path_revision: revision, ..Application::new(plain) },
            Change::Endpoint => Application { endpoint_revision: revision, ..Application::new(plain + 2) },
            Change::Certificate => Application { certificate_revision: 1 + round % 3, ..Application::new(tens * 10) },
        }
    }

    /// The request that shows it.
    pub fn request(self, application: &Application) -> Request {
        match self {
            Change::RouteAdd | Change::Endpoint | Change::Certificate => get(&application.url("/app/x")),
            Change::PathEdit => get(&application.url(&application.second_path())),
        }
    }

    /// Whether the answer comes from the new configuration.
    pub fn is_served(self, application: &Application, reply: &Reply) -> bool {
        let new_certificate = || reply.peer.as_ref().is_some_and(|peer| peer.certificate == application.certificate());
        is_right(application, reply) && (self != Change::Certificate || new_certificate())
    }
}

/// Whether one of the application's pods answered.
pub fn is_right(application: &Application, reply: &Reply) -> bool {
    let addresses = application.addresses().map(IpAddr::from);
    reply.status == 200 && reply.try_echo().is_some_and(|answer| addresses.contains(&answer.address.ip()))
}
