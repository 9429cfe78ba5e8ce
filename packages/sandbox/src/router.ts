import { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { z } from 'zod';
import { verifyWebhook, WebhookError } from '../../client/src';
import { startOfDay } from '../../../src/domain/calendar';
import { STEPS, type Customer, type Permission } from './state';
import { Failure } from '../../../src/domain/failures';
import { cut, maskedBody, maskedHeaders } from './masked';
import { inWords, type Sandbox } from './sandbox';

/*
 * Routes below `/sandbox`: the page's stream, its buttons and the parties' webhooks. The server
 * around them parses the bodies, and rejects calls from pages of other sites.
 */

const id = z.string().min(1).max(100);
const amount = z.number().positive();
const description = z.string().min(1).max(200);
const limit = z.number().positive().optional();
const limits = z.strictObject({ perCharge: limit, daily: limit, monthly: limit });

function act<Body>(schema: z.ZodType<Body>, work: (body: Body) => Promise<string>) {
  return async (body: unknown): Promise<string> => {
    const read = schema.safeParse(body);
    if (read.success) return work(read.data);
    throw new Failure('invalid_request', 'This is not what the button sends: reload the page');
  };
}

/** The page's buttons. Each resolves to a message for the reader. */
function actsOf(sandbox: Sandbox): Map<string, (body: unknown) => Promise<string>> {
  const { shop, phone } = sandbox;
  const customer = (customerId: string): Customer => {
    const found = sandbox.state.customers.find((one) => one.customerId === customerId);
    if (!found) throw new Error('The bank has no such customer: reload the page.');
    return found;
  };
  const permission = (permissionId: string): Permission => {
    const found = sandbox.state.permissions.find((one) => one.id === permissionId);
    if (!found) throw new Error('The customer has given no such permission: reload the page.');
    return found;
  };
  const billing = (name: 'charge' | 'subscribe') =>
    act(z.strictObject({ customerId: id, amount, description }), (body) =>
      shop[name]({ ...body, customer: customer(body.customerId) }),
    );
  const skipping = (name: 'skip' | 'unskip') =>
    act(z.strictObject({ scheduleId: id, n: z.int().min(0) }), (body) =>
      phone[name](body.scheduleId, body.n),
    );
  const steered = z.strictObject({ scheduleId: id, act: z.enum(['pause', 'resume', 'cancel']) });
  const decision = z.enum(['approve_once', 'approve_recurring', 'deny', 'leave']);
  const acts = {
    ask: act(z.strictObject({ customerId: id, description, limits }), (body) =>
      shop.ask({ ...body, customer: customer(body.customerId) }),
    ),
    charge: billing('charge'),
    subscribe: billing('subscribe'),
    refund: act(z.strictObject({ reference: id }), (body) => shop.refund(body.reference)),
    steer: act(steered, (body) => shop.steer(body.scheduleId, body.act)),
    advance: act(z.strictObject({ by: z.enum(STEPS) }), (body) => shop.advance(body.by)),
    limit: act(z.strictObject({ id, limits }), (body) => phone.limit(permission(body.id), body.limits)),
    pause: act(z.strictObject({ id, until: z.iso.date().optional() }), (body) =>
      phone.pause(
        permission(body.id),
        body.until === undefined ? undefined : startOfDay(body.until, sandbox.state.timeZone),
      ),
    ),
    resume: act(z.strictObject({ id }), (body) => phone.resume(permission(body.id))),
    skip: skipping('skip'),
    unskip: skipping('unskip'),
    revoke: act(z.strictObject({ id }), (body) => phone.revoke(permission(body.id))),
    answer: act(z.strictObject({ id, decision, limits: limits.optional() }), ({ id: promptId, ...answer }) =>
      phone.answer(promptId, answer),
    ),
  };
  return new Map(Object.entries(acts));
}

export function sandboxRouter(sandbox: Sandbox): RequestHandler {
  const router = Router({ caseSensitive: true, strict: true });
  const acts = actsOf(sandbox);

  router.get('/events', (req, res, next) => {
    // A HEAD request never reads its stream.
    if (req.method === 'HEAD') return next();
    const opened = sandbox.stream.open(req, res, { state: sandbox.state, wire: sandbox.wire.all });
    if (!opened) next(new Failure('rate_limited', 'The API stops', { retryAfterS: 5 }));
    else sandbox.repaint();
  });

  const press = async (req: Request, res: Response, next: NextFunction) => {
    const pressed = acts.get(String(req.params['act']));
    if (!pressed) return next();
    try {
      res.json({ statusCode: 200, success: true, message: await pressed(req.body) });
    } catch (error) {
      throw error instanceof Failure ? error : new Failure('sandbox_refused', inWords(error));
    } finally {
      sandbox.repaint();
    }
  };
  router.get('/stories/:reference', (req, res, next) => {
    sandbox.storyOf(req.params.reference).then(
      (data) => void res.json({ statusCode: 200, success: true, message: 'The story', data }),
      (error: unknown) => next(new Failure('sandbox_refused', inWords(error))),
    );
  });
  router.post('/acts/:act', (req, res, next) => {
    press(req, res, next).catch(next);
  });
  for (const party of ['shop', 'bank'] as const) {
    router.post(`/webhooks/${party}`, (req, res) => {
      const { status, said } = receive(sandbox, party, req);
      res.status(status).type('text').send(said);
    });
  }
  return router;
}

/** Anybody may post here: a forged webhook is shown on the wire, and changes nothing. */
function receive(sandbox: Sandbox, party: 'shop' | 'bank', req: Request): { status: number; said: string } {
  const body = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  const { event, problem } = verified(body, req, sandbox.cast[party].webhookSecret);
  const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const answered = sandbox.wire.begin({
    kind: 'webhook',
    party,
    method: req.method,
    path: `/sandbox/webhooks/${party}`,
    url: `${sandbox.cast.apiUrl}/sandbox/webhooks/${party}`,
    headers: maskedHeaders(headers),
    // A forged body is not parsed.
    body: event ? maskedBody(body.toString(), 'application/json') : cut(body.toString()),
    webhookType: event?.webhookType ?? null,
    signature: { verified: event !== undefined, problem: problem ?? null },
  });
  const [status, said] = event ? [200, 'received'] : [401, problem ?? 'not genuine'];
  if (event) sandbox.webhook(party, event);
  answered(status, said);
  return { status, said };
}

function verified(body: Buffer, req: Request, secret: string) {
  try {
    return { event: verifyWebhook(body, req.headers, secret) };
  } catch (error) {
    if (error instanceof WebhookError) return { problem: error.message };
    throw error;
  }
}
