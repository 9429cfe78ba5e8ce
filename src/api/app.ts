import express, { type Express, type Response } from 'express';
import { ROLES } from '../domain/entity';
import { createAccessTokens } from './access/access-token';
import { errorHandler, unknownEndpoint } from './http/answer';
import { createAuthenticate } from './access/authentication';
import { createClientLogin } from './access/client-login';
import { beforeRoutes } from './http/before-routes';
import {
  bankResponseBody,
  bill,
  billBody,
  billingRequestPath,
  cancelCharge,
  customerBillBody,
  respondToBillingRequest,
  showBillingRequest,
} from './billing/billing-request';
import {
  banksOfCustomer,
  byEmail,
  changeCustomer,
  customersQuery,
  oneCustomer,
  showCustomers,
  updateBody,
} from './customer/customer';
import * as migration from './customer/migration';
import {
  decisionBody,
  decisionPath,
  decisionsQuery,
  listCustomerDecisions,
  updateCustomerDecision,
} from './customer/decision';
import { consoleAccess } from './console/session';
import type { ApiDeps } from './deps';
import {
  devicesQuery,
  enrol,
  enrolBody,
  link,
  linkBody,
  lookUp,
  lookupBody,
  showDevices,
  unlink,
} from './customer/device';
import { feedQuery, listEvents } from './webhook/event-feed';
import { forecastQuery, showForecast } from './recurring/forecast';
import { agreementPath, listAgreements, showAgreement } from './billing/agreement';
import { createFailedAuthentication } from './access/failed-authentication';
import { createBodyPlaces } from './http/body-places';
import { createDownloads } from './http/download';
import { endpoint, serveEach } from './http/endpoint';
import { livenessEndpoint, readinessEndpoint } from './health';
import {
  intentBody,
  intentPath,
  intentResponseBody,
  respondToIntent,
  sendIntents,
  showIntent,
} from './billing/intent';
import { createMerchants, merchantsBody, setTrust, trustBody } from './access/merchant';
import {
  createRecurring,
  listRecurring,
  listSubscriptions,
  scheduleBody,
  schedulePath,
  schedulesQuery,
  showRecurring,
} from './recurring/recurring';
import {
  cancelRecurring,
  cancelSubscription,
  changeRecurring,
  pauseRecurring,
  resumeRecurring,
  scheduleChange,
} from './recurring/action';
import type { Jwks } from './openapi/public';
import * as bankStatement from './bank-statement/bank-statement';
import * as exception from './billing/reconciliation-exception';
import * as refund from './billing/refund';
import { referenceEndpoints } from './http/reference';
import { pageEndpoints } from './pages/pages';
import { sandboxHandlers } from './pages/sandbox';
import { route, serve } from './http/route';
import { tokenEndpoint } from './access/token';
import { listPositions, positionsQuery } from './billing/position';
import * as statement from './billing/statement';
import { showSummary, summaryQuery } from './billing/summary';
import { detailsQuery, historyQuery, listHistory, showTransaction } from './billing/transaction';
import { advanceBody, advanceClock, showClock } from './sandbox-clock';
import {
  deliveriesQuery,
  deliveryPath,
  listWebhookDeliveries,
  redeliverWebhook,
  showWebhookDelivery,
} from './webhook/delivery';
import {
  putEndpoint,
  endpointBody,
  finishRotation,
  rotateSecret,
  sendTestEvent,
  showEndpoint,
} from './webhook/endpoint';

const BANK = { roles: ['bank'], limit: 'caller' } as const;
/** A bank that answers what it was asked. */
const ANSWER = { roles: ['bank'], limit: 'answer' } as const;
/** Merchant, provider and bank, each for what is its own. */
const ANYONE = { roles: ROLES, limit: 'caller' } as const;
/** The two sides of what a merchant asks of a bank's customer. */
const BOTH = { roles: ['merchant', 'bank'], limit: 'caller' } as const;
/** A merchant that looks for a customer. */
const SEEKER = { roles: ['merchant'], limit: 'lookup', namesIdentifiers: true } as const;
/** A merchant, and whoever acts for it. */
const BILLERS = { roles: ['merchant', 'provider'], limit: 'caller' } as const;
/** Whoever names customers that are to be asked, or to pay. */
const ASKER = { limit: 'caller', namesIdentifiers: true } as const;

