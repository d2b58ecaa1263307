'use strict';

function camel(text) {
  const words = text.split(/[^A-Za-z0-9]+/).filter(Boolean).map((word) => word.toLowerCase());
  return words.map((word, at) => (at ? word[0].toUpperCase() + word.slice(1) : word)).join('');
}

function shorten(text, limit) {
  if (limit < 1) throw new RangeError('nothing fits');
  return text.length <= limit ? text : text.slice(0, limit - 1) + '~';
}

function counts(items) {
  const found = {};
  for (const item of items) found[item] = (found[item] || 0) + 1;
  return found;
}

module.exports = { camel, shorten, counts };
