// A mocha reporter: prints failures, and records every test.
'use strict';
const record = require('./selfplay_record.js');

function titles(test) {
  const above = test.parent ? titles(test.parent) : [];
  return test.title ? [...above, test.title] : above;
}

module.exports = function Reporter(runner) {
  runner.on('test', (test) => record.began(test.file || '', titles(test)));
  runner.on('pass', (test) => record.ended(test.file || '', titles(test), 'passed', test.duration));
  runner.on('pending', (test) => record.ended(test.file || '', titles(test), 'skipped', 0));
  runner.on('fail', (failed, error) => {
    const test = failed.type === 'hook' ? failed.ctx && failed.ctx.currentTest : failed;
    console.log('FAILED ' + titles(failed).join(' ') + '\n' + ((error && (error.stack || error.message)) || error));
    if (test && test.type === 'test') record.ended(test.file || '', titles(test), 'failed', test.duration);
  });
};
