//! What changes often, beside the model: the rows of its tables, and what is found about them.

pub mod certified;
mod endpoints;
pub mod rows;
