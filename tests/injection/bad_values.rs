//! Every value that a row of annotations refuses has the documented effect, from the manifest to
//! the configuration that nginx reads.

use ingressd_model::finding::Reason;
use ingressd_translate::ANNOTATIONS;
use ingressd_translate::annotation::{Gives, OnError, Row};

use crate::shop::{about, files, is_closed, reasons, shop, written};

/// What is wrong with the result of a value.
fn wrong(row: &Row, value: &str, on_error: OnError) -> Option<String> {
    let with = |annotations: &[(&str, &str)]| written(&[shop(annotations, "/", "Prefix")]);
    let outcome = with(&[row.beside, &[(row.key, value)]].concat());
    let reported = reasons(&outcome, "shop");
    let is_right = match on_error {
        OnError::Refuse => outcome.server("shop.test").is_none() && reported.contains(&Reason::RefusedValue),
        OnError::Close => is_closed(&outcome) && !reported.is_empty(),
        OnError::Skip => !reported.is_empty() && files(&outcome) == files(&with(row.beside)),
        OnError::WithholdCopies => !reported.is_empty() && files(&outcome) == files(&with(&[])),
        OnError::WithholdCors => {
            !reported.is_empty() && !outcome.server("shop.test").unwrap().contains("Access-Control")
        }
    };
    (!is_right).then(|| format!("{}: {value:?}: {:?}", row.key, about(&outcome, "shop")))
}

#[test]
fn each_bad_value_meets_what_its_row_says() {
    let (mut complaints, mut count) = (Vec::new(), 0);
    for row in ANNOTATIONS.rows().filter(|row| Row::is_served(row)) {
        for (value, gives) in
            row.all_tries().into_iter().filter(|(_, gives)| matches!(gives, Gives::Refused(_) | Gives::LeftOut(_)))
        {
            count += 1;
            let on_error = if matches!(gives, Gives::LeftOut(_)) { OnError::Skip } else { row.on_error };
            complaints.extend(wrong(row, value, on_error));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    assert!(count > 150, "{count}");
}
