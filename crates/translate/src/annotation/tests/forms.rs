//! The form of a row, as data, agrees with its parser.

use super::*;
use crate::annotation::Form;

/// Whether the parser refuses the value, whatever happens to the object.
fn is_refused(row: &Row, value: &str) -> bool {
    let key = format!("{PREFIX}{}", row.key);
    let about = |finding: &&Finding| finding.origin.field == ingressd_model::Field::Annotation(key.clone().into());
    tried(row, row.key, value).findings.iter().filter(about).any(|finding| finding.note.contains(" is refused: "))
}

fn served() -> Vec<&'static Row> {
    ANNOTATIONS.rows().filter(|row| row.is_served()).collect()
}

#[test]
fn the_form_of_a_row_judges_its_tries_as_the_row_does() {
    for row in served() {
        let form = row.form(&Limits::default());
        for (value, gives) in row.all_tries() {
            match (gives, form.accepts(value)) {
                (Gives::Refused(_) | Gives::LeftOut(_), true) => {
                    assert!(form.left_out().is_some(), "{}: {value:?} is of the form and refused", row.key);
                }
                (Gives::Refused(_) | Gives::LeftOut(_), false) => {
                    assert!(is_refused(row, value), "{}: {value:?}", row.key);
                }
                (_, is_of_form) => assert!(is_of_form, "{}: {value:?} is served and not of the form", row.key),
            }
        }
    }
}

/// What counts goes into words of nginx's language, whose ends and names such characters mark.
#[test]
fn a_control_character_is_part_of_nothing_that_counts() {
    const MARKS: [char; 3] = ['\u{1}', '\u{2}', '\u{85}'];
    for row in ANNOTATIONS.rows() {
        for (value, _) in row.all_tries() {
            let middle = (0..=value.len() / 2).rev().find(|place| value.is_char_boundary(*place)).unwrap();
            for (place, mark) in [0, middle, value.len()].into_iter().flat_map(|place| MARKS.map(|mark| (place, mark)))
            {
                let hostile = format!("{}{mark}{}", &value[..place], &value[place..]);
                let reading = Reading { findings: Vec::new(), ..tried(row, row.key, &hostile) };
                let escaped = mark.escape_unicode().to_string();
                assert!(!format!("{reading:?}").contains(&escaped), "{}: {hostile:?}", row.key);
            }
        }
    }
}

#[test]
fn most_rows_have_a_form() {
    let judged = served().iter().filter(|row| !matches!(row.form, Form::NotJudged(_))).count();
    assert!(judged >= 60, "{judged}");
    for row in served() {
        if let Some(reason) = row.form.left_out() {
            assert!(reason.len() > 10 && !reason.ends_with('.'), "{}: {reason}", row.key);
        }
    }
}

#[test]
fn no_number_is_larger_than_a_ceiling_takes() {
    for row in served() {
        for value in ["18446744073709551615", "99999999999g", "4294967296", "1073741825", "1025", "10001"] {
            assert_eq!(!row.form(&Limits::default()).accepts(value), is_refused(row, value), "{}: {value}", row.key);
        }
    }
}

/// Values that are nearly valid: those of all tries with a character added, removed or changed;
/// numbers; and any text.
fn values() -> impl Strategy<Value = String> {
    let tries: Vec<&str> = served().iter().flat_map(|row| row.all_tries()).map(|(value, _)| value).collect();
    let letters = proptest::sample::select(Vec::from_iter(
        "aZz019 \t\n\u{a0}\u{7f}\u{2028},;:/.$?*+-_{}()[]<>'\"\\#%&=|^~!@ſéK".chars(),
    ));
    let nearly = (proptest::sample::select(tries), any::<proptest::sample::Index>(), letters, 0..4).prop_map(
        |(value, index, letter, how)| {
            let mut text: Vec<char> = value.chars().collect();
            let at = index.index(text.len() + 1);
            match how {
                0 => text.insert(at, letter),
                1 if at < text.len() => text[at] = letter,
                2 if at < text.len() => drop(text.remove(at)),
                _ => {}
            }
            text.into_iter().collect::<String>()
        },
    );
    prop_oneof![6 => nearly, 2 => "[+-]?[0-9]{1,21}[bkmgBKMG]?", 1 => "[ -~]{1,16}", 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]
    #[test]
    fn a_form_refuses_nothing_that_its_row_takes(row in proptest::sample::select(served()), value in values()) {
        prop_assume!(!value.trim().is_empty());
        let form = row.form(&Limits::default());
        match (form.accepts(&value), is_refused(row, &value)) {
            (false, refused) => prop_assert!(refused, "{} takes {value:?}, which is not of its form", row.key),
            (true, refused) => {
                prop_assert!(!refused || form.left_out().is_some(), "{} refuses {value:?}, which is of its form", row.key);
            }
        }
    }
}
