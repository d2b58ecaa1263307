'use strict';

const { describe, it } = require('node:test');
const assert = require('node:assert');
const { slug, plain } = require('../lib');

describe('slug', () => {
  it('joins words', () => assert.equal(slug('Hello, World'), 'hello-world'));
  it('takes [any] separator', () => assert.equal(slug('a b', { separator: '_' }), 'a_b'));
  it('drops accents: é → e', () => assert.equal(plain('café'), 'cafe'));
  it('spells out ß & co', () => assert.equal(slug('Straße & Söhne'), 'strasse-and-sohne'));
  it('cuts at whole words', () => assert.equal(slug('one two three', { limit: 8 }), 'one-two'));
});
