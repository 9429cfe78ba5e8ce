#!/usr/bin/env node
'use strict';
// The operator's commands: from source in a checkout, from the build in an installation.
require('./node-version.js');
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const source = join(__dirname, '../src/cli/main.ts');
if (existsSync(source)) {
  // tsconfig.json tells where the packages' sources are, whichever folder this is called from.
  process.env.TSX_TSCONFIG_PATH = join(__dirname, '../tsconfig.json');
  require('tsx/cjs');
  require(source);
} else {
  require('../dist/src/cli/main.js');
}