const BATCH = '/v1/bank/customers/batches/:batchId';
const STATEMENT = '/v1/bank/statements/:statementId';

/**
 * The whole API on one page. Each entry: who may call it, which bucket pays, what it takes, what
 * does it.
 */
export function routes(deps: Pick<ApiDeps, 'config'>) {
  return [
    route(
      'post',
      '/v1/bank/customers',
      { ...BANK, receiver: migration.batchReceiver(), idempotent: true },
      migration.onboardCustomers,
    ),
    route('get', BATCH, { ...BANK, params: migration.batchPath }, migration.showBatch),
    route('get', `${BATCH}/customers.csv`, { ...BANK, params: migration.batchPath }, migration.customersFile),
    route('get', `${BATCH}/failures.csv`, { ...BANK, params: migration.batchPath }, migration.failuresFile),
    route('get', '/v1/bank/customers', { ...BANK, query: customersQuery }, showCustomers),
    route('patch', '/v1/bank/customer', { ...BANK, body: updateBody, query: oneCustomer }, changeCustomer),
    route('get', '/v1/customer/banks', { ...SEEKER, query: byEmail }, banksOfCustomer),

    route(
      'post',
      '/v1/devices',
      { roles: ['bank', 'merchant'], limit: 'caller', body: enrolBody, idempotent: true },
      enrol,
    ),
    route('post', '/v1/bank/customer/device/link', { ...BANK, body: linkBody, idempotent: true }, link),
    route('post', '/v1/bank/customer/device/unlink', { ...BANK, body: linkBody }, unlink),
    route('get', '/v1/bank/devices/list', { ...BANK, query: devicesQuery }, showDevices),
    route('post', '/v1/customer/device/lookup', { ...SEEKER, body: lookupBody }, lookUp),

    route(
      'post',
      '/v1/provider/merchants',
      { roles: ['provider'], limit: 'merchantBatch', body: merchantsBody(deps.config), idempotent: true },
      createMerchants,
    ),
    route(
      'patch',
      '/v1/provider/merchant/trust',
      { roles: ['provider'], limit: 'caller', body: trustBody },
      setTrust,
    ),

    route(
      'post',
      '/v1/billing/intent',
      { ...ASKER, roles: ['merchant'], body: intentBody(deps.config), idempotent: true },
      sendIntents,
    ),
    route('post', '/v1/billing/intent-response', { ...ANSWER, body: intentResponseBody }, respondToIntent),
    route('get', '/v1/billing/intents/:intentId', { ...BOTH, params: intentPath }, showIntent),

    route(
      'post',
      '/v1/customer/bill',
      {
        ...ASKER,
        roles: ['merchant', 'bank'],
        body: billBody(deps.config),
        bodyOf: { bank: customerBillBody(deps.config) },
        idempotent: true,
      },
      bill,
    ),
    route(
      'post',
      '/v1/billing/bank-response',
      { ...ANSWER, body: bankResponseBody },
      respondToBillingRequest,
    ),
    route(
      'get',
      '/v1/billing/requests/:billingRequestId',
      { ...BOTH, params: billingRequestPath },
      showBillingRequest,
    ),
    route(
      'post',
      '/v1/billing/requests/:billingRequestId/cancel',
      { ...BILLERS, params: billingRequestPath, idempotent: true },
      cancelCharge,
    ),
    route(
      'post',
      '/v1/billing/recurring/create',
      { ...BILLERS, ...ASKER, body: scheduleBody(deps.config), idempotent: true },
      createRecurring,
    ),
    route('get', '/v1/billing/recurring', { ...BILLERS, query: schedulesQuery }, listRecurring),
    route('get', '/v1/forecast', { ...ANYONE, query: forecastQuery }, showForecast),
    route('get', '/v1/billing/recurring/:scheduleId', { ...BILLERS, params: schedulePath }, showRecurring),
    route(
      'patch',
      '/v1/billing/recurring/:scheduleId',
      { ...BILLERS, params: schedulePath, body: scheduleChange },
      changeRecurring,
    ),
    route(
      'post',
      '/v1/billing/recurring/:scheduleId/pause',
      { ...BILLERS, params: schedulePath },
      pauseRecurring,
    ),
    route(
      'post',
      '/v1/billing/recurring/:scheduleId/resume',
      { ...BILLERS, params: schedulePath },
      resumeRecurring,
    ),
    route(
      'post',
      '/v1/billing/recurring/:scheduleId/cancel',
      { ...BILLERS, params: schedulePath },
      cancelRecurring,
    ),
    route('get', '/v1/agreements', { ...BILLERS, query: decisionsQuery }, listAgreements),
    route('get', '/v1/agreements/:agreementId', { ...BILLERS, params: agreementPath }, showAgreement),
    route('get', '/v1/bank/customer-decisions', { ...BANK, query: decisionsQuery }, listCustomerDecisions),
    route(
      'put',
      '/v1/bank/customer-decisions/:id',
      { ...BANK, params: decisionPath, body: decisionBody },
      updateCustomerDecision,
    ),
    route('get', '/v1/bank/customer/subscriptions', { ...BANK, query: schedulesQuery }, listSubscriptions),
    route(
      'post',
      '/v1/bank/customer/subscriptions/:scheduleId/cancel',
      { ...BANK, params: schedulePath },
      cancelSubscription,
    ),

    route('get', '/v1/transaction-history', { ...ANYONE, query: historyQuery }, listHistory),
    route('get', '/v1/transaction-details', { ...ANYONE, query: detailsQuery }, showTransaction),

    route('get', '/v1/statements', { ...ANYONE, query: statement.statementQuery }, statement.showStatement),
    route(
      'get',
      '/v1/statements/:date.csv',
      {
        ...ANYONE,
        params: statement.statementFilePath,
        query: statement.statementFileQuery,
      },
      statement.statementFile,
    ),
    route('get', '/v1/summary', { ...ANYONE, query: summaryQuery }, showSummary),
    route('get', '/v1/positions', { ...ANYONE, query: positionsQuery }, listPositions),

    route(
      'post',
      '/v1/refunds/initiate',
      { roles: ['merchant'], limit: 'caller', body: refund.refundBody, idempotent: true },
      refund.startRefund,
    ),
    route(
      'post',
      '/v1/bank/refund-response',
      { ...ANSWER, body: refund.refundResponseBody },
      refund.respondToRefund,
    ),
    route('get', '/v1/refunds', { ...ANYONE, query: refund.refundsQuery }, refund.showRefunds),
    route('get', '/v1/refunds/:refundId', { ...ANYONE, params: refund.refundPath }, refund.showRefund),

    route(
      'get',
      '/v1/reconciliation/exceptions',
      { ...ANYONE, query: exception.exceptionsQuery },
      exception.showExceptions,
    ),
    route(
      'get',
      '/v1/reconciliation/exceptions/:exceptionId',
      { ...ANYONE, params: exception.exceptionPath },
      exception.showException,
    ),
    route(
      'post',
      '/v1/reconciliation/exceptions/:exceptionId/respond',
      { ...ANSWER, params: exception.exceptionPath, body: exception.respondBody },
      exception.respondToException,
    ),

    route(
      'post',
      '/v1/bank/statements',
      {
        ...BANK,
        query: bankStatement.statementQuery,
        upload: bankStatement.statementUpload(),
        idempotent: true,
      },
      bankStatement.sendStatement,
    ),
    route('get', STATEMENT, { ...BANK, params: bankStatement.statementPath }, bankStatement.showStatement),
    route(
      'get',
      `${STATEMENT}/differences.csv`,
      { ...BANK, params: bankStatement.statementPath },
      bankStatement.differencesFile,
    ),

    route('get', '/v1/webhooks/endpoint', ANYONE, showEndpoint),
    route('put', '/v1/webhooks/endpoint', { ...ANYONE, body: endpointBody(deps.config) }, putEndpoint),
    route('post', '/v1/webhooks/endpoint/rotate-secret', { ...ANYONE, idempotent: true }, rotateSecret),
    route('post', '/v1/webhooks/endpoint/rotate-secret/finish', ANYONE, finishRotation),
    route('post', '/v1/webhooks/endpoint/test', { ...ANYONE, idempotent: true }, sendTestEvent),
    route('get', '/v1/webhooks/deliveries', { ...ANYONE, query: deliveriesQuery }, listWebhookDeliveries),
    route(
      'get',
      '/v1/webhooks/deliveries/:deliveryId',
      { ...ANYONE, params: deliveryPath },
      showWebhookDelivery,
    ),
    route(
      'post',
      '/v1/webhooks/deliveries/:deliveryId/redeliver',
      { ...ANYONE, params: deliveryPath, idempotent: true },
      redeliverWebhook,
    ),
    route('get', '/v1/events', { ...ANYONE, query: feedQuery }, listEvents),

    ...(deps.config.ASSENT_MODE === 'sandbox' ? sandboxRoutes() : []),
  ];
}

