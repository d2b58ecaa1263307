const { test } = require('node:test');
const assert = require('node:assert');
const { camel, shorten } = require('../lib/text.js');

test('camel joins words', () => {
  assert.equal(camel('some small words'), 'someSmallWords');
  assert.equal(camel('--a b--'), 'aB');
});
test('shorten keeps what fits', () => { assert.equal(shorten('abc', 3), 'abc'); });
test('shorten marks the cut', () => { assert.equal(shorten('abcdef', 4), 'abc~'); });
test('shorten needs room', () => { assert.throws(() => shorten('abc', 0), RangeError); });
