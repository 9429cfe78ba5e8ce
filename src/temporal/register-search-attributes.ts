import type { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTE } from './search-attribute-keys';

const TYPE = {
  KEYWORD: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  DATETIME: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
} as const;

/**
 * Registers the attributes that operators filter by. It must run before the first worker: an upsert
 * of an unknown attribute fails workflow tasks for ever. A second call changes nothing.
 */
export async function registerSearchAttributes(
  connection: Pick<Connection, 'operatorService'>,
  namespace: string,
): Promise<void> {
  const missing = await missingAttributes(connection, namespace);
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes(registration(missing, namespace));
  } catch (error) {
    // Another process may have registered them meanwhile.
    if ((await missingAttributes(connection, namespace)).length > 0) throw error;
  }
}

type Attribute = (typeof SEARCH_ATTRIBUTE)[keyof typeof SEARCH_ATTRIBUTE];

export function registration(attributes: Attribute[], namespace: string) {
  return {
    namespace,
    searchAttributes: Object.fromEntries(attributes.map(({ name, type }) => [name, TYPE[type]])),
  };
}

/** Workflows that set a missing attribute would hang. */
export async function missingAttributes(connection: Pick<Connection, 'operatorService'>, namespace: string) {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  return Object.values(SEARCH_ATTRIBUTE).filter(({ name }) => !Object.hasOwn(customAttributes ?? {}, name));
}
