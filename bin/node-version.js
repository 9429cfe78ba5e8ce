'use strict';
// Required before anything else is loaded, and in old syntax, so that every Node comes this far.
var manifest = require('../package.json');

var supported = /^>=(\d+)\.(\d+) <(\d+)$/.exec(manifest.engines.node);
var found = process.versions.node.split('.').map(Number);
var oldest = supported[1] + '.' + supported[2];
var isTooOld = found[0] < supported[1] || (found[0] === Number(supported[1]) && found[1] < supported[2]);
if (isTooOld || found[0] >= supported[3]) {
  process.stderr.write(
    'assent: This is Node ' +
      process.versions.node +
      ', and Assent runs on Node ' +
      oldest +
      ' to ' +
      (supported[3] - 1) +
      '. Install one of them (https://nodejs.org), and start again.\n',
  );
  process.exit(1);
}
