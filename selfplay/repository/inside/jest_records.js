// Turns the JSON report of jest or vitest (their form is the same) into records.
'use strict';
const fs = require('fs');
const path = require('path');
const record = require('./selfplay_record.js');

const OUTCOMES = { passed: 'passed', failed: 'failed' };
const report = JSON.parse(fs.readFileSync(path.join(process.env.SELFPLAY_DIR, 'report.json'), 'utf8'));
for (const file of report.testResults) {
  if (!file.assertionResults.length && file.status === 'failed') record.broken(file.name);
  for (const test of file.assertionResults) {
    const titles = [...test.ancestorTitles, test.title].filter((title) => title);
    record.ended(file.name, titles, OUTCOMES[test.status] || 'skipped', test.duration);
  }
}
