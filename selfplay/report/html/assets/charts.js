// Small charts as inline SVG. Each is a figure with a caption and its numbers as a table.
const WIDE = 640, HIGH = 240, LEFT = 52, RIGHT = 16, TOP = 14, BOTTOM = 30;
function figure(title, note, drawing, numbers) {
  return h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, title), note && h("p", { class: "quiet" }, note)),
    drawing, numbers && h("details", { class: "numbers" }, h("summary", {}, "Numbers", h("span", { class: "hidden" }, ` of ${title}`)), numbers));
}
function legend(names) {
  return h("ul", { class: "legend" }, names.map((name, at) => h("li", {}, h("span", { class: `swatch fill-${at % 6}`, "aria-hidden": "true" }), spaced(name))));
}
// rows: [name, [values]]; each row is one bar in parts.
function stackedBars(title, note, parts, rows, classes) {
  const most = Math.max(1, ...rows.map(([, values]) => values.reduce((a, b) => a + b, 0)));
  const bars = rows.map(([name, values]) => {
    const total = values.reduce((a, b) => a + b, 0);
    const pieces = values.map((value, at) => {
      const piece = h("span", { class: `piece ${classes ? classes[at] : `fill-${at % 6}`}`, title: `${spaced(parts[at])}: ${number(value)}` });
      piece.style.width = `${(100 * value) / most}%`;
      return value ? piece : null;
    });
    return h("div", { class: "bar-row" }, h("span", { class: "bar-name" }, name), h("span", { class: "bar" }, pieces), h("span", { class: "bar-number" }, number(total)));
  });
  const heads = ["what", ...parts.map((name) => ({ name: spaced(name), right: true }))];
  const key = parts.length > 1 && h("ul", { class: "legend" }, parts.map((name, at) => h("li", {}, h("span", { class: `swatch ${classes ? classes[at] : `fill-${at % 6}`}`, "aria-hidden": "true" }), spaced(name))));
  return figure(title, note, h("div", {}, key, h("div", { class: "bars", "aria-hidden": "true" }, bars)),
    table(title, heads, rows.map(([name, values]) => [name, ...values.map(number)])));
}
function ticks(low, high) {
  const raw = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const found = [];
  for (let at = Math.floor(low / step) * step; at <= high + step * 0.501; at += step) found.push(Number(at.toPrecision(10)));
  return found;
}
function told(value, unit) {
  if (value === null || value === undefined) return "–";
  if (unit === "%") return `${(100 * value).toFixed(0)} %`;
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}
function lines(one, at) {
  const names = Object.keys(one.series), every = names.flatMap((name) => one.series[name]).filter((value) => value !== null);
  if (!every.length) return figure(one.title, "No step has this figure.", null, null);
  const low = one.unit === "%" ? 0 : Math.min(...every), high = one.unit === "%" ? 1 : Math.max(...every);
  const marks = ticks(low, high === low ? low + Math.max(1e-9, Math.abs(low) * 0.01 || 1) : high), bottom = Math.min(low, marks[0]), top = Math.max(high, marks[marks.length - 1]);
  const x = (step) => LEFT + ((WIDE - LEFT - RIGHT) * (at.length > 1 ? step / (at.length - 1) : 0.5));
  const y = (value) => TOP + (HIGH - TOP - BOTTOM) * (1 - (value - bottom) / (top - bottom || 1));
  const grid = marks.map((mark) => [svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(mark), y2: y(mark), class: "grid" }),
    svg("text", { x: LEFT - 8, y: y(mark) + 4, class: "tick", "text-anchor": "end" }, told(mark, one.unit))]);
  const along = [...new Set([0, Math.floor((at.length - 1) / 2), at.length - 1])].map((step) =>
    svg("text", { x: x(step), y: HIGH - 8, class: "tick", "text-anchor": step ? (step === at.length - 1 ? "end" : "middle") : "start" }, `step ${at[step]}`));
  const drawn = names.map((name, place) => {
    let path = "", pen = false;
    one.series[name].forEach((value, step) => {
      if (value !== null) path += `${pen ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = value !== null;
    });
    const dots = at.length <= 40 ? one.series[name].map((value, step) => value !== null && svg("circle", { cx: x(step), cy: y(value), r: 3, class: `fill-${place}` })) : null;
    return [svg("path", { d: path, class: `line line-${place}` }), dots];
  });
  const cross = svg("line", { y1: TOP, y2: HIGH - BOTTOM, class: "cross", visibility: "hidden" });
  const said = h("output", { class: "readout" }, "\u00a0");
  let chosen = at.length - 1;
  const choose = (step) => {
    chosen = Math.max(0, Math.min(at.length - 1, step));
    for (const end of ["x1", "x2"]) cross.setAttribute(end, x(chosen));
    cross.setAttribute("visibility", "visible");
    said.textContent = `step ${at[chosen]}: ${names.map((name) => `${spaced(name)} ${told(one.series[name][chosen], one.unit)}`).join(", ")}`;
  };
  const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, tabindex: "0", role: "img", "aria-label": `${one.title}, ${plural(at.length, "step")}. Left and right arrows read single steps.` }, grid, along, drawn, cross);
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect(), place = ((event.clientX - box.left) / box.width) * WIDE;
    choose(Math.round(((place - LEFT) / (WIDE - LEFT - RIGHT)) * (at.length - 1)));
  });
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(chosen + step);
  });
  choose(chosen);
  cross.setAttribute("visibility", "hidden");
  const rows = at.map((step, place) => [step, ...names.map((name) => told(one.series[name][place], one.unit))]);
  return figure(one.title, null, h("div", {}, names.length > 1 && legend(names), drawing, said), table(one.title, ["step", ...names.map((name) => ({ name: spaced(name), right: true }))], rows));
}
function stack(one, at, classes) {
  const floor = HIGH - BOTTOM, most = Math.max(1, ...one.columns.map((column) => column.reduce((a, b) => a + b, 0)));
  const step = (WIDE - LEFT - RIGHT) / at.length, wide = Math.min(46, step * 0.8);
  const drawn = one.columns.map((column, place) => {
    let y = floor;
    return column.map((value, part) => {
      const high = (value / most) * (floor - TOP);
      y -= high;
      return value ? svg("rect", { x: LEFT + place * step + (step - wide) / 2, y, width: wide, height: high, class: classes[part] }, svg("title", {}, `step ${at[place]}, ${one.names[part]}: ${value}`)) : null;
    });
  });
  const marks = ticks(0, most).filter((mark) => mark <= most && Number.isInteger(mark)).map((mark) => svg("text", { x: LEFT - 8, y: floor - (mark / most) * (floor - TOP) + 4, class: "tick", "text-anchor": "end" }, number(mark)));
  const ends = [...new Set([0, at.length - 1])].map((place) => svg("text", { x: LEFT + (place + 0.5) * step, y: HIGH - 8, class: "tick", "text-anchor": "middle" }, `step ${at[place]}`));
  const key = h("ul", { class: "legend" }, one.names.map((name, part) => h("li", {}, h("span", { class: `swatch ${classes[part]}`, "aria-hidden": "true" }), name)));
  return figure(one.title, null, h("div", {}, key, svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": one.title }, marks, ends, svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: floor, y2: floor, class: "axis" }), drawn)),
    table(one.title, ["step", ...one.names.map((name) => ({ name, right: true }))], at.map((name, place) => [name, ...one.columns[place].map(number)])));
}
