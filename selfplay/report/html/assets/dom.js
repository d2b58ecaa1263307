// Nodes from plain values. Text is always text: nothing here parses HTML, and a link leads to a place in this page.
const EVENTS = "on";
function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}
function svg(tag, props, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}
function filled(node, props, children) {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name.slice(EVENTS.length), value);
    else if (name === "href" && !String(value).startsWith("#")) continue;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const byId = (id) => document.getElementById(id);
const plural = (n, noun, many) => `${n.toLocaleString("en")} ${n === 1 ? noun : many || noun + "s"}`;
const percent = (part, whole, digits) => (whole ? `${((100 * part) / whole).toFixed(digits || 0)} %` : "–");
const number = (value) => (value === null || value === undefined ? "–" : value.toLocaleString("en"));
// A name as words; what is a sentence already stays as it is.
const spaced = (name) => (/^[\w-]+$/.test(name) ? String(name).replace(/[_-]+/g, " ") : String(name));
function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 60) return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
}
function short(policy) {
  const at = policy.indexOf(":");
  return at > 0 && /^[/.~]/.test(policy.slice(at + 1)) ? policy.slice(0, at + 1) + policy.split("/").pop() : policy;
}
function announce(text) {
  byId("announce").textContent = text;
}
function section(title, props, ...children) {
  const id = `s-${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
  return h("section", { "aria-labelledby": id, ...props }, h("h2", { id }, title), children);
}
function badge(text, kind) {
  return h("span", { class: `badge ${kind || ""}` }, text);
}
function table(caption, heads, rows, props) {
  const head = heads.map((one) => h("th", { scope: "col", class: one.right ? "right" : null }, one.name || one));
  const cell = (value, at) => h(at ? "td" : "th", { scope: at ? null : "row", class: heads[at].right ? "right" : null }, value);
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    h("table", props || {}, h("caption", { class: "hidden" }, caption), h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}
