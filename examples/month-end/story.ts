import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { AssentError, type AssentClient } from '@assent/client';
import { CUSTOMERS } from '../demo/customers';
import { holds } from '../demo/narrator';
import { expectDeclined, expectPaid, hearsOf, openServers, type Charge, type Servers } from '../demo/shop';
import type { Stage } from '../demo/story';
import { makeFolder } from '../../test/launch/folder';
import type { Terminal } from './terminal';

interface Month extends Servers {
  bankId: string;
  /** A day of the next month by the real clock, because test clocks only run ahead. */
  day: (n: number) => string;
}

/**
 * A month of a bank whose files differ, from its first charge to the page that is signed.
 *
 * @throws StoryError where a command ends otherwise
 */
export async function tellMonth(stage: Stage, terminal: Terminal): Promise<void> {
  const { folder, remove } = makeFolder('month-end');
  try {
    const bank = await stage.operator.createEntity('bank', 'Harbour Bank');
    const merchant = await stage.operator.createEntity('merchant', 'Palm Grocers');
    terminal.name(bank.entityId, 'bnk_harbour');
    terminal.name(merchant.entityId, 'mch_palm');
    await stage.operator.run(['entity', 'trust', merchant.entityId, 'trusted']);
    const servers = await openServers(stage.apiUrl, bank, merchant, stage.own);
    const now = new Date();
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
    const day = (n: number) => `${first.slice(0, 8)}${String(n).padStart(2, '0')}`;
    const month = { ...servers, bankId: bank.entityId, day };
    const references = await chargeAndRefund(stage, month);
    for (const [name, reference] of Object.entries(references)) {
      terminal.name(reference, `REF-${name.toUpperCase()}`);
    }
    const files = writeFiles(month, references['oil'] ?? '');
    for (const [name, text] of Object.entries(files)) {
      terminal.name(path.join(folder, name), name);
      writeFileSync(path.join(folder, name), text);
    }
    await operate(stage, month, terminal);
  } finally {
    remove();
  }
}

/** @returns references of the charges, by what was bought */
async function chargeAndRefund({ narrator }: Stage, month: Month): Promise<Record<string, string>> {
  const { bankId, atBank, bankApi, shop } = month;
  const references: Record<string, string> = {};
  await narrator.tell('A bank answers some charges, one of them twice, and one not at all', async (say) => {
    await bankApi.call('onboardCustomers', { body: { customers: CUSTOMERS.slice(0, 1) } });
    const { data } = await shop.api.call('findBanks', { query: { email: 'adaeze.okonkwo@example.com' } });
    const { lookupID = '' } = data.banks.find((one) => one.bankId === bankId) ?? {};
    await atBank.rule({ on: 'billing.request', answer: 'silence' });
    await moveTo(month, 3);
    const { response } = await shop.ask(lookupID, 'Groceries');
    const charge = async (amount: number, name: string) => {
      const made = await shop.charge({ paymentIDs: [String(response['paymentID'])] }, amount, name);
      await hearsOf(atBank, 'billing.request', made.billingRequestId);
      references[name] = made.reference;
      return made;
    };
    const paid = async (amount: number, name: string) => {
      const made = await charge(amount, name);
      await answer(bankApi, made, `FT03-${name}`);
      await expectPaid(shop, made);
      return made;
    };
    const { reference } = await paid(4_500, 'rice');
    const beans = await paid(12_000.5, 'beans');
    const second = await answer(bankApi, beans, 'FT03-beans-again').catch((error: unknown) => error);
    holds(second instanceof AssentError && second.status === 409, 'a second debit was taken');
    await paid(9_000, 'yams');
    const oil = await charge(6_250, 'oil');
    await moveTo(month, 4);
    await expectDeclined(shop, oil, 'expired');
    const refund = await shop.api.call('initiateRefund', { body: { reference, amount: 1_500 } });
    const { refundId } = refund.data;
    await hearsOf(atBank, 'refund.request', refundId);
    const completed = { refundId, action: 'completed', bankTransactionId: 'FT04-rice' } as const;
    await bankApi.call('answerRefund', { body: completed });
    say('rice, beans and yams are paid, a third of the rice is refunded; the oil has expired');
  });
  return references;
}

