// Which page is shown, shortcuts, colours, and the news of a run that goes on.
const PLACES = [["#/", "Overview", "o"], ["#/bugs", "Bugs", "b"], ["#/episodes", "Episodes", "e"], ["#/training", "Training", "t"]];
let lastList = [];
let backToList = "#/bugs";
let drawn = 0;
function remembered(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`selfplay-${name}`, value);
    return localStorage.getItem(`selfplay-${name}`);
  } catch {
    return null;
  }
}
function places() {
  const here = location.hash.split("?")[0] || "#/";
  const current = here.startsWith("#/bug") ? "#/bugs" : here.startsWith("#/episode") ? "#/episodes" : here;
  byId("sections").replaceChildren(h("ul", {}, PLACES.filter(([href]) => href !== "#/training" || run.training).map(([href, name]) => h("li", {}, h("a", { href, "aria-current": href === current ? "page" : null }, name)))));
}
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
async function page(path) {
  const [, place, name] = path.split("/");
  if (place === "bugs") return gallery();
  if (place === "bug") return bugPage(decoded(name || ""));
  if (place === "episodes") return episodeList();
  if (place === "episode") return episodePage(decoded(name || ""));
  if (place === "training" && run.training) return trainingPage();
  return overview();
}
async function draw(focus) {
  const mine = ++drawn, path = (location.hash || "#/").split("?")[0];
  places();
  layouts = [];
  let found;
  try {
    found = await page(path);
  } catch (error) {
    found = [h("h1", { tabindex: "-1" }, "This cannot be shown"), h("p", { class: "note warn" }, error.message)];
  }
  if (mine !== drawn) return;
  byId("main").replaceChildren(...found.flat(Infinity).filter(Boolean));
  const title = byId("main").querySelector("h1");
  document.title = `${title.textContent} · ${run.name} · selfplay`;
  if (focus) {
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
    announce(title.textContent);
  }
  document.documentElement.setAttribute("data-ready", path);
}
function themed(choice) {
  const next = ["auto", "light", "dark"].includes(choice) ? choice : "auto";
  document.documentElement.setAttribute("data-theme", next);
  byId("theme").textContent = `Colours: ${next}`;
  return next;
}
function helpDialog() {
  const off = h("input", { type: "checkbox", id: "keys-off", onchange: (event) => remembered("keys", event.target.checked ? "off" : "on") });
  off.checked = remembered("keys") === "off";
  const rows = [["/", "search"], ["j  k", "next and previous row, bug or step"], ["Enter", "open the row"], ["o  b  e  t", "overview, bugs, episodes, training"], ["u", "diffs in one column or side by side"], ["x", "open or close all steps"], ["?", "this list"]];
  const box = h("dialog", { "aria-labelledby": "keys-title" }, h("h2", { id: "keys-title" }, "Keys"), h("dl", { class: "keys" }, rows.map(([keys, what]) => h("div", {}, h("dt", {}, keys.split("  ").map((key) => h("kbd", {}, key))), h("dd", {}, what)))),
    h("p", {}, off, h("label", { for: "keys-off" }, " Turn single-letter keys off")), h("form", { method: "dialog" }, h("button", { type: "submit", autofocus: true }, "Close")));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}
function stepped(by) {
  const neighbour = byId(by > 0 ? "next" : "previous");
  const rows = [...document.querySelectorAll(".gallery .row-link, .steps summary")], at = rows.indexOf(document.activeElement);
  if (rows.length) rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))].focus();
  else if (neighbour) neighbour.click();
}
function key(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || (remembered("keys") === "off" && event.key !== "?")) return;
  const place = PLACES.find(([href, , letter]) => letter === event.key && (href !== "#/training" || run.training));
  const search = byId("filter-q");
  const does = { "?": helpDialog, j: () => stepped(1), k: () => stepped(-1), "/": () => (search ? search.focus() : (location.hash = "#/bugs")),
    u: turned,
    x: () => [...document.querySelectorAll(".section-head button")].at(-1)?.click() }[event.key] || (place && (() => (location.hash = place[0])));
  if (!does) return;
  event.preventDefault();
  does();
}
async function follow() {
  // The server is asked for what is new; the page stays where it is, and keeps what is typed or open.
  let tag = run.tag;
  for (;;) {
    await new Promise((done) => setTimeout(done, 2000));
    try {
      const answer = await fetch(`news?since=${encodeURIComponent(tag)}`, { credentials: "omit" });
      if (answer.status === 204) continue;
      if (!answer.ok) throw new Error((await answer.json()).problem);
      run = await answer.json();
      tag = run.tag;
      indexed();
      byId("live").textContent = `following: ${plural(run.bugs.length, "bug")}`;
      const busy = document.activeElement?.closest("input, select, details, .gallery, dialog") || document.querySelector("main details[open]");
      if (!busy && !/^#\/(bug|episode)\//.test(location.hash)) await draw(false);
    } catch (error) {
      byId("live").textContent = `not reached: ${error.message}`;
    }
  }
}
addEventListener("hashchange", () => {
  const list = /^#\/bugs/.test(location.hash);
  if (list) backToList = location.hash;
  draw(true);
});
addEventListener("keydown", key);
document.addEventListener("click", (event) => {
  if (!event.target.closest(".gallery a")) return;
  if (!/^#\/bugs/.test(location.hash)) return;
  backToList = location.hash;
  lastList = chosen();
});
byId("theme").addEventListener("click", () => remembered("theme", themed({ auto: "light", light: "dark", dark: "auto" }[document.documentElement.dataset.theme])));
byId("help-button").addEventListener("click", helpDialog);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
themed(remembered("theme"));
indexed();
draw(false);
if (LIVE) {
  byId("live").textContent = "following";
  follow();
}
