"use strict";
// The filter: every word must be in an operation's or a schema's name, path or summary.
const filter = document.getElementById("filter"), found = document.getElementById("found");
const items = [...document.querySelectorAll("[data-search]")], groups = [...document.querySelectorAll("nav section, .tag")];
const apply = () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of items) item.hidden = !words.every((word) => item.dataset.search.includes(word));
  for (const group of groups) group.hidden = !group.querySelector("[data-search]:not([hidden])");
  document.querySelector(".intro").hidden = words.length > 0;
  const shown = items.filter((item) => item.tagName === "ARTICLE" && !item.hidden).length;
  found.textContent = words.length === 0 ? "" : shown === 0 ? "Nothing matches." : shown + " found";
};
filter.addEventListener("input", apply);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== filter) { event.preventDefault(); filter.focus(); }
  if (event.key === "Escape" && document.activeElement === filter) { filter.value = ""; apply(); filter.blur(); }
});
// A link to what the filter hides shows it.
addEventListener("hashchange", () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.closest("[hidden]")) { filter.value = ""; apply(); target.scrollIntoView(); }
});
apply();
