//! What a browser asks of the page: search, page of the hosts, and a request to explain.

use url::form_urlencoded::{Serializer, parse};

/// The longest search, in characters.
pub const LONGEST: usize = 200;

/// How many of its words count.
const MOST_WORDS: usize = 8;

/// The parameters of a URL of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    search: String,
    /// The words of the search, in small letters.
    words: Vec<String>,
    page: usize,
    explain: String,
}

impl Asked {
    /// Reads a query. What is no parameter of the page, or no number, is as if it were not there.
    pub fn read(query: &str) -> Self {
        let mut asked = Asked { page: 1, ..Asked::default() };
        for (name, value) in parse(query.as_bytes()) {
            match &*name {
                "search" => asked.search = value.chars().take(LONGEST).collect(),
                "page" => asked.page = value.parse().unwrap_or(1).max(1),
                "explain" => value.trim().clone_into(&mut asked.explain),
                _ => {}
            }
        }
        asked.words = asked.search.split_whitespace().map(str::to_lowercase).collect();
        asked.words.sort();
        asked.words.dedup();
        asked.words.truncate(MOST_WORDS);
        asked
    }

    /// The search as it was written.
    pub fn search(&self) -> &str {
        &self.search
    }

    /// The address to explain; empty for none.
    pub fn explain(&self) -> &str {
        &self.explain
    }

    /// Whether a row is shown that consists of these texts: it has each word of the search.
    pub fn wants(&self, texts: &[&str]) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let texts: Vec<_> = texts.iter().map(|text| text.to_lowercase()).collect();
        self.words.iter().all(|word| texts.iter().any(|text| text.contains(word.as_str())))
    }

    /// Whether nothing is searched for.
    pub fn wants_all(&self) -> bool {
        self.words.is_empty()
    }

    /// The page of so many that is shown, counted from 1.
    pub fn page(&self, pages: usize) -> usize {
        self.page.min(pages.max(1))
    }

    /// The URL of another page of the hosts.
    pub fn to_page(&self, page: usize) -> String {
        let mut query = Serializer::for_suffix(String::from("/?"), 2);
        if !self.search.is_empty() {
            query.append_pair("search", &self.search);
        }
        query.append_pair("page", &page.to_string());
        query.finish() + "#hosts"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_parameter_does_no_harm() {
        let asked = Asked::read("search=Shop%20%2Fcart&page=x&other=1&explain=+a.example%2F+");
        assert_eq!((asked.search(), asked.explain(), asked.page(9)), ("Shop /cart", "a.example/", 1));
        assert!(asked.wants(&["shop.example", "/CART"]) && !asked.wants(&["shop.example", "/"]));
        assert!(Asked::read("").wants(&[]) && Asked::read("").wants_all());
        let asked = Asked::read("page=18446744073709551616&search=%00%ff");
        assert_eq!(asked.page(3), 1, "no number");
        assert_eq!(Asked::read("page=7").page(3), 3, "the last one");
        assert_eq!(Asked::read(&format!("search={}", "x".repeat(999))).search().len(), LONGEST);
        assert_eq!(Asked::read(&format!("search={}", "e+".repeat(99))).words, ["e"], "each word is looked for once");
    }

    #[test]
    fn a_search_stays_on_other_pages() {
        let asked = Asked::read("search=a%26b%3D%22");
        let url = asked.to_page(2);
        assert_eq!(url, "/?search=a%26b%3D%22&page=2#hosts");
        assert_eq!(Asked::read(url.trim_start_matches("/?").trim_end_matches("#hosts")).search(), asked.search());
    }
}
