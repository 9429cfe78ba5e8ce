'use strict';

/*
 * Preloaded into a process under test, to have faults in it that nobody would write: two in what a
 * request waits for, and one that belongs to no request.
 */

const { Gunzip } = require('node:zlib');

Object.defineProperty(Gunzip.prototype, '_transform', {
  value() {
    setImmediate(() => {
      throw new Error('thrown beside a request');
    });
    void Promise.reject(new Error('rejected beside a request'));
  },
});

process.on('SIGUSR2', () => {
  throw new Error('thrown beside all requests');
});
