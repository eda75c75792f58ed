//! Findings are for people: no step reads their reasons or notes back as state.

use std::collections::BTreeMap;

use syn::visit::Visit;

use super::{SourceFile, complain, is_test_only, program_files};

/// The files that read some, and in how many places. The numbers may only fall: what a later step
/// needs is a value, such as the verdict of an `ObjectState`.
const READERS: &[(&str, usize)] = &[
    // They say what people see: words, the findings that explain something, and which findings are
    // shown beside others or beside another judgement.
    ("crates/model/src/finding.rs", 1),
    ("crates/model/src/state.rs", 1),
    ("crates/migrate/src/item.rs", 1),
    ("crates/migrate/src/judge.rs", 2),
    ("crates/translate/src/admit/servable.rs", 1),
    ("crates/translate/src/annotation/companions.rs", 2),
    ("src/cli/check.rs", 2),
    ("src/cli/kubectl/cluster.rs", 2),
    ("src/daemon/explain.rs", 3),
    ("src/demo/status.rs", 1),
    ("src/doctor/checks/nginx.rs", 1),
];

/// Expressions that read the reason or the note of a finding, outside of test modules.
#[derive(Default)]
struct Reads(usize);

impl Reads {
    fn of(file: &SourceFile) -> usize {
        let mut reads = Reads::default();
        reads.visit_file(&file.tree);
        reads.0
    }
}

fn is_field(expression: &syn::Expr, name: &str) -> bool {
    match expression {
        syn::Expr::Field(field) => matches!(&field.member, syn::Member::Named(member) if member == name),
        syn::Expr::Reference(reference) => is_field(&reference.expr, name),
        syn::Expr::Unary(unary) => is_field(&unary.expr, name),
        syn::Expr::Paren(inner) => is_field(&inner.expr, name),
        _ => false,
    }
}

/// Whether this is a reason, or a variable that may be one: reasons of the API server are texts.
fn may_be_reason(expression: &syn::Expr) -> bool {
    let syn::Expr::Path(path) = expression else { return false };
    let names: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    match &names[..] {
        [one] => one.starts_with(|letter: char| letter.is_lowercase()),
        [.., kind, _] => kind == "Reason",
        [] => false,
    }
}

impl<'ast> Visit<'ast> for Reads {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test_only(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let sides = [(&binary.left, &binary.right), (&binary.right, &binary.left)];
        let is_read = sides.iter().any(|(one, other)| is_field(one, "reason") && may_be_reason(other));
        self.0 += usize::from(is_read && matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)));
        syn::visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        self.0 += usize::from(is_field(&expression.expr, "reason"));
        syn::visit::visit_expr_match(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_search = ["contains", "starts_with", "ends_with"].iter().any(|name| call.method == name);
        let is_effect = matches!(&*call.receiver, syn::Expr::MethodCall(inner) if inner.method == "effect");
        let is_read =
            is_field(&call.receiver, "note") || is_effect || call.args.iter().any(|one| is_field(one, "reason"));
        self.0 += usize::from(is_search && is_read);
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let is_read = item.path.is_ident("matches") && item.tokens.to_string().contains(". reason");
        self.0 += usize::from(is_read);
        syn::visit::visit_macro(self, item);
    }
}

#[test]
fn findings_are_not_read_back_as_state() {
    let files: Vec<_> = program_files().into_iter().filter(|file| !file.is_test()).collect();
    let found = files.iter().map(|file| (&*file.path, Reads::of(file))).filter(|(_, reads)| *reads > 0);
    let found: BTreeMap<_, _> = found.collect();
    let known: BTreeMap<_, _> = READERS.iter().copied().collect();
    let mut complaints = Vec::new();
    for file in found.keys().chain(known.keys()) {
        let [reads, most] = [&found, &known].map(|list| list.get(file).copied().unwrap_or_default());
        if reads > most {
            complaints.push(format!("{file}: it reads findings in {reads} places, and may in {most}"));
        } else if reads < most {
            complaints.push(format!("{file}: it reads findings in {reads} places: write that number for {most}"));
        }
    }
    complaints.sort();
    complaints.dedup();
    complain(&complaints);
}
