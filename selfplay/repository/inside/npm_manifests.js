// Runs in a build's tree before npm, and rewrites in its package.json files what only pnpm, yarn or bun reads: packages
// of the tree (workspace:, link:, portal:) become paths, versions of a catalog any version, patched packages plain
// ones. What npm has no word for is left out. With `registry`, so are packages that do not come from the registry.
// Prints a line for each. With `back`, the files are as before.
'use strict';
const fs = require('fs');
const path = require('path');

const SAVED = '/tmp/selfplay-manifests.json';
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
const DEEP = 4;
const APART = /^(node_modules|tests?|spec|fixtures?|__.*__|\..*)$/; // folders without packages of the tree
const MOST = 1 << 20; // bytes of a manifest
const wanted = process.argv[1];

if (wanted === 'back') {
  back();
} else {
  rewrite(wanted === 'registry');
}

function back() {
  const saved = JSON.parse(fs.readFileSync(SAVED, 'utf8'));
  for (const [place, bytes] of Object.entries(saved)) fs.writeFileSync(place, Buffer.from(bytes, 'base64'));
}

function manifests(folder, deep) {
  const found = [];
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const place = path.join(folder, entry.name);
    if (entry.isFile() && entry.name === 'package.json' && fs.statSync(place).size <= MOST) found.push(place);
    if (entry.isDirectory() && deep && !APART.test(entry.name))
      found.push(...manifests(place, deep - 1));
  }
  return found;
}

function read(place) {
  try {
    const value = JSON.parse(fs.readFileSync(place, 'utf8').replace(/^\uFEFF/, ''));
    return value && typeof value === 'object' && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function rewrite(registry) {
  const all = new Map(manifests('.', DEEP).map((place) => [place, read(place)]).filter(([, value]) => value));
  const named = [...all].filter(([, value]) => typeof value.name === 'string');
  const own = new Map(named.reverse().map(([place, { name }]) => [name, place])); // the first of a name, then the last
  const saved = {};
  const said = new Set();
  for (const [place, value] of all) {
    let changed = false;
    for (const kind of KINDS) {
      if (!value[kind] || typeof value[kind] !== 'object') continue;
      for (const [name, spec] of Object.entries(value[kind])) {
        const now = typeof spec === 'string' ? readable(name, spec, path.dirname(place), own, registry) : null;
        if (now === spec) continue;
        changed = true;
        if (now === null) delete value[kind][name];
        else value[kind][name] = now;
        said.add(now === null ? `left out: ${name} (${JSON.stringify(spec)})` : `${name}: ${now} for ${spec}`);
      }
    }
    if (!changed) continue;
    saved[place] = fs.readFileSync(place, 'base64');
  }
  if (!said.size) return;
  fs.writeFileSync(SAVED, JSON.stringify(saved));
  try {
    for (const place of Object.keys(saved)) fs.writeFileSync(place, JSON.stringify(all.get(place), null, 2));
  } catch {
    return back();
  }
  for (const change of said) console.log(`rewritten: ${change}`);
}

// A specifier that npm reads, or null: left out.
function readable(name, spec, folder, own, registry) {
  const [, kind, rest] = /^(?:([a-z+]+):)?(.*)$/is.exec(spec);
  if (['workspace', 'link', 'portal'].includes(kind)) {
    const place = own.get((/^(@?[^@]+)@/.exec(rest) || ['', name])[1]);
    const to = kind === 'workspace' ? place && path.dirname(place) : path.join(folder, rest);
    return to && fs.existsSync(path.join(to, 'package.json')) ? `file:${path.relative(folder, to) || '.'}` : null;
  }
  if (kind === 'catalog') return '*';
  if (kind === 'patch') return (/@npm(?::|%3A)([^#%]*)/.exec(rest) || ['', '*'])[1].trim() || '*';
  if (kind === 'exec' || kind === 'jsr') return null;
  if (registry && kind && !['npm', 'file'].includes(kind)) return null;
  const elsewhere = /^(?:[^@/\s]+@[^:\s]+:|[^@/\s.~][^@/\s]*\/[^/\s]+$)/; // git@HOST:A/B, A/B on GitHub
  return registry && !kind && elsewhere.test(spec) ? null : spec;
}
