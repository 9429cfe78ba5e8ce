import { EventEmitter, once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import express, { type ErrorRequestHandler, type Express } from 'express';
import { sendDownload, type Download } from '../../../src/api/http/download';
import { DOWNLOADS, Slots } from '../../../src/api/http/slots';
import { SCOPES } from '../../../src/domain/scope';

let failures: unknown[];

/** Works with a server of that app; `ask` gets the answer to a GET. */
async function withServer<Value>(
  app: Express,
  work: (ask: (path: string) => Promise<IncomingMessage>) => Promise<Value>,
): Promise<Value> {
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    return await work(async (path) => {
      const asked = request({ port, host: '127.0.0.1', path, agent: false }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      return answer;
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The text of a download as it arrives, or as much of it as `read` wants. */
async function served<Value>(
  pages: Download['pages'],
  read: (answer: IncomingMessage) => Promise<Value>,
): Promise<Value> {
  failures = [];
  const app = express();
  app.get('/', (_req, res) => sendDownload(res, { fileName: 'things.csv', columns: ['id', 'note'], pages }));
  const errorHandler: ErrorRequestHandler = (error, _req, res, next) => {
    failures.push(error);
    if (res.headersSent) next(error);
    else res.status(503).end();
  };
  app.use(errorHandler);
  return withServer(app, async (ask) => read(await ask('/')));
}

async function whole(answer: IncomingMessage) {
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode, headers: answer.headers, text };
}

test('a file without rows is its header line', async () => {
  const { status, headers, text } = await served((async function* () {})(), whole);

  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  expect(headers['content-disposition']).toBe('attachment; filename="things.csv"');
  expect(text).toBe('id,note\r\n');
});

test.each([
  ['a,b', '"a,b"'],
  ['say "no"', '"say ""no"""'],
  ['a\nb', '"a\nb"'],
  ['=1+1', `"'=1+1"`],
  ['+234', `"'+234"`],
  ['-1', `"'-1"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['＝1', `"'＝1"`],
  ['x;=1+2', `"x;'=1+2"`],
  ['x\t=1+2', `"x\t'=1+2"`],
  ['x\r\n=1+2', `"x\r\n'=1+2"`],
  ['x; "=1+2', `"x; ""'=1+2"`],
  ['x y', '"x y"'],
  ['x;y', '"x;y"'],
  [null, ''],
])('%j reaches a spreadsheet as text', async (note, written) => {
  const pages = (async function* () {
    yield [{ id: 1, note, secret: 'not a column' }];
  })();

  expect((await served(pages, whole)).text).toBe(`id,note\r\n1,${written}\r\n`);
});

test('what fails before the first row is an answer like any other', async () => {
  const pages = (async function* () {
    yield await Promise.reject<object[]>(new Error('the database is away'));
  })();

  const { status, headers } = await served(pages, whole);

  expect(status).toBe(503);
  expect(headers['content-disposition']).toBeUndefined();
});

test('what fails later cuts the connection, so that half a file is not taken for the whole', async () => {
  const pages = (async function* () {
    yield [{ id: 1, note: 'first' }];
    throw new Error('the database is away');
  })();

  await expect(served(pages, whole)).rejects.toThrow('aborted');
  expect(failures).toEqual([new Error('the database is away')]);
});

test('a receiver that hangs up ends the reading, and is nobody’s fault', async () => {
  const reading = new EventEmitter();
  const ended = once(reading, 'ended');
  const pages = (async function* () {
    try {
      for (let id = 0; ; id++) yield Array.from({ length: 1000 }, () => ({ id, note: 'x'.repeat(100) }));
    } finally {
      reading.emit('ended');
    }
  })();

  await served(pages, async (answer) => {
    await once(answer, 'data');
    answer.destroy();
    await ended;
  });

  expect(failures).toEqual([]);
});

test('one that hangs up while nothing is found ends it, too, and has its slot until then', async () => {
  const reading = new EventEmitter();
  const ended = once(reading, 'ended');
  const left = once(reading, 'left');
  const pages = (async function* () {
    try {
      yield [{ id: 1, note: 'x'.repeat(100_000) }];
      for (;;) yield await new Promise<[]>((resolve) => setImmediate(resolve, []));
    } finally {
      reading.emit('ended');
    }
  })();
  const app = express();
  app.get('/', (_req, res) =>
    sendDownload(res, { fileName: 'things.csv', columns: ['id', 'note'], pages }).then(() => {
      reading.emit('left');
    }),
  );

  await withServer(app, async (ask) => {
    const answer = await ask('/');
    await once(answer, 'data');
    answer.destroy();
    const first = await Promise.race([ended.then(() => 'ended'), left.then(() => 'left')]);
    expect(first).toBe('ended');
  });
});

/** Passes a minute of the process's timers, while sockets and files go on in their own time. */
async function passAMinute(): Promise<void> {
  for (let s = 0; s < 60; s++) {
    jest.advanceTimersByTime(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a file whose sending takes long', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  const page = Array.from({ length: 1000 }, (_, id) => ({ id, note: 'x'.repeat(100) }));

  test('is cut where its receiver takes next to nothing of it', async () => {
    let isOver = false;
    const pages = (async function* () {
      try {
        for (;;) yield await Promise.resolve(page);
      } finally {
        isOver = true;
      }
    })();
    await served(pages, async (answer) => {
      await once(answer, 'readable');
      for (let minutes = 0; minutes < 30; minutes++) await passAMinute();
      expect(isOver).toBe(true);
      await expect(whole(answer)).rejects.toThrow('aborted');
    });
    expect(failures).toEqual([]);
  });

  test('is sent whole where it is long in the making', async () => {
    const made = new EventEmitter();
    const pages = (async function* () {
      yield page;
      await once(made, 'made');
      yield page;
    })();
    const { text } = await served(pages, async (answer) => {
      const read = whole(answer);
      for (let minutes = 0; minutes < 30; minutes++) await passAMinute();
      made.emit('made');
      return read;
    });
    expect(text.split('\r\n')).toHaveLength(2 + 2 * page.length);
  });
});

const ROW_EVERY_MS = 20;
/**
 * A file that never ends, a row at a time: what fills sockets would take a processor for a minute.
 */
async function* endless(): Download['pages'] {
  for (let id = 0; ; id++) {
    yield [{ id, note: 'x' }];
    await wait(ROW_EVERY_MS);
  }
}

const refuse: ErrorRequestHandler = (error: { code: string; retryAfterS: number }, _req, res, _next) => {
  res
    .status(error.code === 'rate_limited' ? 429 : 503)
    .set('Retry-After', String(error.retryAfterS))
    .end();
};

/** Downloads of a server of its own, each caller at a path of its own. */
async function withDownloads(tell: (ask: (caller: string) => Promise<IncomingMessage>) => Promise<void>) {
  const slots = new Slots(DOWNLOADS);
  const app = express();
  app.get('/:caller', (req, res) =>
    slots.hold({ entityId: req.params.caller, role: 'merchant', scopes: SCOPES }, () =>
      sendDownload(res, { fileName: 'things.csv', columns: ['id', 'note'], pages: endless() }),
    ),
  );
  app.use(refuse);
  await withServer(app, (ask) => tell((caller) => ask(`/${caller}`)));
}

test('a caller has four files at a time, keeps no other’s out, and may ask again once it hangs up', () =>
  withDownloads(async (ask) => {
    const [first] = await Promise.all(['one', 'one', 'one', 'one'].map(ask));
    expect(first?.statusCode).toBe(200);
    const fifth = await ask('one');
    expect([fifth.statusCode, fifth.headers['retry-after']]).toEqual([429, '5']);
    expect((await ask('two')).statusCode).toBe(200);
    first?.destroy();
    // Heard of by the server a moment later.
    while ((await ask('one')).statusCode !== 200);
  }));

test('only what no caller could get is refused as ours: the forty-first file of eleven owners', () =>
  withDownloads(async (ask) => {
    const all = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(`owner${n % 10}`)));
    expect(all.map(({ statusCode }) => statusCode)).toEqual(Array(40).fill(200));
    expect((await ask('eleventh')).statusCode).toBe(503);
  }));
