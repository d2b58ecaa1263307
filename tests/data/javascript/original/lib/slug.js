'use strict';

const SPECIAL = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['&', ' and '],
]);

function plain(text) {
  let out = '';
  for (const character of text.normalize('NFKD')) {
    if (SPECIAL.has(character)) {
      out += SPECIAL.get(character);
    } else if (!/\p{M}/u.test(character)) {
      out += character;
    }
  }
  return out;
}

function slug(text, { separator = '-', limit = 60 } = {}) {
  const words = plain(text).toLowerCase().match(/[a-z0-9]+/g) ?? [];
  let out = '';
  for (const word of words) {
    const next = out ? out + separator + word : word;
    if (next.length > limit) {
      break;
    }
    out = next;
  }
  return out;
}

module.exports = { plain, slug };
