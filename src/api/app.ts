import { merchantRoutes } from './access/merchant';
import { bankFileRoutes } from './bank-file/bank-file';
import { agreementRoutes } from './billing/agreement';
import { billingRequestRoutes } from './billing/billing-request';
import { intentRoutes } from './billing/intent';
import { positionRoutes } from './billing/position';
import { exceptionRoutes } from './billing/reconciliation-exception';
import { refundRoutes } from './billing/refund';
import { statementRoutes } from './billing/statement';
import { summaryRoutes } from './billing/summary';
import { transactionRoutes } from './billing/transaction';
import { transactionSearchRoutes } from './billing/transaction-search';
import { passkeyRoutes } from './console/passkey';
import { personRoutes } from './console/persons';
import { personActRoutes } from './console/person-acts';
import { customerRoutes } from './customer/customer';
import { decisionRoutes } from './customer/decision';
import { deviceRoutes } from './customer/device';
import { migrationRoutes } from './customer/migration';
import type { ApiDeps } from './http/deps';
import type { Route } from './http/route';
import { recurringRoutes } from './recurring/recurring';
import { clockRoutes } from './sandbox-clock';
import { deliveryRoutes } from './webhook/delivery';
import { feedRoutes } from './webhook/event-feed';
import { endpointRoutes } from './webhook/webhook-endpoint';

/** The table of the API, in the order of its reference. A resource has its rows at its handlers. */
export function routes({ config }: Pick<ApiDeps, 'config'>): Route[] {
  return [
    ...migrationRoutes(),
    ...customerRoutes,
    ...deviceRoutes,
    ...merchantRoutes(config),
    ...intentRoutes(config),
    ...billingRequestRoutes(config),
    ...recurringRoutes(config),
    ...agreementRoutes,
    ...decisionRoutes,
    ...transactionRoutes,
    ...transactionSearchRoutes,
    ...statementRoutes,
    ...summaryRoutes,
    ...positionRoutes,
    ...refundRoutes,
    ...exceptionRoutes,
    ...bankFileRoutes(),
    ...endpointRoutes(config),
    ...deliveryRoutes,
    ...feedRoutes,
    // In production the sandbox's paths are a 404.
    ...(config.ASSENT_MODE === 'sandbox' ? clockRoutes : []),
  ];
}

/** The console's own rows, which are in no document, and not there for API clients. */
export function consoleRoutes(table: readonly Route[]): Route[] {
  const rows: Route[] = [...personRoutes, ...passkeyRoutes, ...personActRoutes(() => [...table, ...rows])];
  return rows;
}
