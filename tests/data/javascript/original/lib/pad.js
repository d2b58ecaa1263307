'use strict';

function pad(text, width) {
  if (text !== '' && !Number.isNaN(Number(text))) {
    return text.padStart(width);
  }
  return text.padEnd(width);
}

module.exports = { pad };
