import type { z } from 'zod';
import { DomainError } from '../../domain/index.ts';
import type { HelperCommand, HelperDeps } from '../commands/sandbox-helpers.ts';
import { runHelper } from '../commands/sandbox-helpers.ts';
import type { OrderRow } from '../rows.ts';
import { chargebackSchema } from '../schemas.ts';
import type { DeclaredCommand } from './command-routes.ts';
import { declareCommand } from './command-routes.ts';

/** Simulates the buyer's bank at the gateway, in the sandbox. When a function returns, the result is recorded. */
export interface BankHelperDeps extends HelperDeps {
  /** Pays on the order's latest payment session, which is closed. */
  payLate(order: OrderRow): Promise<void>;
  chargeBack(order: OrderRow, outcome: 'open' | 'won' | 'lost'): Promise<void>;
  failRefund(order: OrderRow): Promise<void>;
}

type DeclaredFields = 'action' | 'operationId' | 'summary' | 'description' | 'done';

type BankHelper = Pick<DeclaredCommand, DeclaredFields> & {
  name: HelperCommand['name'];
  body?: typeof chargebackSchema;
  fits(order: OrderRow): boolean;
  /** The refusal for an order that does not fit. */
  refusal: string;
  work(bank: BankHelperDeps, order: OrderRow, body: Chargeback | undefined): Promise<void>;
};

type Chargeback = z.output<typeof chargebackSchema>;

const BANK_HELPERS: readonly BankHelper[] = [
  {
    name: 'latePayment',
    action: 'late-payment',
    operationId: 'testLatePayment',
    summary: 'Pay a cancelled order as its buyer',
    description:
      'The payment arrives after the order was cancelled: it is refunded in full, and the order stays CANCELLED. ' +
      'The order must have had a payment session.',
    done: 'Order paid late',
    fits: ({ status }) => status === 'CANCELLED',
    refusal: 'Cannot pay late; order must be in CANCELLED status',
    work: (bank, order) => bank.payLate(order),
  },
  {
    name: 'secondPayment',
    action: 'second-payment',
    operationId: 'testSecondPayment',
    summary: 'Pay an order a second time as its buyer',
    description: 'The second payment is refunded in full, and the order keeps its status.',
    done: 'Order paid a second time',
    fits: ({ gatewayPaymentId }) => gatewayPaymentId !== null,
    refusal: 'Cannot pay a second time; order must have been paid',
    work: (bank, order) => bank.payLate(order),
  },
  {
    name: 'chargeback',
    action: 'chargeback',
    operationId: 'testChargeback',
    summary: "Charge the payment back as the buyer's bank",
    description:
      'Opens a chargeback of the payment, or ends the one that is open: `won` if you keep the money, `lost` if the ' +
      'bank takes it. While it is open, no money of the payment moves. The timeline has it; no webhook tells of it.',
    done: 'Payment charged back',
    body: chargebackSchema,
    fits: ({ gatewayPaymentId }) => gatewayPaymentId !== null,
    refusal: 'Cannot charge back; order must have been paid',
    work: (bank, order, body) => bank.chargeBack(order, body?.outcome ?? 'open'),
  },
  {
    name: 'failRefund',
    action: 'fail-refund',
    operationId: 'testFailRefund',
    summary: "Fail the refund at the buyer's bank",
    description:
      'The processed refund of a REFUNDED order fails: it is made again, and `refund.processed_at` is null until ' +
      'then. The order stays REFUNDED, and no second event is sent.',
    done: 'Refund failed',
    fits: ({ status, refundProcessedAt }) => status === 'REFUNDED' && refundProcessedAt !== null,
    refusal: 'Cannot fail the refund; order must be in REFUNDED status, with its refund processed',
    work: (bank, order) => bank.failRefund(order),
  },
];

/** The test helpers for what the buyer's bank can do to a payment. */
export function bankHelpers(deps: BankHelperDeps): DeclaredCommand[] {
  return BANK_HELPERS.map(({ name, body: schema, fits, refusal, work, ...declared }) =>
    declareCommand({
      ...declared,
      base: 'sandbox',
      below: '/test-helpers',
      tags: ['Sandbox test helpers'],
      errors: ['GATEWAY_UNAVAILABLE', 'PAYMENTS_NOT_AVAILABLE'],
      waitsForGateway: true,
      body: schema,
      carryOut: (given, body) =>
        runHelper(deps, { ...given, name, body: body ?? {} }, (order) => {
          if (!fits(order)) throw new DomainError('INVALID_STATE', refusal);
          return work(deps, order, body);
        }),
    }),
  );
}