/** In production these paths lead nowhere. */
function sandboxRoutes() {
  return [
    route(
      'post',
      '/v1/sandbox/clock/advance',
      { ...BOTH, body: advanceBody, idempotent: true },
      advanceClock,
    ),
    route('get', '/v1/sandbox/clock', BOTH, showClock),
  ];
}

/** The HTTP application, ready to be listened with. */
export function createApp(deps: ApiDeps): Express {
  const tokens = createAccessTokens(deps);
  const failures = createFailedAuthentication(deps.config);
  const authenticate = createAuthenticate(deps, tokens, failures);
  const login = createClientLogin(deps, tokens, failures);
  const bodyPlaceOf = createBodyPlaces();
  const sendDownload = createDownloads();

  const app = express();
  app.set('query parser', false);
  app.set('etag', false);
  app.enable('case sensitive routing');
  // Idempotency keys count per path: a second spelling of one would let a repeat charge again.
  app.enable('strict routing');
  app.set('trust proxy', deps.config.TRUSTED_PROXIES);
  app.use(beforeRoutes(deps.log, failures, deps.tracing));
  const forConsole = deps.config.ASSENT_CONSOLE
    ? consoleAccess(deps, { login, authenticate, failures })
    : undefined;
  if (forConsole) app.use(forConsole.calls);

  const table = routes(deps);
  serveEach(app, [
    endpoint('get', '/', (_req, res) => res.redirect(deps.sandbox ? '/sandbox' : '/docs')),
    endpoint('get', '/healthz', livenessEndpoint),
    endpoint('get', '/readyz', readinessEndpoint(deps)),
    endpoint(
      'get',
      '/.well-known/jwks.json',
      async (_req, res: Response<Jwks>) => void res.json({ keys: await tokens.jwks() }),
    ),
    endpoint('post', '/v1/oauth/token', tokenEndpoint(login, failures)),
    ...table.map((one) =>
      endpoint(one.method, one.path, serve(deps, authenticate, bodyPlaceOf, sendDownload, one)),
    ),
    ...(forConsole?.endpoints ?? []),
    ...referenceEndpoints(table),
    ...pageEndpoints([
      ...(forConsole ? (['console'] as const) : []),
      ...(deps.sandbox ? (['sandbox'] as const) : []),
    ]),
  ]);
  if (deps.sandbox) app.use('/sandbox', sandboxHandlers(deps.sandbox));

  app.use(unknownEndpoint);
  app.use(errorHandler);
  return app;
}
