import { ROLES } from '../domain/entity';
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
import * as bankStatement from './bank-statement/bank-statement';
import * as exception from './billing/reconciliation-exception';
import * as refund from './billing/refund';
import { route } from './http/route';
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
