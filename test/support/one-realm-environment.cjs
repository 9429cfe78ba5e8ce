'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { LegacyFakeTimers, ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/*
 * By itself jest gives each test file globals of its own, in a context of `node:vm`. A package that
 * is loaded outside of that context knows another `Date` and another `Error`, so each file has to
 * load its packages anew. Here a test file has the globals of its process, as the product has, and
 * shared-packages-runtime.cjs lends it the packages that an earlier file has loaded.
 *
 * When a file ends, the globals, the properties and variables of the process, the timers and what
 * `jest.spyOn` has replaced are as they were. What it leaves in a package, in a prototype or as a
 * listener of the process stays.
 */

/** Those that a test file has used, jest's own among them. */
const used = new Set();
const { value: run } = Object.getOwnPropertyDescriptor(AsyncLocalStorage.prototype, 'run');
AsyncLocalStorage.prototype.run = function (...args) {
  used.add(this);
  return run.apply(this, args);
};

module.exports = class {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);

  constructor({ projectConfig: config }) {
    const { global, moduleMocker } = this;
    const timerConfig = { idToRef: (timer) => timer, refToId: (timer) => timer };
    this.fakeTimers = new LegacyFakeTimers({ config, global, moduleMocker, timerConfig });
    this.fakeTimersModern = new ModernFakeTimers({ config, global });
    // jest itself replaces some of both.
    this.before = [globalThis, process].map((shared) => [shared, Object.getOwnPropertyDescriptors(shared)]);
    this.variables = { ...process.env };
  }

  async setup() {}

  async teardown() {
    this.fakeTimers.dispose();
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    for (const [shared, properties] of this.before) {
      for (const [name, before] of Object.entries(properties)) {
        if ('value' in before && shared[name] !== before.value) Object.defineProperty(shared, name, before);
      }
    }
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
    // Before Node 24 each promise that is made takes a step for each storage that is in use.
    for (const storage of used) storage.disable();
    used.clear();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** None: see the runtime. */
  getVmContext() {
    return null;
  }
};
