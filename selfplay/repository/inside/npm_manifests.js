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
const MOST = 1 << 20; // bytes of a manifest
const wanted = process.argv[1];

if (wanted === 'back') {
  const saved = JSON.parse(fs.readFileSync(SAVED, 'utf8'));
  for (const [place, text] of Object.entries(saved)) fs.writeFileSync(place, text);
} else {
  rewrite(wanted === 'registry');
}

function manifests(folder, deep) {
  const found = [];
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const place = path.join(folder, entry.name);
    if (entry.isFile() && entry.name === 'package.json' && fs.statSync(place).size <= MOST) found.push(place);
    if (entry.isDirectory() && deep && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
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
  const own = new Map([...all].filter(([, value]) => typeof value.name === 'string').map(([place, { name }]) => [name, place]));
  const saved = {};
  const said = new Set();
  for (const [place, value] of all) {
    let changed = false;
    for (const kind of KINDS) {
      if (!value[kind] || typeof value[kind] !== 'object') continue;
      for (const [name, spec] of Object.entries(value[kind])) {
        const now = readable(name, String(spec), path.dirname(place), own, registry);
        if (now === spec) continue;
        changed = true;
        if (now === null) delete value[kind][name];
        else value[kind][name] = now;
        said.add(now === null ? `left out: ${name} (${spec})` : `${name}: ${now} for ${spec}`);
      }
    }
    if (!changed) continue;
    saved[place] = fs.readFileSync(place, 'utf8');
    fs.writeFileSync(place, JSON.stringify(value, null, 2));
  }
  if (!said.size) return;
  fs.writeFileSync(SAVED, JSON.stringify(saved));
  for (const change of said) console.log(`rewritten: ${change}`);
}

// A specifier that npm reads, or null: left out.
function readable(name, spec, folder, own, registry) {
  const [kind, rest] = /^[a-z]+:/.test(spec) ? [spec.slice(0, spec.indexOf(':')), spec.slice(spec.indexOf(':') + 1)] : ['', spec];
  if (['workspace', 'link', 'portal'].includes(kind)) {
    const to = kind === 'workspace' ? own.get(name) && path.dirname(own.get(name)) : path.join(folder, rest);
    return to && fs.existsSync(path.join(to, 'package.json')) ? `file:${path.relative(folder, to) || '.'}` : null;
  }
  if (kind === 'catalog') return '*';
  if (kind === 'patch') return decodeURIComponent((/@npm(?::|%3A)([^#]*)/.exec(rest) || ['', '*'])[1]);
  if (kind === 'exec' || kind === 'jsr') return null;
  if (registry && !['', 'npm', 'file'].includes(kind)) return null;
  return registry && kind === '' && /^[^@/\s]+\/[^/\s]+$/.test(spec) ? null : spec;
}