/** Noon of a day for the bank and the merchant. */
async function moveTo({ bankApi, shop, day }: Month, n: number): Promise<void> {
  for (const api of [bankApi, shop.api]) {
    const { data } = await api.call('getClock');
    const s = Math.round((Date.parse(`${day(n)}T11:00:00Z`) - Date.parse(data.now)) / 1000);
    await api.call('advanceClock', { body: { by: `PT${s}S`, jump: true } });
  }
}

const answer = (bankApi: AssentClient, { billingRequestId }: Charge, bankTransactionId: string) =>
  bankApi.call('answerBillingRequest', { body: { billingRequestId, bankTransactionId } });

/** Yams come in the last file alone; a debit for oil has our reference and an unknown id. */
function writeFiles({ day }: Month, oil: string): Record<string, string> {
  const header = 'bankTransactionId,bookingDate,amount,currency,direction,reference';
  const first = [
    `FT03-rice,${day(3)},4500.00,NGN,debit,`,
    `FT03-beans,${day(3)},12000.50,NGN,debit,`,
    `FT03-beans-again,${day(3)},12000.50,NGN,debit,`,
    `FT03-77,${day(3)},6250.00,NGN,debit,${oil}`,
    `FT04-rice,${day(4)},1500.00,NGN,credit,`,
  ];
  const wrong = Array.from({ length: 40 }, (_, n) => `OTHER-${n},${day(9)},${100 + n}.00,NGN,debit,`);
  const takenBack = '<CdtDbtInd>CRDT</CdtDbtInd><RvslInd>true</RvslInd>';
  return {
    'first.csv': [header, ...first, ''].join('\n'),
    'wrong.csv': [header, ...wrong, ''].join('\n'),
    'second.xml': `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>
  <FrToDt><FrDtTm>${day(11)}T00:00:00</FrDtTm><ToDtTm>${day(20)}T23:59:59</ToDtTm></FrToDt>
  ${entry('FT03-beans-again', '12000.50', day(12), takenBack)}
  ${entry('FT03-yams', '9000.00', day(17), '<CdtDbtInd>DBIT</CdtDbtInd>')}
</Stmt></BkToCstmrStmt></Document>`,
  };
}

async function operate({ narrator }: Stage, month: Month, terminal: Terminal): Promise<void> {
  const { day } = month;
  const tell = (title: string, ...commands: string[]) =>
    narrator.tell(title, async (say) => {
      for (const command of commands) await terminal.run(say, command);
    });
  await moveTo(month, 10);
  await tell(
    'Day 10: the first file of the bank',
    `statement match first.csv --bank bnk_harbour --through ${day(10)}`,
    'exceptions list --entity bnk_harbour',
  );
  await tell(
    'A file of another bank, and it is withdrawn',
    'statement match wrong.csv --bank bnk_harbour',
    "bank-files withdraw stm_2 --reason 'of another bank'",
  );
  await tell(
    'The bank does not find the yams: the network bears them',
    "exceptions resolve exc_3 --resolution written_off --reason 'TICKET-12: the bank has not found it'",
  );
  await moveTo(month, 20);
  await tell(
    'Day 20: a camt.053 that takes the second debit back, and has the yams after all',
    'statement match second.xml --bank bnk_harbour',
    'exceptions list --entity bnk_harbour',
  );
  const named = day(1).slice(0, 7);
  await tell(
    'The end of the month',
    'bank-files list --bank bnk_harbour',
    `write-offs --month ${named}`,
    'trial-balance',
  );
  await tell('What the bank owes', `statement show --entity bnk_harbour --month ${named}`);
  await tell('The page to sign', 'books verify', `period show ${named}`);
  await narrator.tell('A month that is not over by the real clock stays open', (say) =>
    terminal.run(say, `period close ${named} --reason month-end`, 1),
  );
  await tell('An auditor asks about the yams', 'why REF-YAMS');
}

const entry = (id: string, amount: string, booked: string, indicators: string) => `
  <Ntry><Amt Ccy="NGN">${amount}</Amt>${indicators}<Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><Dt>${booked}</Dt></BookgDt><AcctSvcrRef>${id}</AcctSvcrRef></Ntry>`;
