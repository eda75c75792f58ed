//! Properties of the table as a whole: it must not know how a row does what it does.
