'use strict';

const { pad } = require('./pad');

function widths(rows) {
  const out = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      out[index] = Math.max(out[index] ?? 0, String(cell).length);
    });
  }
  return out;
}

function table(rows) {
  const columns = widths(rows);
  return rows.map((row) => row.map((cell, index) => pad(String(cell), columns[index])).join(' | ')).join('\n');
}

module.exports = { table, widths };
