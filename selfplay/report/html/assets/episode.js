// Episodes: a list of all, and one step by step.
function episodeList() {
  const body = h("tbody"), count = h("p", { class: "count", role: "status" }), more = h("button", { type: "button", class: "more" });
  let waiting = [];
  const row = (list) => {
    const one = asEpisode(list), there = LIVE || one.at;
    const name = `${one.role} ${one.number}`;
    return h("tr", {}, h("th", { scope: "row" }, there ? h("a", { class: "row-link", href: `#/episode/${encodeURIComponent(one.name)}` }, name) : [name, h("span", { class: "quiet" }, " not in this page")], one.bug && h("span", { class: "bug-id" }, one.bug)),
      h("td", { class: "wide" }, short(one.who)), h("td", {}, badge(spaced(one.result), ["valid", "resolved"].includes(one.result) ? "good" : "plain")), h("td", { class: "wide" }, spaced(one.reason)), h("td", { class: "right wide" }, number(one.calls)), h("td", { class: "right" }, seconds(one.seconds)));
  };
  const show = () => {
    body.append(...waiting.splice(0, PAGE).map(row));
    more.textContent = `Show more (${number(waiting.length)} left)`;
    more.hidden = !waiting.length;
  };
  const fill = () => {
    const role = form.elements.role.value, words = form.elements.q.value.toLowerCase();
    const found = run.episodes.filter((one) => (!role || one[1] === role) && (!words || one.slice(0, 7).join(" ").toLowerCase().includes(words)));
    waiting = [...found];
    count.textContent = plural(found.length, "episode");
    body.replaceChildren();
    show();
  };
  const form = h("form", { class: "filters", role: "search", "aria-label": "Filter episodes", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "field grow" }, h("label", { for: "filter-q" }, "Search"), h("input", { id: "filter-q", name: "q", type: "search", placeholder: "bug, result or reason", oninput: () => fill() })),
    choice("role", "Role", { "": "both", injector: "injector", solver: "solver" }, "", () => fill()));
  const heads = [["episode", ""], ["strategy or policy", "wide"], ["result", ""], ["reason", "wide"], ["calls", "right wide"], ["time", "right"]];
  new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && waiting.length && show(), { rootMargin: "600px" }).observe(more);
  more.addEventListener("click", show);
  fill();
  return [h("h1", { tabindex: "-1" }, "Episodes"), form, count, h("table", { class: "gallery" }, h("caption", { class: "hidden" }, "Episodes"), h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h("th", { scope: "col", class: kind }, name)))), body), more];
}
function box(text, kind) {
  // A long text scrolls in its box, which the keyboard then reaches.
  return h("pre", { class: kind, tabindex: text.split("\n").length > 20 || text.length > 2000 ? "0" : null }, text);
}
function stepView(step, at) {
  const said = step.said === undefined ? Object.entries(step.call).map(([name, value]) => [h("span", { class: "argument" }, name), box(value, "call")]) : box(step.said, "call");
  const out = step.out ? box(step.out, `output ${step.code ? "failed" : ""}`) : h("p", { class: "quiet" }, "No output.");
  const head = h("summary", {}, h("span", { class: "step-number" }, at + 1), h("strong", {}, step.tool), step.malformed && badge("malformed", "bad"), step.code ? badge(`exit code ${step.code}`, "bad") : null, h("span", { class: "peek" }, peek(step)), h("span", { class: "sizes quiet" }, seconds(step.seconds)));
  return h("li", {}, h("details", { class: "step", open: at < 3 }, head, step.thought && h("div", { class: "thought" }, h("h3", {}, "Thought"), h("pre", {}, step.thought)), h("h3", { class: "hidden" }, "Call"), said, h("h3", { class: "hidden" }, "Output"), out));
}
function peek(step) {
  const text = step.said === undefined ? Object.values(step.call).join(" ") : step.said;
  return text.replace(/\s+/g, " ").slice(0, 110);
}
async function episodePage(name) {
  const row = episodeNamed(name);
  if (!row) return [h("h1", { tabindex: "-1" }, "No such episode"), h("p", {}, h("a", { href: "#/episodes" }, "All episodes"))];
  const bug = bugs.get(row.bug), head = [h("nav", { class: "neighbours", "aria-label": "Episodes" }, h("a", { class: "button small", href: "#/episodes" }, "All episodes"), bug && h("a", { class: "button small", href: `#/bug/${encodeURIComponent(bug.id)}` }, "Its bug")),
    h("h1", { tabindex: "-1" }, `${row.role === "solver" ? "Solver, attempt" : "Injector, episode"} ${row.number}`),
    h("p", { class: "badges" }, badge(spaced(row.result), ["valid", "resolved"].includes(row.result) ? "good" : "plain"), row.bug && h("code", { class: "bug-id" }, row.bug), row.reason && h("span", { class: "quiet" }, spaced(row.reason)))];
  const detail = await episodeDetail(row);
  if (!detail) return [...head, h("p", { class: "note" }, "This episode was left out, since the page would be too large. ", h("code", {}, `selfplay show RUN/trajectories/${row.name}`), " shows it, and so does --serve.")];
  const list = h("ol", { class: "steps" }, detail.steps.map(stepView)), all = h("button", { type: "button", class: "small" }, "Open all");
  all.addEventListener("click", () => {
    const open = all.textContent === "Open all";
    for (const one of list.querySelectorAll("details")) one.open = open;
    all.textContent = open ? "Close all" : "Open all";
  });
  return [...head, facts({ ...detail.facts, calls: number(row.calls), time: seconds(detail.seconds) }),
    detail.told.length ? section("What it was told", {}, detail.told.map((text, at) => h("details", {}, h("summary", {}, `Message ${at + 1}`, h("span", { class: "peek" }, text.replace(/\s+/g, " ").slice(0, 110))), h("pre", { class: "scroll", tabindex: "0" }, text)))) : null,
    section("Steps", {}, h("div", { class: "section-head" }, h("p", { class: "quiet" }, plural(detail.steps.length, "step"), detail.left ? `, ${detail.left} more left out` : ""), all), list),
    detail.end.length ? section("The end", {}, detail.end.map((text) => h("pre", {}, text))) : null];
}
