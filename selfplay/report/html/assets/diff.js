// A diff, side by side or in one column, line by line.
const FIRST_LINES = 160;
let unified = window.matchMedia("(max-width: 900px)").matches;
let layouts = [];
function turned() {
  unified = !unified;
  for (const draw of layouts) draw();
}
function coloured(text, runs, from, to) {
  // Pieces of one line: `runs` says how they are coloured, `from` to `to` is what changed within the line.
  const found = [];
  let at = 0;
  const put = (end, kind) => {
    for (const [start, stop, marked] of [[at, Math.min(end, from), false], [Math.max(at, from), Math.min(end, to), true], [Math.max(at, to), end, false]]) {
      if (stop <= start) continue;
      const classes = [kind === "." ? "" : `t-${kind}`, marked ? "changed" : ""].filter(Boolean).join(" ");
      found.push(classes ? h("span", { class: classes }, text.slice(start, stop)) : text.slice(start, stop));
    }
    at = end;
  };
  for (const [, kind, size] of runs.matchAll(/([a-z.])(\d+)/g)) put(Math.min(text.length, at + Number(size)), kind);
  put(text.length, ".");
  return found;
}
function within(one, other) {
  // Where two versions of a line differ: from the first difference to the last.
  let start = 0, end = 0;
  const least = Math.min(one.length, other.length);
  while (start < least && one[start] === other[start]) start++;
  while (end < least - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  const alike = one.slice(0, start).trim().length + one.slice(one.length - end).trim().length;
  return alike * 2 < Math.max(one.trim().length, other.trim().length) ? null : [start, end];
}
function pairs(hunk) {
  // Rows of [left, right]; each side is [number, text, runs] or null.
  const rows = [];
  let left = hunk.o, right = hunk.n, minus = [], plus = [];
  const flush = () => {
    for (let at = 0; at < Math.max(minus.length, plus.length); at++) rows.push([minus[at] || null, plus[at] || null, true]);
    minus = [];
    plus = [];
  };
  hunk.l.forEach((line, at) => {
    const text = line.slice(1), runs = hunk.y[at];
    if (line[0] === "-") minus.push([left++, text, runs]);
    else if (line[0] === "+") plus.push([right++, text, runs]);
    else if (line[0] === " ") {
      flush();
      rows.push([[left++, text, runs], [right++, text, runs], false]);
    }
  });
  flush();
  return rows;
}
function side(line, changed, kind, span) {
  if (!line) return [h("td", { class: "num" }), h("td", { class: "code none" })];
  const [at, text, runs] = line, [from, to] = changed && span ? [span[0], text.length - span[1]] : [0, 0];
  const sign = changed ? (kind === "del" ? "−" : "+") : " ";
  return [h("td", { class: "num" }, at), h("td", { class: `code ${changed ? kind : ""}` }, h("span", { class: "sign" }, sign), coloured(text, runs, from, to))];
}
function split([left, right, changed]) {
  const span = changed && left && right ? within(left[1], right[1]) : null;
  return h("tr", {}, side(left, changed, "del", span), side(right, changed, "add", span));
}
function single([left, right, changed]) {
  const span = changed && left && right ? within(left[1], right[1]) : null;
  if (!changed) return [h("tr", {}, h("td", { class: "num" }, left[0]), side(right, false, ""))];
  return [left && h("tr", {}, side(left, true, "del", span).slice(0, 1), h("td", { class: "num" }), side(left, true, "del", span).slice(1)),
    right && h("tr", {}, h("td", { class: "num" }), side(right, true, "add", span))];
}
function ordered(rows) {
  // In one column, all that went stands before all that came.
  const found = [];
  let wait = [];
  for (const row of [...rows, null]) {
    if (row && row[2]) {
      wait.push(row);
      continue;
    }
    found.push(...wait.map((one) => single(one)[0]), ...wait.map((one) => single(one)[1]));
    wait = [];
    if (row) found.push(...single(row));
  }
  return found.filter(Boolean);
}
function hunkRows(hunk) {
  const wide = unified ? 3 : 4, title = hunk.s ? `line ${hunk.o} · ${hunk.s}` : `line ${hunk.o}`;
  const head = h("tr", { class: "hunk" }, h("td", { colspan: wide }, title));
  return [head, ...(unified ? ordered(pairs(hunk)) : pairs(hunk).map(split))];
}
function fileDiff(file, names) {
  const body = h("tbody"), waiting = file.hunks.flatMap(hunkRows);
  const more = h("button", { type: "button", class: "more" });
  const show = (many) => {
    body.append(...waiting.splice(0, many));
    more.textContent = `Show ${plural(waiting.length, "more line")}`;
    more.hidden = !waiting.length;
  };
  more.addEventListener("click", () => show(Infinity));
  show(FIRST_LINES);
  const heads = unified ? [names[0], names[1], "change"] : ["line", names[0], "line", names[1]];
  const caption = `${file.path}: ${names[0]} and ${names[1]}`;
  const sizes = h("span", { class: "sizes" }, h("span", { class: "minus" }, `−${file.removed}`), " ", h("span", { class: "plus" }, `+${file.added}`));
  const said = [file.kind !== "modified" && badge(file.kind), file.old && h("span", { class: "quiet" }, `from ${file.old}`), file.binary && badge("binary")];
  return h("div", { class: "file" }, h("div", { class: "file-head" }, h("code", {}, file.path), said, sizes),
    file.hunks.length ? h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
      h("table", { class: `diff ${unified ? "unified" : "split"}` }, h("caption", { class: "hidden" }, caption), h("colgroup", {}, (unified ? [1, 1, 0] : [1, 0, 1, 0]).map((narrow) => h("col", { class: narrow ? "num-col" : null }))), h("thead", { class: "hidden" }, h("tr", {}, heads.map((name) => h("th", { scope: "col" }, name)))), body)) : null,
    more);
}
function diffView(diff, names) {
  if (diff.raw) return h("div", {}, h("p", { class: "note" }, `This diff cannot be read: ${diff.why}`), h("pre", { class: "scroll", tabindex: "0" }, diff.raw.join("\n")));
  if (!diff.files.length) return h("p", { class: "quiet" }, "Nothing was changed.");
  const left = diff.left || diff.more ? h("p", { class: "note" }, `Left out: ${plural(diff.left, "line")}${diff.more ? ` and ${plural(diff.more, "file")}` : ""}.`) : null;
  return h("div", { class: "diffs" }, diff.files.map((file) => fileDiff(file, names)), left);
}
