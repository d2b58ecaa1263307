const { test } = require('node:test');
const assert = require('node:assert');
const { counts } = require('../lib/text.js');

test('counts of none', () => { assert.deepEqual(counts([]), {}); });
