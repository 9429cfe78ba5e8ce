'use strict';

const { createRequire, isBuiltin } = require('node:module');
const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/*
 * By itself jest loads all modules anew for each test file, which was a third of its work. With our
 * own modules it still does: no file sees what another one has left in them. Packages are loaded
 * once for all files of a process, by Node itself, as in production. And no module is compiled
 * twice in a process.
 */

/** Compiled from source, as our own modules are, or jest's own for each file. */
const NOT_SHARED = new Set(['@assent/client', '@jest/globals']);

const isPackage = (name) => !/^[./#]/.test(name) && !isBuiltin(name) && !NOT_SHARED.has(name);

/** By file: its source, and the function that jest calls to load it. */
const compiled = new Map();

class SharedPackagesRuntime extends Runtime {
  constructor(...given) {
    super(...given);
    const { executor } = this;
    executor.compile = (source, filename) => {
      const known = compiled.get(filename);
      if (known?.source === source) return known.load;
      const load = compileFunction(source, executor.injectedModuleParameters, { filename });
      compiled.set(filename, { source, load });
      return load;
    };
  }

  requireModuleOrMock(from, name) {
    return isPackage(name) ? createRequire(from)(name) : super.requireModuleOrMock(from, name);
  }
}

module.exports = { __esModule: true, default: SharedPackagesRuntime };
