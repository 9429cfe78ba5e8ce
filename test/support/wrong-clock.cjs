'use strict';

/* Preloaded into a process under test, whose machine's clock is wrong by CLOCK_AHEAD_MS. */

const Right = Date;
const now = () => Right.now() + Number(process.env['CLOCK_AHEAD_MS']);

globalThis.Date = class extends Right {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }

  static now() {
    return now();
  }
};
