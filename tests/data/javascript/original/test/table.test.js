'use strict';

const { test } = require('node:test');
const assert = require('node:assert');
const { table, widths, pad } = require('../lib');

test('widths are those of the longest cell', () => assert.deepEqual(widths([['a', 'bb'], ['ccc', 'd']]), [3, 2]));

test('numbers go right (#1)', () => assert.equal(pad('7', 3), '  7'));

test('words go left', () => assert.equal(pad('ab', 4), 'ab  '));

test('rows line up', () => {
  assert.equal(table([['name', 'n'], ['pear', '12']]), 'name | n \npear | 12');
});
