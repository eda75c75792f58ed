//! Which templates are refused, and that correct ones are accepted.

use serde_json::{Value, json};

use super::*;
use crate::render::engine::{Engine, Source};
use crate::render::token::{Literal, Word, Words};
use crate::render::view::View;
use crate::syntax::{self, Directive};
use ingressd_model::Instance;

fn example() -> Value {
    json!({ "word": "w", "flag": true, "list": [{ "inner": "i", "plain": ["p"] }], "number": 1, "quoted": "\"q\"",
        "words": "a b", "nothing": [] })
}

/// Uses the values that the tested text does not use.
const REST: &str = "{{word}} {{number}} {{quoted}} {{words}} {{#when flag}}{{/when}}{{#each list}}{{inner}}{{#each plain}}{{this}}{{/each}} {{/each}}";

fn uses(text: &str) -> Result<Uses, Wrong> {
    compile(text, Some(&example()), &["known"]).map(|(_, uses)| uses)
}

fn complete(text: &str) -> String {
    format!("{text}rest {REST};\n")
}

#[test]
fn refuses_what_could_stay_silent_or_is_no_template() {
    let table = [
        "a {{{word}}};",
        "a {{&word}};",
        "a {{missing}};",
        "a {{#if flag}}{{/if}};",
        "a {{#with list}}{{/with}};",
        "a {{#when missing}}{{/when}};",
        "a {{#when word}}{{/when}};",
        "a {{#when list}}{{/when}};",
        "a {{#when flag list}}{{/when}};",
        "a {{#when flag x=word}}{{/when}};",
        "a {{#each missing}}{{/each}};",
        "a {{#each word}}{{/each}};",
        "a {{#each nothing}}{{/each}};",
        "a {{#each list}}{{else}}{{/each}};",
        "a {{#each list as |one|}}{{/each}};",
        "a {{#each list}}{{word}}{{/each}};",
        "a {{#each list}}{{../word}}{{/each}};",
        "a {{#unless flag}}{{missing}}{{else}}{{/unless}};",
        "a {{#when flag}}{{else}}{{missing}}{{/when}};",
        "{{> unknown}}",
        "{{> known word=word}}",
        "a {{> known}};",
        "a {{lookup list 0}};",
        "a {{word x=word}};",
        "a {{list}};",
        "a {{flag}};",
        "a {{#when flag;",
        "{{#*inline \"known\"}}{{/inline}}",
        "{{#> known}}{{/known}}",
        "a {{{{raw}}}} {{{{/raw}}}};",
        "a \\{{word}};",
    ];
    for text in table {
        assert!(uses(&complete(&format!("{text}\n"))).is_err(), "{text}");
    }
    assert!(uses(&complete("")).is_ok() && uses(&complete("{{> known}}\n")).is_ok());
}

#[test]
fn a_value_is_a_whole_word_or_part_of_one_that_cannot_be_broken() {
    let refused = [
        ("a \"{{quoted}}\";", "stands for itself"),
        ("a '{{quoted}}';", "stands for itself"),
        ("a /x{{quoted}};", "stands for itself"),
        ("a {{quoted}}x;", "blank"),
        ("a {{quoted}}{{quoted}};", "blank"),
        ("a {{quoted}}{{word}};", "blank"),
        ("a {{quoted}}{{#when flag}} x{{/when}};", "within a word"),
        ("a x{{words}};", "stands for itself"),
        ("a \"{{words}}\";", "stands for itself"),
        ("a {{words}}x;", "blank"),
        ("# {{quoted}}\n", "comment"),
        ("# {{word}}\n", "comment"),
        ("# {{number}}\n", "comment"),
        ("# x {{#when flag}}\n{{/when}}", "comment"),
        ("{{#when flag}}# x{{/when}}\n", "ends elsewhere"),
        ("a \\\\{{word}};", "backslash"),
        ("a ${{word}};", "$"),
        ("a \"${{word}}\";", "$"),
        ("a \"{{#when flag}}b{{/when}}\";", "quotes"),
        ("a {{#when flag}}\"{{/when}}b\";", "ends elsewhere"),
        ("a {{#when flag}}b;{{/when}}\n", "ends elsewhere"),
        ("a {{#when flag}}b; c {{/when}};", "ends elsewhere"),
        ("a{{#when flag}}b{{/when}} c;", "within a word"),
        ("{{#when flag}}a{{/when}} c;", "ends elsewhere"),
        ("{{#when flag}}}{{/when}}", "does not begin here"),
        ("a { {{#when flag}}} b { {{/when}}}", "does not begin here"),
        ("a {\n}\n}\n", "does not begin here"),
        ("a }\n", "needs a ;"),
        (";\n", "no statement"),
    ];
    for (text, words) in refused {
        let (_, why) = uses(&complete(text)).expect_err(text);
        assert!(why.contains(words), "{text}: {why}");
    }
    let accepted = [
        "a {{quoted}};",
        "a {{quoted}} {{words}}{}",
        "a\n{{quoted}}\n;",
        "a {{word}}{{number}} x{{word}}:y \"b {{word}}\" 'c, {{number}}';",
        "a {{word}}{{#each list}} b={{inner}}{{/each}} c;",
        "a {{#when flag}}\"b\" {{else}}c {{/when}}{{quoted}};",
        "a { {{#when flag}}b { c; } {{/when}} }",
        "# nothing {\n{{! word }}a \"# {{word}}\" b#c;\n",
        "a ${x} \"$x {{word}}\" \"\\\"{{word}}\";",
    ];
    for text in accepted {
        assert_eq!(uses(&complete(&format!("{text}\n"))).err(), None, "{text}");
    }
}

