//! Keys of the ConfigMap that are defaults of annotations.

use super::*;

#[test]
fn a_default_above_a_ceiling_is_the_ceiling_that_the_settings_say() {
    let above = layered(&[("proxy-read-timeout", "100000")]);
    assert_eq!(above.findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), [Reason::AboveCeiling]);
    assert_eq!(above.settings.translate.defaults.len(), 1);
    let mut settings = settings();
    settings.translate.limits.timeout = std::time::Duration::from_secs(200_000);
    assert_eq!(settings.layered(&snapshot(&[("proxy-read-timeout", "100000")])).findings, []);
}

#[test]
fn a_default_counts_unless_it_is_left_out() {
    for (key, value, reasons, counts) in [
        ("load-balance", "least_conn", &[][..], 1),
        ("load-balance", "ewma", &[Reason::NearestUsed], 1),
        ("load-balance", "chash", &[Reason::InvalidValue], 0),
        ("load-balance", "best", &[Reason::RefusedValue], 0),
        ("whitelist-source-range", "everybody", &[Reason::InvalidSecurityValue], 1),
    ] {
        let layered = layered(&[(key, value)]);
        let found: Vec<_> = layered.findings.iter().map(|finding| finding.reason).collect();
        assert_eq!((&*found, layered.settings.translate.defaults.len()), (reasons, counts), "{key}: {value}");
    }
}

#[test]
fn a_list_for_everybody_makes_no_path_a_protected_one() {
    let layered = layered(&[("whitelist-source-range", "10.0.0.0/8")]);
    let behaviour = common(&Snapshot::default(), &layered.settings.translate).policy.behaviour;
    let lists = behaviour.access.as_deref().unwrap();
    assert_eq!((lists.deny(), lists.allow()), (&[][..], &*address_list("10.0.0.0/8").unwrap()));
}

#[test]
fn an_empty_entry_of_a_list_is_left_out_and_the_others_count() {
    for (value, counts) in [
        ("10.0.0.0/8,,192.0.2.0/24", true),
        ("10.0.0.0/8, 192.0.2.0/24,", true),
        (" , ", false),
        ("10.0.0.0/8,x", false),
    ] {
        let layered = layered(&[("whitelist-source-range", value)]);
        let behaviour = common(&Snapshot::default(), &layered.settings.translate).policy.behaviour;
        let allowed = behaviour.access.as_deref().map(|lists| lists.allow().to_vec()).unwrap_or_default();
        let expected = if counts { address_list("10.0.0.0/8,192.0.2.0/24").unwrap() } else { Vec::new() };
        assert_eq!(allowed, expected, "{value}");
        let [reported] = &reported(&layered)[..] else { panic!("{value}: {:?}", reported(&layered)) };
        assert_eq!(reported.contains("has an empty entry, which is left out"), counts, "{reported}");
        assert_eq!(layered.refused.is_none(), counts, "what protects is not dropped silently: {reported}");
    }
}
