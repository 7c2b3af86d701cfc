import type { OrderMessageName } from '../../src/contracts/order-workflow.ts';
import { commandOf, MESSAGE_NAMES } from '../../workflows/order/messages.ts';
import { rowsOf } from '../domain/lifecycle-walk.ts';
import { atRazorpay } from '../support/gateway.ts';

/** What the messages carry that have more than a name. */
const CONTENTS: Partial<Record<OrderMessageName, object[]>> = {
  pay: [atRazorpay('pay_of_nobody')],
  decide: [{ for: 'merchant' }, { for: 'buyer' }],
  settle: [{ outcome: 'released' }, { outcome: 'refunded' }],
  advance: [{ seconds: 60 }],
};

/** Every message, with the command that it gives. */
export const MESSAGES = MESSAGE_NAMES.flatMap((name) =>
  (CONTENTS[name] ?? [{}]).map((message) => ({
    name,
    message,
    type: commandOf(name, message).type,
  })),
);

/** The rows of the transition table with messages, but for those with these names. */
export const rowsWithout = (...without: OrderMessageName[]) =>
  MESSAGES.filter(({ name }) => !without.includes(name)).flatMap((sent) =>
    rowsOf([sent.type]).map((row) => ({ ...row, ...sent })),
  );
