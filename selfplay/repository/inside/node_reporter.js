// A reporter for node's own test runner: prints failures and the tests' output, and records every test.
'use strict';
const record = require('./selfplay_record.js');

module.exports = async function* reporter(events) {
  const above = []; // titles of the suites around the next test
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message;
    if (type === 'test:start') above.splice(data.nesting, above.length, data.name);
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details && data.details.error;
    if (error) yield 'FAILED ' + data.name + '\n' + ((error.cause && error.cause.stack) || error.stack || error) + '\n';
    if (!data.file || (data.details && data.details.type === 'suite')) continue;
    if (data.nesting === 0 && require('path').resolve(data.name) === data.file) {
      if (error) record.broken(data.file); // the file itself, which failed
      continue;
    }
    const skipped = data.skip !== undefined || data.todo !== undefined;
    const outcome = skipped ? 'skipped' : error ? 'failed' : 'passed';
    record.ended(data.file, [...above.slice(0, data.nesting), data.name], outcome, data.details.duration_ms);
  }
};
