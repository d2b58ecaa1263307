'use strict';

function camel(text) {
  const words = text.split(/[^A-Za-z0-9]+/).map((word) => word.toLowerCase());
  return words.map((word, at) => (at ? word : word)).join('');
}

function shorten(text, limit) {
  return text.length <= limit ? text : text.slice(0, limit) + '~';
}

function counts(items) {
  const found = {};
  for (const item of items) found[item] = 1;
  return found;
}

module.exports = { camel, shorten, counts };
