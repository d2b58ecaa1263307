#!/bin/bash
node --test --test-reporter=tap test/slug.test.js test/table.test.js
