// Runs ava on one test file after the other, since its report names no files, and records what it says of each test.
// Called with ava's options, then --selfplay-files and the files, or --selfplay-places and
// where they may lie.
'use strict';
const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const record = require('./selfplay_record.js');

const MOST = 1 << 20; // bytes of a test file
const at = process.argv.findIndex((word) => word === '--selfplay-files' || word === '--selfplay-places');
const options = process.argv.slice(2, at);
const named = process.argv.slice(at + 1);
const files = process.argv[at] === '--selfplay-files' ? named : found('.').filter(lies).sort();

let failed = 0;
for (const file of files) failed = run(file) || failed;
process.exit(failed);

function found(folder) {
  const all = [];
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const place = path.join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) all.push(...found(place));
    if (entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name) && loadsAva(place)) all.push(place);
  }
  return all;
}

function loadsAva(place) {
  return fs.statSync(place).size <= MOST && /['"]ava['"]/.test(fs.readFileSync(place, 'utf8'));
}

// Whether a file lies where one of the named patterns may find it: behind what stands before its first special letter.
function lies(place) {
  const starts = named.map((one) => path.normalize(one).replace(/[*?[\]{}!()].*$/s, ''));
  return !starts.length || starts.some((start) => place.startsWith(start));
}

function run(file) {
  const before = Date.now();
  const done = spawnSync('ava', [...options, '--tap', file], { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1 << 28 });
  if (done.signal === 'SIGKILL') process.exit(137);
  const text = done.stdout ? done.stdout.toString() : '';
  const results = text.split('\n').map((line) => /^(not )?ok \d+ - (.*?)( # (SKIP|TODO)( .*)?)?$/.exec(line)).filter(Boolean);
  const each = (Date.now() - before) / Math.max(1, results.length);
  // What the tests print stands among ava's lines, so they count only if there are as many as ava says at its end.
  const passed = results.filter(([, not, , , mark]) => !not && !mark).length;
  const told = [...text.matchAll(/^# pass (\d+)$/gm)].pop();
  let broken = Boolean(done.error) || !told || Number(told[1]) !== passed;
  for (const [, not, title, , mark] of results) {
    if (not && (title === `No tests found in ${file}` || title.startsWith(`${file} exited `))) broken = true;
    else record.ended(file, [title], mark ? 'skipped' : not ? 'failed' : 'passed', each);
  }
  if (broken) record.broken(file);
  if (done.status) process.stdout.write(text.replace(/^not ok \d+ - /gm, 'FAILED '));
  return done.status || 0;
}
