// The data: rows and figures at once, details when they are looked at. In a file they are unpacked from their elements;
// a page that follows a run asks its own server.
const LIVE = byId("page-script").hasAttribute("data-live");
let run = JSON.parse(byId("index").textContent);
let bugs = new Map();
let children = new Map();
const kept = new Map();
function indexed() {
  bugs = new Map(run.bugs.map((row) => [row.id, row]));
  children = new Map();
  for (const row of run.bugs) {
    if (!row.parent) continue;
    if (!children.has(row.parent)) children.set(row.parent, []);
    children.get(row.parent).push(row);
  }
}
async function unpacked(name) {
  if (!kept.has(name)) {
    const element = byId(`chunk-${name}`);
    const bytes = Uint8Array.from(atob(element.textContent), (char) => char.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    if (kept.size > 40) kept.clear();
    kept.set(name, JSON.parse(await new Response(stream).text()));
  }
  return kept.get(name);
}
async function asked(path) {
  const answer = await fetch(path, { credentials: "omit" });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.problem || `the server answered ${answer.status}`);
  return said;
}
async function bugDetail(row) {
  if (LIVE) return asked(`bug/${encodeURIComponent(row.id)}`);
  return row.at ? (await unpacked(row.at))[row.id] : null;
}
async function episodeDetail(row) {
  if (LIVE) return asked(`episode/${encodeURIComponent(row.name)}`);
  return row.at ? unpacked(row.at) : null;
}
const EPISODE = ["name", "role", "bug", "who", "number", "result", "reason", "seconds", "calls", "at"];
function asEpisode(list) {
  return Object.fromEntries(EPISODE.map((name, at) => [name, list[at]]));
}
function episodeNamed(name) {
  const found = run.episodes.find((one) => one[0] === name);
  return found ? asEpisode(found) : null;
}
function outcome(row) {
  if (!row.rate || !row.rate[1]) return "untried";
  if (row.rate[0] === 0) return "never";
  return row.rate[0] === row.rate[1] ? "always" : "sometimes";
}
