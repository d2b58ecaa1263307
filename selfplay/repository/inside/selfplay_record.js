// Records one JSON line per test, like selfplay_tests.py. Loaded by the reporters beside it. If two tests share an id,
// the id fails if one of them does.
'use strict';
const fs = require('fs');
const path = require('path');

const folder = process.env.SELFPLAY_DIR;
const root = fs.realpathSync(process.cwd()); // before a test can change it
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
  // JSON in ASCII, like Python's records
  const text = JSON.stringify(line).replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  fs.appendFileSync(path.join(folder, 'record'), 'SELFPLAY ' + text + '\n');
}

// A test that began: if nothing follows, it crashed the process.
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
