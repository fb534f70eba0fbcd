//! Renders a page of the book from Markdown.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::contents::PARTS;

/// Nothing is executed, and nothing is loaded from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'";

/// The target of a link that is not a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    File,
    /// Not in the book: a folder, or nothing.
    Missing,
}

/// A page.
#[derive(Debug)]
pub struct Page {
    pub source: &'static str,
    title: String,
    events: Vec<Event<'static>>,
}

/// Returns the address of a page in the book.
pub fn address(source: &str) -> String {
    match source {
        "README.md" => "index.html".to_owned(),
        _ => format!("{}.html", source.strip_suffix(".md").unwrap_or(source)),
    }
}

/// Returns the relative path from a page to the book's root: `../` for each folder.
fn upwards(source: &str) -> String {
    "../".repeat(source.matches('/').count())
}

/// Resolves a page's link relative to the book's root; returns `None` if it leads outside the book.
fn resolved(source: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = source.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the anchor of a heading: in lower case, with hyphens for spaces, without other punctuation.
fn slug(text: &str) -> String {
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ if letter.is_alphanumeric() => Some(letter),
        _ => None,
    };
    text.to_lowercase().chars().filter_map(letter).collect()
}

impl Page {
    /// Reads a Markdown file.
    pub fn read(source: &'static str, text: &str) -> Self {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
        let events: Vec<_> = Parser::new_ext(text, options).map(Event::into_static).collect();
        let title = headings(&events)
            .find(|(level, _)| *level == HeadingLevel::H1)
            .map_or_else(|| source.to_owned(), |(_, text)| text);
        Self { source, title, events }
    }

