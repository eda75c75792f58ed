//! nginx's language, its words and directives, as nginx's own parser reads them. It must not know
//! what any of them means.

pub mod lexer;
mod lua;
pub mod syntax;
