//! Checks facts. It must not know how they were gathered.

pub mod cluster;
pub mod host;
pub mod nginx;
pub mod pods;
pub mod publishing;

/// The first of many, and how many more there are.
fn some(items: &[String]) -> String {
    const SHOWN: usize = 3;
    match items.len() {
        0..=SHOWN => items.join(", "),
        count => format!("{} and {} more", items[..SHOWN].join(", "), count - SHOWN),
    }
}

#[cfg(test)]
mod tests;
