import { expectGoodPage } from '../../support/browser';
import { button, choose, data, shownToAnybody, shows, type View } from './stage';

const VIEWS: Record<string, View> = {
  'the figures of a provider, with their days as a table': {
    role: 'provider',
    at: 'overview',
    act: (page) => page.getByText('The days as a table').click(),
    shows: ['Today, ', 'NGN 5.00', 'Success rate', 'Why charges were declined', 'Due in the next 30 days'],
  },
  'a month in which nothing has moved': {
    role: 'bank',
    at: 'overview',
    act: async (page) => {
      await shows(page, 'Charged', '70 %', 'Reversed', 'Not enough money');
      await button(page, 'Month before').click();
    },
    shows: ['Month after', 'This month', /Nothing was charged, declined or refunded in \w+ \d+\./],
  },
  'the month before, of a merchant whose clock runs ahead': {
    role: 'merchant',
    at: 'overview',
    act: async (page) => {
      await page.getByText(/Nothing was charged.* yet\./).waitFor();
      await button(page, 'Month before').click();
      await page.getByText('Due charges as a table').click();
    },
    shows: ['Month after', 'NGN 5.00', '5 charges', '62.5 %', 'NGN 0.30', 'Why charges were declined'],
  },
  'past due schedules of a provider': {
    role: 'provider',
    at: 'schedules',
    shows: ['Gold plan', 'NGN 1,500.00', 'Not enough money'],
  },
  'exceptions that wait, to a merchant': {
    role: 'merchant',
    at: 'exceptions',
    act: async (page) => {
      await choose(page, 'Resolved');
      await shows(page, 'Resolved', 'No money moved');
      await page.reload();
    },
    shows: [
      'The bank gave two different answers',
      'The bank’s statement has another amount',
      'booked NGN 2.00, a debit',
      'Open',
    ],
  },
  'an exception that another has to answer': {
    role: 'merchant',
    at: () => `exceptions/${data.exceptionId}`,
    shows: [
      'State',
      'open',
      'An exception was opened',
      'The payer’s bank, or the network’s operator, says what became',
    ],
  },
  'an exception that is resolved': {
    role: 'bank',
    at: () => `exceptions/${data.resolvedId}`,
    shows: [
      'resolved No money moved',
      'What the bank answered',
      'It approved the charge, by its transaction ',
      'It declined the charge',
      'The exception was resolved',
    ],
  },
  'an exception about a transaction that is unknown here': {
    role: 'bank',
    at: () => `exceptions/${data.unknownId}`,
    shows: [
      'On the bank’s statement, and not here',
      'NGN 7.50, a debit',
      'FT-UNKNOWN-1',
      'What became of the money?',
    ],
  },
  'an answer that is refused': {
    role: 'bank',
    at: () => `exceptions/${data.exceptionId}`,
    act: async (page) => {
      await button(page, 'The money moved, and we have taken it back …').click();
      await page.getByLabel('Your transaction that took it back').fill(data.bankTransactionId);
      await expectGoodPage(page);
      await button(page, 'Yes, resolve it').click();
      await page.getByRole('alert').waitFor();
    },
    shows: ['open', 'What became of the money?', 'belongs to another transaction of yours'],
  },
  'an exception that nobody has': {
    role: 'bank',
    at: 'exceptions/exc_none',
    shows: ['All exceptions', 'The exception could not be loaded.', 'Try again'],
  },
  'a bank’s statement': {
    role: 'bank',
    at: () => `payments/${data.statementId}`,
    shows: ['Statement of yours', 'completed', 'Unknown here', 'All of it was compared', 'Download its diff'],
  },
};

describe('the console', () => {
  shownToAnybody(VIEWS);
});
