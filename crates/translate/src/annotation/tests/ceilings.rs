//! Ceilings of the administrator replace larger values.

use super::*;

#[test]
fn a_ceiling_takes_the_place_of_what_asks_for_more() {
    // Whatever a row accepts, no value above a ceiling of one byte, second or piece is applied.
    let least = Limits {
        body_size: ByteSize(1),
        body_buffer: ByteSize(1),
        answer_buffers: ByteSize(16384),
        answer_file: ByteSize(1),
        timeout: std::time::Duration::from_secs(1),
        tries: 1,
        ..Limits::default()
    };
    let none = Limits {
        body_size: ByteSize(0),
        body_buffer: ByteSize(0),
        answer_buffers: ByteSize(0),
        answer_file: ByteSize(0),
        timeout: std::time::Duration::ZERO,
        tries: 0,
        ..Limits::default()
    };
    let read = |key: &str, value: &str, limits: &Limits| {
        let annotations = StringMap::from([(format!("{PREFIX}{key}"), value)]);
        let options = Options { limits: limits.clone(), ..Options::default() };
        let reading = read_all(&annotations, &SPECIFICATION, &options);
        let reasons: Vec<_> = reading.findings.iter().map(|finding| finding.reason).collect();
        (outline(&reading), reasons)
    };
    let has_ceiling = |row: &&Row| matches!(row.ceiling, Ceiling::Setting { .. });
    assert_eq!(ANNOTATIONS.rows().filter(has_ceiling).count(), 11);
    for row in ANNOTATIONS.rows().filter(has_ceiling) {
        let Ceiling::Setting { key, unit, zero_is_unlimited, of } = row.ceiling else { continue };
        assert!(key.starts_with("limits."), "{}", row.key);
        let ceiling = of(&least);
        let (at, above) = (unit.written(ceiling), unit.written(ceiling + 1));
        assert_eq!(read(row.key, &above, &least).0, read(row.key, &at, &least).0, "{}", row.key);
        assert_eq!(read(row.key, &above, &least).1, [Reason::AboveCeiling], "{}", row.key);
        assert_eq!(read(row.key, &above, &none).1, [], "{}", row.key);
        if zero_is_unlimited {
            assert_eq!(read(row.key, "0", &least), read(row.key, &above, &least), "{}", row.key);
            assert_eq!(read(row.key, "0", &none).1, [], "{}", row.key);
        }
    }
}

#[test]
fn all_buffers_of_an_answer_stay_below_their_ceiling() {
    let total = Limits::default().answer_buffers.0;
    for (count, size) in
        [(None, "1g"), (Some("4096"), "1g"), (Some("100"), "64k"), (Some("4"), "512k"), (Some("8"), "128k")]
    {
        let mut annotations = vec![("proxy-buffer-size", size), ("proxy-busy-buffers-size", size)];
        annotations.extend(count.map(|count| ("proxy-buffers-number", count)));
        let reading = given(&annotations);
        let arguments = |name: &str| {
            let found = reading.behaviour.directives.iter().find(|directive| directive.row.name == name).unwrap();
            found
                .arguments
                .iter()
                .map(|argument| match argument {
                    Argument::Number(number) => *number,
                    Argument::Size(size) => size.0,
                    other => panic!("{other:?}"),
                })
                .collect::<Vec<_>>()
        };
        let (buffers, busy) = (arguments("proxy_buffers"), arguments("proxy_busy_buffers_size")[0]);
        assert!(buffers[0] * buffers[1] <= total, "{buffers:?}");
        // The conditions of nginx on these sizes.
        assert!(busy >= buffers[1] && busy <= (buffers[0] - 1) * buffers[1], "{buffers:?} {busy}");
        let is_cut = reading.findings.iter().any(|finding| finding.reason == Reason::AboveCeiling);
        assert_eq!(is_cut, matches!((count, size), (_, "1g") | (Some("100"), _)), "{count:?} {size}");
    }
}
