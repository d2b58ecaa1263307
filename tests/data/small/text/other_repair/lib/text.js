'use strict';

function camel(text) {
  let out = '';
  let up = false;
  for (const character of text) {
    if (!/[A-Za-z0-9]/.test(character)) {
      up = out !== '';
    } else {
      out += up ? character.toUpperCase() : character.toLowerCase();
      up = false;
    }
  }
  return out;
}

function shorten(text, limit) {
  if (!(limit >= 1)) {
    throw new RangeError(`${limit} is too short`);
  }
  if (text.length > limit) {
    return `${text.substring(0, limit - 1)}~`;
  }
  return text;
}

function counts(items) {
  return items.reduce((found, item) => ({ ...found, [item]: (found[item] ?? 0) + 1 }), {});
}

module.exports = { camel, shorten, counts };
