//! nginx's language: its words and its statements, as nginx's own reader has them; it must not know what any of them means.

pub mod lexer;
mod lua;
pub mod syntax;
