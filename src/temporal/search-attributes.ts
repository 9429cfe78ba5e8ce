import { isGrpcServiceError, type Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { SEARCH_ATTRIBUTE } from '../workflows/search-attributes';

const TYPE = {
  KEYWORD: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  DATETIME: temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
} as const;

/** gRPC's code for "it is there already", which the server also uses when only some of them are. */
const ALREADY_EXISTS = 6;

/**
 * Registers what operators filter by. It must come before the first worker: an upsert of an attribute that the
 * namespace does not know fails workflow tasks for ever. Running it again changes nothing.
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const known = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTE).filter(
    ({ name }) => !Object.hasOwn(known.customAttributes ?? {}, name),
  );
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map(({ name, type }) => [name, TYPE[type]])),
    });
  } catch (error) {
    if (!isGrpcServiceError(error) || Number(error.code) !== ALREADY_EXISTS) throw error;
  }
}
