//! Strings that have broken generated configurations.

/// The strings that are tried alone, in front of a harmless value, and behind it.
pub fn corpus() -> Vec<String> {
    let fixed = [
        "\r",
        "\n",
        "\r\n",
        "\0",
        "\t",
        "\u{b}",
        "\u{1b}[2K",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{202e}",
        "\u{feff}",
        " ",
        ";",
        "{",
        "}",
        "#",
        "'",
        "\"",
        "\\",
        "\\\\",
        "\\\"",
        "\\n",
        "*/",
        "`id`",
        "|",
        "$var",
        "${var",
        "${var}",
        "$http_cookie",
        "$ingressd_dollar",
        "$1",
        "${ingressd_dollar}",
        "$",
        "../",
        "../../etc/passwd",
        "/../x",
        "//evil.test",
        "-x",
        "--",
        "~",
        "~*",
        "=",
        "@",
        "^~",
        "%0a",
        "%00",
        "%2e%2e/",
        "(",
        ")",
        "[",
        "*",
        "(?<http_cookie>x)",
        "(?P<n>x)",
        "(?#",
        "\\Q",
        "(a+)+$",
        "(((((.*)*)*)*)*)*",
        "a)|(?:.*",
        "http://",
        "https://169.254.169.254/",
        "unix:/run/docker.sock",
        "file:///etc/shadow",
        "127.0.0.1:10246",
        "[::1]",
        "x; return 200 pwned;",
        "x;}}server{listen 81;}#",
        "\n}\nlocation /x { return 200 pwned; }\n#",
        "\" ; } location = /x { root /etc; } #",
        "' ; alias /etc/; #",
        "x\r\nSet-Cookie: a=b",
        "\\\"; return 200 \"x",
        "x\nadmin:{PLAIN}x\n",
        "-----BEGIN CERTIFICATE-----\n",
        "{{{x}}}",
        "{{x}}",
        "%s%n",
        "é",
        "𝕏",
        "\u{fffd}",
    ];
    let long = ["a", "\\", "(", "a,"].map(|part| part.repeat((64 << 10) / part.len()));
    // These values are just shorter or longer than the longest word that nginx takes.
    let near = [4000, 4090, 4095, 4096].map(|length| "a".repeat(length));
    fixed.into_iter().map(str::to_owned).chain(long).chain(near).collect()
}

/// Each string of the corpus alone and behind a harmless value, and short ones in front of it as
/// well.
pub fn around(harmless: &str) -> Vec<String> {
    let corpus = corpus();
    let alone = corpus.iter().cloned();
    let behind = corpus.iter().map(|hostile| format!("{harmless}{hostile}"));
    let in_front = corpus.iter().filter(|hostile| hostile.len() <= 3).map(|hostile| format!("{hostile}{harmless}"));
    let mut values: Vec<_> = alone.chain(behind).chain(in_front).collect();
    values.sort();
    values.dedup();
    values
}
