'use strict';

module.exports = { ...require('./slug'), ...require('./table'), ...require('./pad') };
