import { join } from 'node:path';
import { statementsOf, openDatabase, type Database, type EngineFacts } from '../database/pool/connection';
import { admitEntity, changeTrust } from '../database/entity-control/control-entity';
import { findEntity, type EntityCredentials, type NewEntity } from '../database/entity/create-entity';
import { claimRing } from '../database/key-rotation/claim-keyring';
import { operatorActor } from '../process/operator';
import { readOwnJson, writePrivateFile } from '../process/own-file';

/** The file of the sandbox's parties, which `packages/sandbox` reads. */
export interface Cast extends Players {
  /** Address of the API on this machine. */
  apiUrl: string;
  /** Prefix of a workflow's address in the Temporal UI; absent if the UI's address is unknown. */
  workflowUrl?: string | undefined;
}

interface Players {
  shop: Player;
  bank: Player;
}

export type Player = EntityCredentials & { name: string };

/**
 * Creates the sandbox's shop and bank once, as an operator would. A private file keeps them with
 * their secrets. A database that lacks the kept parties gets new parties.
 *
 * @returns the path of the file
 */
export async function prepareCast(
  folder: string,
  databaseUrl: string,
  facts: EngineFacts,
  places: Pick<Cast, 'apiUrl' | 'workflowUrl'>,
): Promise<string> {
  const file = join(folder, 'sandbox.json');
  const advice = 'It holds the parties of the sandbox: remove it, and others are made.';
  const kept = readOwnJson(file, advice) as Players | undefined;
  const db = openDatabase(databaseUrl, 1, facts, {
    onConnect: (connection) => claimRing(statementsOf(connection), facts.keyring),
  });
  try {
    const { shop, bank } = kept && (await knows(db, kept)) ? kept : await makePlayers(db);
    writePrivateFile(file, JSON.stringify({ shop, bank, ...places }, undefined, 2));
    return file;
  } finally {
    await db.destroy();
  }
}

async function knows(db: Database, { shop, bank }: Players): Promise<boolean> {
  const found = await Promise.all([shop, bank].map(({ entityId }) => findEntity(db, entityId)));
  return !found.includes(undefined);
}

async function makePlayers(db: Database): Promise<Players> {
  const by = operatorActor('npm start');
  return db.transaction(async (trx) => {
    const make = async (entity: NewEntity): Promise<Player> => {
      const made = await admitEntity(trx, by, entity);
      if (made === undefined) throw new Error('an entity without clientRef collides with none');
      return { name: entity.name, ...made };
    };
    const bank = await make({ type: 'bank', name: 'Lagoon Bank' });
    const shop = await make({ type: 'merchant', name: 'Mango Market', email: 'hello@mango-market.example' });
    // Customers give standing permissions to trusted merchants alone.
    await changeTrust(trx, by, { merchantId: shop.entityId, trustLevel: 'trusted' });
    return { shop, bank };
  });
}