    /// Renders the page as HTML. `look` determines what a path is that is not a page's source.
    pub fn html(&self, pages: &[Page], at: usize, mut look: impl FnMut(&str) -> Target) -> String {
        let mut names = headings(&self.events).map(|(_, text)| slug(&text)).collect::<Vec<_>>();
        let mut times: BTreeMap<String, u32> = BTreeMap::new();
        for name in &mut names {
            let time = times.entry(name.clone()).or_default();
            *time += 1;
            if *time > 1 {
                *name = format!("{name}-{}", *time - 1);
            }
        }
        let mut names = names.into_iter();
        let mut dropped = false;
        let events = self.events.iter().cloned().filter_map(|event| match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = names.next().map(CowStr::from);
                Some(Event::Start(Tag::Heading { level, id, classes, attrs }))
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let Some(dest_url) = self.link(&dest_url, pages, &mut look) else {
                    dropped = true;
                    return None;
                };
                Some(Event::Start(Tag::Link { link_type, dest_url: dest_url.into(), title, id }))
            }
            Event::End(TagEnd::Link) if std::mem::take(&mut dropped) => None,
            Event::Start(Tag::Image { ref dest_url, .. }) => {
                if let Some(path) = resolved(self.source, dest_url) {
                    look(&path);
                }
                Some(event)
            }
            other => Some(other),
        });
        let mut body = String::new();
        pulldown_cmark::html::push_html(&mut body, events);
        // A table that is too wide scrolls by itself.
        let body = body
            .replace("<table>", "<div class=\"scroll\" tabindex=\"0\"><table>")
            .replace("</table>", "</table></div>");
        // The pages' policy does not allow inline styles.
        let body = ["left", "right", "center"].into_iter().fold(body, |body, side| {
            body.replace(&format!(" style=\"text-align: {side}\""), &format!(" class=\"{side}\""))
        });
        self.whole(pages, at, &PreEscaped(body)).into_string()
    }

    /// Returns a link's address in the book; `None` if its target does not exist.
    fn link(
        &self,
        link: &str,
        pages: &[Page],
        look: &mut impl FnMut(&str) -> Target,
    ) -> Option<String> {
        if link.contains("://") || link.starts_with('#') {
            return Some(link.to_owned());
        }
        let (file, place) =
            link.split_once('#').map_or((link, None), |(file, at)| (file, Some(at)));
        let target = resolved(self.source, file)?;
        if let Some(page) = pages.iter().find(|page| page.source == target) {
            let place = place.map(|place| format!("#{place}")).unwrap_or_default();
            return Some(format!("{}{}{place}", upwards(self.source), address(page.source)));
        }
        (look(&target) == Target::File).then(|| format!("{}{target}", upwards(self.source)))
    }

    fn whole(&self, pages: &[Page], at: usize, body: &Markup) -> Markup {
        let up = upwards(self.source);
        let to = |page: &Page| format!("{up}{}", address(page.source));
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    title { (self.title) ": rtmark" }
                    link rel="stylesheet" href=(format!("{up}book.css"));
                    link rel="icon" href="data:,";
                }
                body {
                    a.skip href="#contents" { "Contents" }
                    main #text {
                        (body)
                        p.turn {
                            @if let Some(page) = at.checked_sub(1).and_then(|at| pages.get(at)) {
                                a rel="prev" href=(to(page)) { "← " (page.title) }
                            }
                            " "
                            @if let Some(page) = pages.get(at + 1) {
                                a rel="next" href=(to(page)) { (page.title) " →" }
                            }
                        }
                    }
                    nav #contents aria-label="Contents" {
                        p { a href=(format!("{up}../index.html")) { "Try a chip" } }
                        @for part in &PARTS {
                            h2 { (part.title) }
                            ul {
                                @for page in pages.iter().filter(|page| part.sources.contains(&page.source)) {
                                    li {
                                        @if page.source == self.source {
                                            a href=(to(page)) aria-current="page" { (page.title) }
                                        } @else {
                                            a href=(to(page)) { (page.title) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the headings with their texts.
fn headings<'a>(events: &'a [Event<'_>]) -> impl Iterator<Item = (HeadingLevel, String)> + 'a {
    let begins = events.iter().enumerate().filter_map(|(at, event)| match event {
        Event::Start(Tag::Heading { level, .. }) => Some((at, *level)),
        _ => None,
    });
    begins.map(|(at, level)| {
        let inside = events[at..].iter();
        let inside = inside.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let texts = inside.filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        });
        (level, texts.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(source: &'static str, text: &str) -> String {
        let other = Page::read("README.md", "# All of it");
        let page = Page::read(source, text);
        page.html(&[other, Page::read(source, text)], 1, |path| match path {
            "socs/a.toml" => Target::File,
            _ => Target::Missing,
        })
    }

    #[test]
    fn links_become_pages_files_or_text() {
        let html = page(
            "docs/a.md",
            "# A\n[one](../README.md#x) [two](../socs/a.toml) [three](../socs) [four](https://a.b)",
        );
        assert!(html.contains("<a href=\"../index.html#x\">one</a>"), "{html}");
        assert!(html.contains("<a href=\"../socs/a.toml\">two</a>"), "{html}");
        assert!(html.contains("> three <"), "{html}");
        assert!(html.contains("<a href=\"https://a.b\">four</a>"), "{html}");
    }

    #[test]
    fn headings_have_unique_anchors() {
        let html = page("docs/a.md", "# A `b`\n## What is it?\n## What is it?\n");
        assert!(html.contains("<h1 id=\"a-b\">"), "{html}");
        assert!(
            html.contains("id=\"what-is-it\"") && html.contains("id=\"what-is-it-1\""),
            "{html}"
        );
    }

    #[test]
    fn columns_are_aligned_by_attributes() {
        let html = page("docs/a.md", "# A\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n");
        assert!(html.contains("<td class=\"right\">2</td>") && !html.contains(" style="), "{html}");
    }

    #[test]
    fn titles_contain_no_markup() {
        let html = page("docs/a.md", "# `<img src=x>`\n");
        assert!(!html.contains("<img"), "{html}");
    }
}