#[test]
fn a_text_that_takes_the_place_of_another_keeps_its_values_where_they_were() {
    let embedded = uses(
        "{{word}} {{quoted}};\nreturn {{number}} {{words}};\nmap $a $ingressd_b {\n    {{quoted}} 1;\n}\n\
        rest {{#when flag}}{{/when}}{{#each list}}{{inner}}{{#each plain}}{{this}}{{/each}} {{/each}};\n",
    )
    .expect("it keeps the rules");
    let rest = "return {{number}} {{words}};\nrest {{word}} {{#when flag}}{{/when}}{{#each list}}{{inner}}{{#each plain}}{{this}}{{/each}} {{/each}};\n";
    let quoted = "map $ingressd_b $c {\n{{quoted}} 2;\n}\n";
    let judge = |text: &str| embedded.allow(&uses(text).expect(text));
    for more in
        ["", "{{word}} {{quoted}};\n", "add_header X {{word}};\n", "map $ingressd_b {{word}} {\n    1 {{number}};\n}\n"]
    {
        assert_eq!(judge(&format!("{more}{quoted}{rest}")), Ok(()), "{more}");
    }
    for (more, words) in [
        ("include {{quoted}};\n", "quoted cannot stand there as an argument of include"),
        ("{{quoted}} x;\n", "quoted cannot stand as a first word"),
        ("{{number}} x;\n", "number cannot stand as a first word"),
        ("map $c $d {\n{{word}} 1;\n}\n", "word cannot stand as a first word"),
        ("x{{word}} y;\n", ""),
        ("return {{words}} {{number}};\n", "words cannot stand there as an argument of return"),
        ("return {{#when flag}}a {{/when}}{{words}};\n", "words cannot stand there as an argument of return"),
        ("{{word}} x {{quoted}};\n", "quoted cannot stand there as an argument of {{word}}"),
        ("server {\n", "not closed"),
    ] {
        match judge(&format!("{more}{quoted}{rest}")) {
            Ok(()) => assert!(words.is_empty(), "{more}"),
            Err(why) => assert!(!words.is_empty() && why.contains(words), "{more}: {why}"),
        }
    }
}

#[test]
fn what_is_not_used_is_reported_and_so_are_lines() {
    let (line, why) = uses("a;\n").expect_err("it uses nothing");
    assert!(line.is_none() && why.contains("does not use"), "{why}");
    let (_, why) = uses(&complete("").replace("{{#each plain}}{{this}}{{/each}}", "")).expect_err("a list is not read");
    assert!(why.contains("list.plain"), "{why}");
    for text in ["a;\nb {{missing}};\n", "a;\n{{#when flag}}\n{{/when}}{{#each list}}{{missing}}{{/each}}\n"] {
        let (line, why) = uses(text).expect_err(text);
        assert_eq!(line, Some(text.lines().position(|line| line.contains("missing")).unwrap() + 1), "{why}");
    }
    for (text, expected) in [("a;\nb;\n;\n", 3), ("{{#when flag}}\na;\n;\n{{/when}}\n", 3), ("a {\n}\n\n}", 4)] {
        assert_eq!(uses(text).expect_err(text).0, Some(expected), "{text}");
    }
    for text in ["a;", "a\n", "a \"\n", "# a", "a; {{#when flag}}\n{{/when}}\n"] {
        assert!(uses(&format!("rest {REST};\n{text}")).is_err(), "{text}");
    }
}

