// The gallery: all bugs, filtered, as rows that are made when they are scrolled to.
const PAGE = 60;
const SOLVED = { "": "any", untried: "not attempted", never: "never solved", sometimes: "sometimes solved", always: "always solved" };
const SORTS = { "": "as made", hard: "hardest first", easy: "easiest first", failing: "most failing tests", lines: "most lines" };
function filters() {
  const found = new URLSearchParams(location.hash.split("?")[1] || "");
  return Object.fromEntries(["q", "strategy", "order", "solved", "sort"].map((name) => [name, found.get(name) || ""]));
}
function rateOf(row) {
  return row.rate && row.rate[1] ? row.rate[0] / row.rate[1] : 2;
}
function chosen() {
  const want = filters(), words = want.q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = run.bugs.filter((row) => {
    if (want.strategy && row.strategy !== want.strategy) return false;
    if (want.order && String(row.order) !== want.order) return false;
    if (want.solved && outcome(row) !== want.solved) return false;
    if (!words.length) return true;
    const text = `${row.id} ${row.files.join(" ")} ${row.source} ${row.policy}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const by = { hard: (a, b) => rateOf(a) - rateOf(b), easy: (a, b) => (rateOf(b) % 2) - (rateOf(a) % 2), failing: (a, b) => b.f2p - a.f2p, lines: (a, b) => (b.lines || 0) - (a.lines || 0) }[want.sort];
  return by ? found.sort(by) : found;
}
function solves(row) {
  if (!row.rate || !row.rate[1]) return h("span", { class: "quiet" }, "not attempted");
  const [resolved, tried] = row.rate, many = Math.min(tried, 16);
  const dots = Array.from({ length: many }, (_, at) => h("span", { class: at < Math.round((resolved / tried) * many) ? "dot full" : "dot" }));
  return h("span", { class: "solves" }, h("span", { class: "dots", "aria-hidden": "true" }, dots), h("span", {}, `${resolved} of ${tried}`));
}
function bugRow(row) {
  const where = row.files.length ? row.files : [row.id];
  return h("tr", {},
    h("th", { scope: "row" }, h("a", { class: "row-link", href: `#/bug/${encodeURIComponent(row.id)}` }, h("span", { class: "where" }, where[0], where.length > 1 && ` and ${where.length - 1} more`), h("span", { class: "bug-id" }, row.id))),
    h("td", {}, badge(row.strategy, "plain"), row.order === 2 && badge("2nd order", "second")),
    h("td", { class: "right" }, row.lines === undefined ? "–" : number(row.lines)),
    h("td", { class: "right" }, number(row.f2p)), h("td", { class: "right wide" }, number(row.p2p)),
    h("td", {}, solves(row)));
}
function choice(name, label, options, value, change) {
  const id = `filter-${name}`;
  return h("div", { class: "field" }, h("label", { for: id }, label), h("select", { id, name, onchange: change }, Object.entries(options).map(([key, text]) => h("option", { value: key, selected: key === value }, text))));
}
function gallery() {
  const want = filters(), body = h("tbody"), count = h("p", { class: "count", id: "count", role: "status" }), caption = h("caption", { class: "hidden" });
  const more = h("button", { type: "button", class: "more" }), none = h("p", { class: "empty" }, "No bug fits. ", h("a", { href: "#/bugs" }, "Clear the filters"));
  let waiting = [];
  const show = () => {
    body.append(...waiting.splice(0, PAGE).map(bugRow));
    more.textContent = `Show more (${number(waiting.length)} left)`;
    more.hidden = !waiting.length;
  };
  const fill = () => {
    const found = chosen();
    waiting = [...found];
    body.replaceChildren();
    count.textContent = found.length === run.bugs.length ? plural(found.length, "bug") : `${number(found.length)} of ${plural(run.bugs.length, "bug")}`;
    caption.textContent = `Bugs: ${count.textContent}`;
    none.hidden = found.length > 0;
    show();
  };
  const change = () => {
    const values = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `#/bugs${values.size ? `?${values}` : ""}`);
    fill();
  };
  const strategies = Object.fromEntries([["", "any"], ...[...new Set(run.bugs.map((row) => row.strategy))].sort().map((name) => [name, name])]);
  const form = h("form", { class: "filters", role: "search", "aria-label": "Filter bugs", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "field grow" }, h("label", { for: "filter-q" }, "Search"), h("input", { id: "filter-q", name: "q", type: "search", value: want.q, placeholder: "name, file or source", autocomplete: "off", oninput: change })),
    choice("strategy", "Strategy", strategies, want.strategy, change), choice("order", "Order", { "": "any", 1: "first", 2: "second" }, want.order, change),
    choice("solved", "Solved", SOLVED, want.solved, change), choice("sort", "Sort", SORTS, want.sort, change));
  const heads = [["bug", ""], ["made by", ""], ["lines", "right"], ["failing", "right"], ["passing", "right wide"], ["solved", ""]];
  more.addEventListener("click", () => {
    const next = body.children.length;
    show();
    body.children[next]?.querySelector("a").focus();
  });
  new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && waiting.length && show(), { rootMargin: "600px" }).observe(more);
  fill();
  return [h("h1", { tabindex: "-1" }, "Bugs"), form, count,
    h("table", { class: "gallery bugs" }, caption, h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))), body), none, more];
}
