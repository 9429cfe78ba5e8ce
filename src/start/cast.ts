import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { executorOf, openDatabase, type Database } from '../database/connection';
import { admitEntity, changeTrust } from '../database/entity/control';
import { findEntity, type NewEntity } from '../database/entity/entity';
import type { Keyring } from '../database/keys/keyring';
import { claimRing } from '../database/keys/sealing-key';
import { operatorActor } from '../operator';
import type { Cast, Player } from '../sandbox/cast';
import { readOwnJson } from './kept-data';
import { writePrivateFile } from './private-file';

/**
 * Shop and bank of the sandbox, as an operator makes any: once, and kept with their secrets in a
 * private file. A database that does not know them gets others.
 *
 * @returns the file, for the API
 */
export async function prepareCast(
  folder: string,
  databaseUrl: string,
  ring: Keyring,
  places: Pick<Cast, 'apiUrl' | 'workflowUrl'>,
): Promise<string> {
  const file = join(folder, 'sandbox.json');
  const db = openDatabase(databaseUrl, 1, (connection) => claimRing(executorOf(connection), ring));
  try {
    const players = (await knownPlayers(db, file)) ?? (await makePlayers(db, ring));
    writePrivateFile(file, JSON.stringify({ ...players, ...places }, undefined, 2));
    return file;
  } finally {
    await db.destroy();
  }
}

type Players = Pick<Cast, 'shop' | 'bank'>;

/** @throws StartError where the file is damaged */
async function knownPlayers(db: Database, file: string): Promise<Players | undefined> {
  if (!existsSync(file)) return undefined;
  const { shop, bank } = readOwnJson<Players>(
    file,
    (read) => typeof read.shop?.entityId === 'string' && typeof read.bank?.entityId === 'string',
    'It holds the parties of the sandbox: remove it, and others are made.',
  );
  const found = await Promise.all([shop, bank].map(({ entityId }) => findEntity(db, entityId)));
  return found.includes(undefined) ? undefined : { shop, bank };
}

async function makePlayers(db: Database, ring: Keyring): Promise<Players> {
  const by = operatorActor('npm start');
  return db.transaction(async (trx) => {
    const make = async (entity: NewEntity): Promise<Player> => {
      const made = await admitEntity(trx, ring, by, entity);
      if (made === undefined) throw new Error('an entity without clientRef collides with none');
      return { name: entity.name, ...made };
    };
    const bank = await make({ type: 'bank', name: 'Lagoon Bank' });
    const shop = await make({ type: 'merchant', name: 'Mango Market', email: 'hello@mango-market.example' });
    // Customers give standing permissions to trusted merchants alone.
    await changeTrust(trx, ring, by, { merchantId: shop.entityId, trustLevel: 'trusted' });
    return { shop, bank };
  });
}
