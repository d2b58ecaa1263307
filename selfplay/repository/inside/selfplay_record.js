// Records one JSON line per test, as selfplay_tests.py does. Loaded by the reporters beside it. Of two tests with one
// id the id fails if one of them does.
'use strict';
const fs = require('fs');
const path = require('path');

const folder = process.env.SELFPLAY_DIR;
const root = fs.realpathSync(process.cwd()); // before any test may change it
const selection = JSON.parse(fs.readFileSync(path.join(folder, 'selection.json'), 'utf8'));
const files = new Set(selection.files);
const excluded = new Set(selection.excluded);
const only = new Set(selection.only);
const failed = new Set();

function relative(file) {
  return path.relative(root, path.resolve(root, file)).split(path.sep).join('/');
}

function wanted(file, id) {
  return (!files.size || files.has(file)) && !excluded.has(id) && (!only.size || only.has(id));
}

function write(line) {
  // JSON is ASCII, as the records of Python are
  const text = JSON.stringify(line).replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  fs.appendFileSync(path.join(folder, 'record'), 'SELFPLAY ' + text + '\n');
}

// A test that began: it is what took the process down if nothing follows.
exports.began = (file, titles) => {
  const name = relative(file);
  const id = name + '::' + titles.join(' ');
  if (wanted(name, id) && !failed.has(id)) write({ id });
};

exports.ended = (file, titles, outcome, milliseconds) => {
  const name = relative(file);
  const id = name + '::' + titles.join(' ');
  if (!wanted(name, id) || failed.has(id)) return;
  if (outcome === 'failed') failed.add(id);
  write({ id, outcome, seconds: Math.round(Math.max(0, milliseconds || 0) * 10) / 10000 });
};

// A file that cannot be loaded.
exports.broken = (file) => {
  const name = relative(file);
  if ((!files.size || files.has(name)) && !excluded.has(name)) write({ id: name, outcome: 'failed', phase: 'collect' });
};
