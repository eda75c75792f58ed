//! The contents of a row of the suite.

use serde_json::Value;

use crate::scene::{Dialect, Order, Ownership, Scene};

/// An attack, what the victim's clients see all the time, and the findings of both sides.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Its name, of which those of its hosts and namespaces are made.
    pub name: &'static str,
    /// In which orders it is tried.
    pub orders: &'static [Order],
    /// Under which rule of who owns a host it is tried; both when there is none.
    pub only: Option<Ownership>,
    /// The victim's objects.
    pub victim: fn(&Scene) -> Vec<Value>,
    /// The attacker's objects.
    pub attack: fn(&Scene) -> Vec<Value>,
    /// What holds before, during and after the attack, whenever the victim's objects are there: it
    /// is asked all the time.
    pub clients: &'static [Ask],
    /// What holds while the attack stands.
    pub during: &'static [Ask],
    /// What is done one after the other while the attack stands.
    pub steps: &'static [Step],
    /// Findings while the attack stands, before the first step.
    pub reported: &'static [Reported],
    /// Reasons of findings that the victim's objects may have.
    pub allowed: &'static [&'static str],
    /// Text that must be in no file that nginx reads, in any case.
    pub unwritten: &'static [&'static str],
}

/// Orders in which the victim's claims are the older ones.
pub const VICTIM_OLDER: &[Order] = &[Order::Young, Order::Edited, Order::SameSecond, Order::Together];

/// The orders that matter most: objects that are older than the victim's and change, and both at
/// the first start.
pub const USUAL: &[Order] = &[Order::Edited, Order::Together];

/// The row that others are made of: the victim has its shop, and the attacker nothing.
pub const ROW: Row = Row {
    name: "",
    orders: USUAL,
    only: None,
    victim: Scene::shop,
    attack: |_| Vec::new(),
    clients: &[],
    during: &[],
    steps: &[],
    reported: &[],
    allowed: &[],
    unwritten: &[],
};

/// Something that one side does, and what holds then.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The victim's objects from now on, if they change.
    pub victim: Option<fn(&Scene) -> Vec<Value>>,
    /// The attacker's objects from now on, if they change.
    pub attack: Option<fn(&Scene) -> Vec<Value>>,
    /// What holds then.
    pub asks: &'static [Ask],
    /// The findings then.
    pub reported: &'static [Reported],
}

/// A step in which nothing happens.
pub const STEP: Step = Step { victim: None, attack: None, asks: &[], reported: &[] };

/// A request and what is right about its answer.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    /// `{h}` stands for what all hosts of the case end with.
    pub url: &'static str,
    /// Address of the client; empty for any.
    pub from: &'static str,
    /// What it sends.
    pub headers: &'static [(&'static str, &'static str)],
    /// The backend or status that is right.
    pub gets: Gets,
    /// A name in the certificate that is shown (`{h}` as above); `!` in front: that is not in it.
    pub certificate: Option<&'static str>,
    /// Headers that the backend must not see.
    pub unseen: &'static [&'static str],
    /// A header of the answer and what stands in it.
    pub header: Option<(&'static str, &'static str)>,
    /// The cookie that is set: its name and what stands behind its value. An empty name: there is
    /// none.
    pub cookie: Option<(&'static str, &'static str)>,
    /// Under which rule alone it holds.
    pub only: Option<Ownership>,
    /// In which dialect alone it holds.
    pub dialect: Option<Dialect>,
}

/// Who answers: a backend (`victim`, `admin`, `default`, `evil`) or a status.
#[derive(Debug, Clone, Copy)]
pub enum Gets {
    /// This one.
    Is(&'static str),
    /// Anything else.
    Not(&'static str),
    /// This one where a namespace owns the host, and that one where it is shared.
    By(&'static str, &'static str),
}

/// A request that anything may answer but the attacker.
pub const fn ask(url: &'static str) -> Ask {
    Ask {
        url,
        from: "",
        headers: &[],
        gets: Gets::Not("evil"),
        certificate: None,
        unseen: &[],
        header: None,
        cookie: None,
        only: None,
        dialect: None,
    }
}

impl Ask {
    pub const fn from(mut self, address: &'static str) -> Self {
        self.from = address;
        self
    }

    pub const fn with(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    pub const fn gets(mut self, who: &'static str) -> Self {
        self.gets = Gets::Is(who);
        self
    }

    pub const fn never(mut self, who: &'static str) -> Self {
        self.gets = Gets::Not(who);
        self
    }

    /// Different answers where a namespace owns the host and where it is shared.
    pub const fn by(mut self, namespace: &'static str, shared: &'static str) -> Self {
        self.gets = Gets::By(namespace, shared);
        self
    }

    pub const fn certificate(mut self, name: &'static str) -> Self {
        self.certificate = Some(name);
        self
    }

    pub const fn hides(mut self, headers: &'static [&'static str]) -> Self {
        self.unseen = headers;
        self
    }

    pub const fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    pub const fn cookie(mut self, name: &'static str, attributes: &'static str) -> Self {
        self.cookie = Some((name, attributes));
        self
    }

    pub const fn only(mut self, ownership: Ownership) -> Self {
        self.only = Some(ownership);
        self
    }

    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }
}

/// A side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Victim,
    Evil,
}

/// A finding that has to be there.
#[derive(Debug, Clone, Copy)]
pub struct Reported {
    pub side: Side,
    /// `Kind name`; empty for any of the side.
    pub object: &'static str,
    /// One of these is the reason. With none, any will do that is more than worth knowing.
    pub reasons: &'static [&'static str],
    /// What its note says.
    pub words: &'static str,
    /// The rule under which alone it is expected.
    pub only: Option<Ownership>,
}

/// A finding about an object of the attacker.
pub const fn reported(object: &'static str, reasons: &'static [&'static str]) -> Reported {
    Reported { side: Side::Evil, object, reasons, words: "", only: None }
}

impl Reported {
    pub const fn to_victim(mut self) -> Self {
        self.side = Side::Victim;
        self
    }

    pub const fn words(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    pub const fn only(mut self, ownership: Ownership) -> Self {
        self.only = Some(ownership);
        self
    }
}
