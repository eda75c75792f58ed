//! Small charts, as SVG that needs no script and has no words of others in it.

use std::fmt::Write as _;

use maud::{Markup, html};

/// The height of the highest bar.
const HEIGHT: u64 = 24;

/// One bar for each value, with a part of it marked; the words say what one sees.
pub fn bars(words: &str, values: &[[u64; 2]]) -> Markup {
    let most = values.iter().map(|[all, _]| *all).max().unwrap_or_default().max(1);
    let of = |part: usize| {
        values.iter().enumerate().fold(String::new(), |mut path, (place, value)| {
            // What there is can be seen, however little it is.
            let height = (value[part].min(most) * HEIGHT).div_ceil(most);
            if height > 0 {
                let _ = write!(path, "M{} {HEIGHT}v-{height}h2v{height}z", 3 * place);
            }
            path
        })
    };
    html! {
        svg.chart role="img" aria-label=(words) viewBox={ "0 0 " (3 * values.len()) " " (HEIGHT) } preserveAspectRatio="none" {
            title { (words) }
            path d=(of(0)) {}
            path.marked d=(of(1)) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_a_bar_as_high_as_it_is_great() {
        let chart = bars("a < b", &[[0, 0], [1000, 0], [500, 250], [1, 1]]).into_string();
        for part in [
            r#"viewBox="0 0 12 24""#,
            r#"aria-label="a &lt; b""#,
            "<title>a &lt; b</title>",
            r#"<path d="M3 24v-24h2v24zM6 24v-12h2v12zM9 24v-1h2v1z"></path>"#,
            r#"<path class="marked" d="M6 24v-6h2v6zM9 24v-1h2v1z"></path>"#,
        ] {
            assert!(chart.contains(part), "{part}: {chart}");
        }
        assert!(!bars("none", &[]).into_string().contains("M0"));
    }
}