#[test]
fn a_partial_holds_no_values_and_no_partials() {
    let partial = |text: &str| compile(text, None, &["known"]).map(|_| ());
    assert_eq!(partial("a;\nb \"c\";\n"), Ok(()));
    for text in ["a {{word}};\n", "{{> known}}\n", "{{#when flag}}{{/when}}\n", "a"] {
        assert!(partial(text).is_err(), "{text}");
    }
}

#[test]
fn lines_that_have_owners_are_where_they_are_counted() {
    let check = |text: &str| second_lines("list", &Template::compile(text).unwrap()).is_ok();
    let each = "{{#each list}}\n    {{name}} {{arguments}};\n{{/each}}\n";
    assert!(check(&format!("location {{{{path}}}} {{\n{each}    a;\n}}\n")));
    for text in [
        format!("location {{\n    a;\n{each}}}\n"),
        format!("location {{ {{{{#when a}}}}\n{{{{/when}}}}\n{each}}}\n"),
        "location {\n{{#each list}}\n{{name}}\n{{arguments}};\n{{/each}}\n}\n".to_owned(),
        "location {\n{{#each list}}{{name}} {{arguments}}; {{/each}}\n}\n".to_owned(),
        "location {\n{{#when a}}\n{{#each list}}\n    {{name}};\n{{/each}}\n{{/when}}\n}\n".to_owned(),
        "location {\n}\n".to_owned(),
    ] {
        assert!(!check(&text), "{text}");
    }
}

/// The number of words of each directive, and the shape of its block.
fn shape(directives: &[Directive]) -> String {
    let one = |directive: &Directive| match &directive.block {
        Some(block) => format!("{}{{{}}}", directive.arguments.len(), shape(block)),
        None => format!("{};", directive.arguments.len()),
    };
    directives.iter().map(one).collect()
}

/// Every text of four of these pieces that passes the checks means the same to nginx, whatever the
/// values are.
#[test]
fn no_value_can_change_what_the_text_around_it_means() {
    let pieces = [
        "a ",
        "{{quoted}}",
        "{{word}}",
        "{{words}}",
        " ",
        ";\n",
        "{\n",
        "}\n",
        "\"",
        "'",
        "#",
        "\\",
        "$",
        "{{#when flag}}",
        "{{else}}",
        "{{/when}}",
    ];
    fn read(token: impl View) -> Value {
        token.value(&mut str::to_owned)
    }
    let fill = |engine: &Engine, quoted: &str, words: [&str; 2], flag: bool| {
        let word = |text: &str| text.strip_prefix('$').map_or_else(|| Word::new(text), Word::variable).unwrap();
        let view = json!({ "quoted": read(Literal::new(quoted).unwrap()), "word": read(word(words[0])), "flag": flag,
            "words": read(Words::join([word(words[0]), word(words[1])])) });
        let text: String = engine.fill("main", &view).unwrap().pieces().collect();
        let tree = syntax::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        shape(&tree)
    };
    let (mut kept, mut numbers) = (0, [0; 4]);
    loop {
        let text: String = numbers.iter().map(|number| pieces[*number]).collect();
        // Only texts with a value matter; the appended text satisfies the other rules.
        let text = format!("{text}\nx {{{{quoted}}}} {{{{word}}}} {{{{words}}}} {{{{#when flag}}}}{{{{/when}}}};\n");
        let example = json!({ "quoted": "\"q\"", "word": "w", "words": "w w", "flag": true });
        if text.matches("{{").count() > 5
            && compile(&text, Some(&example), &[]).is_ok_and(|(_, uses)| uses.open.is_empty())
        {
            kept += 1;
            let (example, name) = (Some(example), "main");
            let source = Source { name, text, instead: None, example, second_lines: None };
            let engine = Engine::load(vec![source], &Instance::default()).unwrap();
            for flag in [true, false] {
                let plain = fill(&engine, "q", ["w", "w"], flag);
                for hostile in ["\"; evil \"", "}\\", "#", "' {", "$a;", "\\\"} x {"] {
                    for words in [["$word", "1"], ["/a:b.c-d_", "$word"]] {
                        assert_eq!(fill(&engine, hostile, words, flag), plain, "{numbers:?} with {hostile}");
                    }
                }
            }
        }
        let Some(place) = numbers.iter().rposition(|number| number + 1 < pieces.len()) else { break };
        numbers[place] += 1;
        numbers[place + 1..].fill(0);
    }
    assert!(kept > 300, "{kept}");
}
