// The curves of a training run.
function trainingPage() {
  const found = run.training;
  const failed = Object.entries(found.failed).map(([name, count]) => [spaced(name), [count]]);
  const [first, ...rest] = found.lines, classes = { "solve-rates": RATE_CLASSES, outcomes: ["end-valid", "end-duplicate", "end-invalid"] };
  return [h("h1", { tabindex: "-1" }, "Training"), h("p", { class: "lead" }, `${plural(found.steps, "step")} of joint self-play: one policy plants bugs and repairs them.`),
    found.alarms.length || found.nothing.length ? h("div", { class: "note warn", role: "note" }, h("ul", {}, [...found.alarms, ...found.nothing.map((why) => `nothing to learn: ${why}`)].map((text) => h("li", {}, text)))) : null,
    section("Curves", {}, h("div", { class: "charts" }, lines(first, found.at), found.stacks.map((one) => stack(one, found.at, classes[one.name])), rest.map((one) => lines(one, found.at)),
      failed.length ? stackedBars("Checks that injections failed", "Over all steps.", ["injections"], failed) : null))];
}
