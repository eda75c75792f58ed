// Keeps the status page up to date: when the daemon says that something changed, the page is got
// again, and the sections that differ are replaced. Without this script the page is the same, as
// it was when it was loaded.
"use strict";

const search = document.getElementById("search");
const lost = document.getElementById("lost");
let wanted = 0;

// Replaces what differs. A later request makes an earlier one pointless.
async function refresh() {
  const number = ++wanted;
  let text;
  try {
    const reply = await fetch(location.pathname + location.search, { cache: "no-store" });
    if (!reply.ok) return;
    text = await reply.text();
  } catch {
    return;
  }
  if (number !== wanted) return;
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const section of document.querySelectorAll("main > section")) {
    const other = page.getElementById(section.id);
    if (!other || other.innerHTML === section.innerHTML) continue;
    // What the reader has opened, and where the keyboard is, stays so.
    const open = [...section.querySelectorAll("details")].map((details) => details.open);
    [...other.querySelectorAll("details")].forEach((details, place) => {
      details.open = open[place] ?? details.open;
    });
    const links = (within) => [...within.querySelectorAll("a, summary")];
    const place = links(section).indexOf(document.activeElement);
    section.replaceChildren(...other.childNodes);
    if (place >= 0) links(section)[place]?.focus({ preventScroll: true });
  }
  document.documentElement.dataset.refreshed = String(number);
}

// The browser connects again by itself. There is one stream at a time.
let events;
let again;
function follow() {
  events?.close();
  events = new EventSource("/events");
  events.addEventListener("open", () => { lost.hidden = true; refresh(); });
  events.addEventListener("changed", refresh);
  events.addEventListener("error", () => {
    // A connection that ends in order is opened again at once; one that is refused is not.
    again ??= setTimeout(() => {
      again = undefined;
      lost.hidden = events.readyState === EventSource.OPEN;
      if (events.readyState === EventSource.CLOSED) follow();
    }, 3000);
  });
}

// Searches while one types.
let typing;
search?.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const url = new URL(location.href);
    url.searchParams.delete("page");
    if (search.value) url.searchParams.set("search", search.value); else url.searchParams.delete("search");
    history.replaceState(null, "", url);
    refresh();
  }, 150);
});

document.addEventListener("keydown", (event) => {
  const writes = event.target instanceof HTMLInputElement;
  if (event.key === "/" && search && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});

if (search) follow();
