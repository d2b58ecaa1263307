// One bug: what was broken, what hides it, who tried, and what became of the attempts.
function lineageNode(row, here, text) {
  const label = [h("span", { class: "where" }, row ? row.files[0] || row.id : text), h("span", { class: "bug-id" }, row ? row.id : "")];
  if (!row) return h("span", { class: "node missing" }, label);
  return here ? h("span", { class: "node here", "aria-current": "true" }, label) : h("a", { class: "node", href: `#/bug/${encodeURIComponent(row.id)}` }, label);
}
function lineage(row) {
  const top = row.order === 2 ? bugs.get(row.parent) : row, kids = children.get(row.order === 2 ? row.parent : row.id) || [];
  if (!kids.length && row.order === 1) return null;
  const items = kids.map((kid) => h("li", {}, h("span", { class: "edge" }, `failed attempt ${kid.made_of.number} of ${short(kid.made_of.policy)}`), lineageNode(kid, kid === row)));
  return section("Lineage", {}, h("nav", { class: "lineage", "aria-label": "Lineage" }, h("ul", {}, h("li", {}, lineageNode(top, top === row, `${row.parent} (not in this page)`), h("ul", {}, items)))));
}
function verdicts(found) {
  const heads = ["check", "verdict", { name: "time", right: true }, { name: "suite runs", right: true }, "what it said"];
  const rows = found.map((one) => [spaced(one.check), badge(one.passed ? "✓ passed" : "✗ failed", one.passed ? "good" : "bad"), `${one.seconds.toFixed(2)} s`, one.runs, one.reason]);
  return section("What each check said", {}, table("What each check said", heads, rows));
}
function tests(detail, row) {
  const items = detail.failing.map(([test, hidden]) => h("li", {}, h("code", {}, test), hidden && badge("hidden from the solver")));
  const left = row.f2p - detail.failing.length, list = h("ul", { class: "tests" }, items, left > 0 && h("li", { class: "quiet" }, `and ${number(left)} more`));
  const flaky = detail.flaky.length ? h("details", {}, h("summary", {}, `${plural(row.flaky, "test varies", "tests vary")} and decide nothing`), h("ul", { class: "tests" }, detail.flaky.map((test) => h("li", {}, h("code", {}, test))))) : null;
  return section("Failing tests", {}, h("p", { class: "quiet" }, `${plural(row.f2p, "test fails", "tests fail")} under the bug, ${number(row.p2p)} still pass.`), items.length > 12 ? h("details", {}, h("summary", {}, `Show all ${number(row.f2p)}`), list) : list, flaky);
}
function attempt(one) {
  const said = one.resolved ? `resolved${one.assurance === "weak" ? ", weakly assured" : ""}` : spaced(one.reason);
  const episode = run.episodes.some((each) => each[0] === one.episode);
  const head = h("summary", {}, badge(one.resolved ? "✓ resolved" : "✗ not resolved", one.resolved ? "good" : "bad"), h("span", { class: "who" }, `${short(one.policy)} ${one.number}`), h("span", { class: "quiet" }, said), h("span", { class: "sizes quiet" }, `${plural(one.calls, "call")}, ${seconds(one.seconds)}`));
  const box = h("details", { class: "attempt" }, head);
  box.addEventListener("toggle", () => {
    if (!box.open || box.children.length > 1) return;
    box.append(h("p", {}, one.detail || said, one.problem && ` (${one.problem})`), episode && h("p", {}, h("a", { href: `#/episode/${encodeURIComponent(one.episode)}` }, "The episode, step by step")), one.weaknesses.length > 0 && h("p", {}, `Weakly assured: ${one.weaknesses.join("; ")}.`), diffView(one.diff, ["broken", "attempted repair"]));
  });
  return h("li", {}, box);
}
function attempts(found) {
  if (!found.length) return section("Attempts", {}, h("p", { class: "quiet" }, "Nobody tried to repair this bug yet."));
  const every = h("ul", { class: "attempts" }, found.map(attempt)), solved = found.filter((one) => one.resolved).length;
  return section("Attempts", {}, h("p", { class: "quiet" }, `${solved} of ${found.length} resolved.`), every);
}
function facts(pairs) {
  return h("dl", { class: "facts" }, Object.entries(pairs).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
function texts(detail) {
  // In a file, a text stands once for all bugs that have it, and is unpacked when it is opened.
  const file = ([name, found]) => {
    const box = h("details", {}, h("summary", {}, h("code", {}, name)));
    box.addEventListener("toggle", async () => {
      if (!box.open || box.children.length > 1) return;
      const text = h("pre", { class: "scroll", tabindex: "0", role: "group", "aria-label": name });
      box.append(text);
      text.textContent = detail.texts ? found : await unpacked(found);
    });
    return box;
  };
  return section("The artifact's other files", {}, Object.entries(detail.texts || detail.shared).map(file));
}
function diffSection(title, note, diff, names) {
  const box = h("div", {}), button = h("button", { type: "button", class: "small" });
  const draw = () => {
    button.textContent = unified ? "Side by side" : "One column";
    box.replaceChildren(diffView(diff, names));
  };
  button.addEventListener("click", turned);
  layouts.push(draw);
  draw();
  return section(title, { class: "diff-section" }, h("div", { class: "section-head" }, h("p", { class: "quiet" }, note), button), box);
}
function neighbours(row) {
  const rows = lastList.length ? lastList : run.bugs, at = rows.findIndex((one) => one.id === row.id);
  const link = (one, text, rel) => (one ? h("a", { class: "button small", id: rel, href: `#/bug/${encodeURIComponent(one.id)}` }, text) : null);
  return h("nav", { class: "neighbours", "aria-label": "Bugs" }, h("a", { class: "button small", href: backToList }, "All bugs"), link(rows[at - 1], "Previous", "previous"), link(at < 0 ? null : rows[at + 1], "Next", "next"));
}
async function bugPage(name) {
  const row = bugs.get(name);
  if (!row) return [h("h1", { tabindex: "-1" }, "No such bug"), h("p", {}, "This page holds no bug of that name. ", h("a", { href: "#/bugs" }, "All bugs"))];
  const made = run.episodes.map(asEpisode).find((one) => one.role === "injector" && one.bug === row.id);
  const head = [neighbours(row), h("h1", { tabindex: "-1" }, row.files[0] || row.id), h("p", { class: "badges" }, badge(row.strategy, "plain"), row.order === 2 ? badge("2nd order", "second") : badge("1st order", "plain"), badge(SOLVED[outcome(row)], `solved-${outcome(row)}`), h("code", { class: "bug-id" }, row.id)),
    h("p", { class: "lead" }, row.order === 2 ? ["A failed repair became a bug of its own: ", h("a", { href: `#/bug/${encodeURIComponent(row.parent)}` }, "its parent"), `, and attempt ${row.made_of.number} of ${short(row.made_of.policy)} on top.`] : `${plural(row.lines, "changed line")} in ${plural(row.files.length, "file")}, made in ${seconds(row.seconds)} with ${plural(row.runs, "suite run")}.`, made && [" ", h("a", { href: `#/episode/${encodeURIComponent(made.name)}` }, "How it was planted, step by step")])];
  const detail = await bugDetail(row);
  if (!detail) return [...head, h("p", { class: "note" }, "Its details were left out, since the page would be too large. A larger --size, or --serve, has them."), lineage(row)];
  return [...head, lineage(row),
    diffSection("What was broken", "bug_inject.diff: the original and the broken code.", detail.inject, ["original", "broken"]),
    detail.attempt ? diffSection("The failed attempt on top", "attempt.diff: a repair that did not work and is now part of the bug.", detail.attempt, ["broken", "after the attempt"]) : null,
    tests(detail, row), detail.weaken && diffSection("What hides it", "test_weaken.diff: tests that were weakened, so that the suite passes.", detail.weaken, ["original tests", "weakened"]),
    attempts(detail.attempts), verdicts(detail.verdicts), texts(detail), section("Where it comes from", {}, facts(detail.facts))];
}
