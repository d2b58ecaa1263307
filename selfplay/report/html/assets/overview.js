// The overview: what the run came to, where it lost artifacts, how hard its bugs are, what it cost.
const RATE_CLASSES = ["rate-0", "rate-1", "rate-2", "rate-3", "rate-4", "rate-5"];
const END_CLASSES = { valid: "end-valid", duplicate: "end-duplicate", invalid: "end-invalid", gave_up: "end-gave-up", failed: "end-failed", unplayed: "end-unplayed" };
function tile(value, name, note, href) {
  const inside = [h("span", { class: "tile-value" }, value), h("span", { class: "tile-name" }, name), note && h("span", { class: "tile-note" }, note)];
  return h("li", {}, href ? h("a", { class: "tile", href }, inside) : h("div", { class: "tile" }, inside));
}
function tiles() {
  const found = run.totals, wall = run.costs.reduce((sum, one) => sum + one[1], 0), core = run.costs.reduce((sum, one) => sum + one[2], 0);
  const wanted = run.wanted ? `of ${number(run.wanted)} wanted` : "";
  return h("ul", { class: "tiles" },
    tile(number(found.bugs), "verified bugs", wanted, "#/bugs?order=1"),
    tile(number(found.second_order), "second-order bugs", "from failed attempts", "#/bugs?order=2"),
    tile(percent(found.bugs, found.judged), "artifacts valid", `${number(found.bugs)} of ${number(found.judged)} handed in`),
    tile(percent(found.resolved, found.attempts), "attempts resolved", `${number(found.resolved)} of ${number(found.attempts)}`),
    tile(found.attempted ? `${number(found.solved_once)} / ${number(found.attempted)}` : "–", "bugs solved at least once", "", "#/bugs?solved=sometimes"),
    tile(seconds(wall), "time", core ? `${seconds(core)} of core time` : ""),
    run.usage.cost ? tile(run.usage.cost.toFixed(2), "cost of answers", `${number(run.usage.completion_tokens)} tokens out`) : null);
}
function lead() {
  const known = run.repositories.filter(([name]) => name.trim()), sources = [...new Set(run.bugs.map((row) => row.source))].slice(0, 5);
  const from = (known.length ? known : sources.map((name) => [name, ""])).map(([name, revision]) => [h("code", {}, name), revision ? ` at ${revision.slice(0, 12)}` : ""]);
  const names = from.flatMap((one, at) => (at ? [", ", ...one] : one));
  return h("p", { class: "lead" }, "Bugs planted in ", names.length ? names : "a repository", ` by ${short(run.policy)}, each checked in a sandbox.`, run.stopped ? ` The run ended: ${run.stopped}.` : "");
}
function yieldCharts() {
  const ends = run.ends.filter((end) => Object.values(run.yields).some((one) => one[end]));
  const rows = Object.entries(run.yields).map(([name, one]) => [name, ends.map((end) => one[end] || 0)]);
  const steps = run.checks.map((one) => [spaced(one.check), [one.entered - one.failed, one.failed]]);
  const cost = run.checks.map((one) => [spaced(one.check), number(one.entered), number(one.failed), percent(one.entered - one.failed, one.entered, 1), one.seconds === undefined ? "–" : `${one.seconds.toFixed(2)} s`, one.runs === undefined ? "–" : one.runs.toFixed(1)]);
  const heads = ["check", ...["reached it", "failed", "passed", "mean time", "suite runs"].map((name) => ({ name, right: true }))];
  return section("Yield", {}, h("div", { class: "charts" },
    rows.length ? stackedBars("By strategy", "How the injector's episodes ended.", ends, rows, ends.map((end) => END_CLASSES[end])) : null,
    run.checks.length ? stackedBars("By check", "Artifacts that reached each check, in order.", ["passed", "failed"], steps, ["end-valid", "end-invalid"]) : null),
    h("h3", {}, "What each check took"), table("What each check took", heads, cost));
}
function rateCharts() {
  if (!run.rates.length) return section("Solve rates", {}, h("p", { class: "quiet" }, "No bug was attempted yet."));
  const rows = run.rates.map((one) => [`${short(one.policy)}${one.control ? " (control)" : ""}, order ${one.order}`, one.bins]);
  const heads = ["policy", ...["order", "bugs", "attempts", "resolved", "mean rate"].map((name) => ({ name, right: true }))];
  const sums = run.rates.map((one) => [short(one.policy), one.order, number(one.bugs), number(one.attempts), number(one.resolved), percent(one.mean, 1, 1)]);
  const why = Object.entries(run.reasons).map(([reason, count]) => [spaced(reason), [count]]);
  const became = Object.entries(run.promoted).map(([status, count]) => [spaced(status), [count]]);
  return section("Solve rates", {}, h("div", { class: "charts" },
    stackedBars("Bugs by the share of attempts that solved them", "Each bar is one policy at the bugs of one order.", run.bins, rows, RATE_CLASSES),
    why.length ? stackedBars("Why attempts did not resolve a bug", "By the grader's reason.", ["attempts"], why) : null,
    became.length ? stackedBars("What failed attempts became", "Of those looked at for second-order bugs.", ["attempts"], became) : null),
    table("Solve rates by policy", heads, sums));
}
function costTable() {
  const heads = ["phase", { name: "time", right: true }, { name: "core time", right: true }];
  const found = run.totals;
  const each = h("p", { class: "quiet" }, `Median bug: ${number(found.median_lines)} changed lines, ${plural(found.median_failing ?? 0, "failing test")}, ${seconds(found.median_seconds)} to make. ${plural(found.files, "file")} touched; ${plural(found.suite_runs, "suite run")} spent on validation.`);
  const spent = Object.entries(run.usage).map(([name, value]) => `${spaced(name)} ${number(value)}`).join(", ");
  return section("Cost and time", {}, each, spent && h("p", { class: "quiet" }, `Model: ${spent}.`), run.costs.length ? table("Cost by phase", heads, run.costs.map(([phase, wall, core]) => [spaced(phase), seconds(wall), seconds(core)])) : null);
}
function leftOut() {
  const notes = [...run.notes, ...Object.entries(run.unplayed).map(([job, why]) => `${job} could not be played: ${why}`)];
  if (run.without_details) notes.push(`${plural(run.without_details, "bug")} without details: the page would be too large. A larger --size, or --serve, has them.`);
  if (run.without_tape) notes.push(`Of ${plural(run.without_tape, "episode")} the run holds no steps.`);
  if (run.without_episode) notes.push(`${plural(run.without_episode, "episode")} left out for size. A larger --size, or --serve, has them.`);
  const problems = run.problems.length ? h("div", { class: "note warn", role: "note" }, h("p", {}, h("strong", {}, `${plural(run.left_out, "thing")} left out: damaged, half-written or not ours.`)),
    h("details", {}, h("summary", {}, "Which, and why"), h("ul", {}, run.problems.map(([what, why]) => h("li", {}, h("code", {}, what), ` ${why}`))))) : null;
  return [problems, notes.length ? h("details", { class: "note" }, h("summary", {}, plural(notes.length, "note")), h("ul", {}, notes.map((note) => h("li", {}, note)))) : null];
}
function overview() {
  return [h("h1", { tabindex: "-1" }, run.name), lead(), tiles(), leftOut(), rateCharts(), yieldCharts(), costTable()];
}
