import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { GatewayRefused, INSUFFICIENT_BALANCE, TransferFailed } from '../gateway/gateway.ts';
import type { PaymentGateway, TransferInput } from '../gateway/gateway.ts';
import type { TransferredFunds } from '../gateway/gateway-objects.ts';
import { gatewayError, valueOf } from './client.ts';
import type { Answer, RazorpayClient } from './client.ts';
import type { MayLeaveOut } from './list-all.ts';
import { listAll } from './list-all.ts';
import { madeUnder, madeUnderAnother, presentTransfer } from './present.ts';
import { collectionOf, settledTransferSchema, transferSchema } from './schemas.ts';
import type { Transfer } from './schemas.ts';
import { assertSameAmount, balanceNamed, moveOnce } from './move-once.ts';

/** A new transfer is usually pending for a moment. Waiting for it costs less than another call later. */
const NEW_TRANSFER_MS = 200;

const TRANSFERS = '/v1/transfers';
const transferPath = (transferId: string) => `${TRANSFERS}/${encodeURIComponent(transferId)}`;
const transfersPath = (gatewayPaymentId: string) =>
  `/v1/payments/${encodeURIComponent(gatewayPaymentId)}/transfers`;

/** Lists every transfer of a payment. The documents name no `count` and `skip`. @throws as `listAll` */
export function listTransfers(
  client: RazorpayClient,
  operation: string,
  gatewayPaymentId: string,
  mayLeaveOut: MayLeaveOut<Transfer> = () => false,
): Promise<Transfer[]> {
  const source = { path: transfersPath(gatewayPaymentId), isPaged: false, mayLeaveOut };
  return listAll(client, operation, source, transferSchema);
}

/** @throws TransferFailed for a transfer that has moved nothing, GatewayRefused for one whose money was returned */
function assertMade(operation: string, transfer: Transfer, { knownFailures }: TransferInput) {
  const { status } = transfer;
  if (status === 'failed') throw transferFailed(operation, transfer, knownFailures + 1);
  if (status === 'reversed') {
    const description = 'the transfer was reversed: there is nothing left to release';
    throw new GatewayRefused(operation, 'TRANSFER_REVERSED', description);
  }
  return transfer;
}

/** The reasons of transfers that failed because of the balance: api/payments/route/transfers-entity. */
const BALANCE_REASONS = new Set(['insufficient_balance', 'transfer_amount_higher_than_balance']);

function transferFailed(operation: string, { id, error }: Transfer, failures: number) {
  const reason = error?.description ?? error?.reason ?? 'the gateway gives no reason';
  const code = BALANCE_REASONS.has(error?.reason ?? '') ? INSUFFICIENT_BALANCE : 'TRANSFER_FAILED';
  return new TransferFailed(operation, failures, code, `the transfer ${id} failed: ${reason}`);
}

/**
 * Waits a moment for a pending new transfer and fetches it by its id (api/payments/route/fetch-a-transfer), because
 * lists may not have it yet. If it cannot be fetched, it is returned unchanged.
 */
async function afterMoment(client: RazorpayClient, made: Transfer): Promise<Transfer> {
  if (presentTransfer(made).state !== 'pending') return made;
  await sleep(NEW_TRANSFER_MS);
  const path = transferPath(made.id);
  const answer = await client.call({ method: 'GET', path }, transferSchema);
  return answer.kind === 'done' ? answer.value : made;
}

const unreversedPaise = ({ amount, amount_reversed: back }: Transfer) => amount - (back ?? 0);

/** Adds up the money of a payment in the linked account. A failed transfer has moved nothing. */
async function fetchTransferred(
  client: RazorpayClient,
  gatewayPaymentId: string,
): Promise<TransferredFunds> {
  const transfers = await listTransfers(client, 'fetchTransferred', gatewayPaymentId);
  const made = transfers.filter(({ status }) => status !== 'failed');
  const sumOf = (list: Transfer[]) =>
    list.reduce((sum, transfer) => sum + unreversedPaise(transfer), 0);
  return {
    heldPaise: sumOf(made.filter(({ on_hold }) => on_hold)),
    releasedPaise: sumOf(made.filter(({ on_hold }) => !on_hold)),
    // A payment has at most one transfer that has not failed.
    feePaise: made.length === 1 ? (made[0]?.fees ?? null) : null,
    recipients: made
      .filter((transfer) => unreversedPaise(transfer) > 0)
      .map(({ recipient }) => recipient),
    payouts: made.flatMap(({ id: transferId, recipient_settlement_id: payoutId }) =>
      payoutId === null ? [] : { transferId, payoutId },
    ),
  };
}

/**
 * Reads the UTR of a settlement of a linked account from one of its transfers: api/payments/route, the pages
 * fetch-transfers-for-a-settlement and fetch-settlement-details. A settlement that is not processed may still get
 * another UTR.
 */
async function fetchPayoutUtr(client: RazorpayClient, payoutId: string): Promise<string | null> {
  const query = {
    recipient_settlement_id: payoutId,
    'expand[]': 'recipient_settlement',
    count: 1,
  };
  const call = { method: 'GET', path: TRANSFERS, query } as const;
  const answer = await client.call(call, collectionOf(settledTransferSchema));
  const settlement = valueOf('fetchPayoutUtr', answer).items[0]?.recipient_settlement;
  return settlement?.id === payoutId && settlement.status === 'processed' ? settlement.utr : null;
}

/** Refuses a transfer under the key that went to another account: it is neither held nor released. */
function assertSameRecipient(
  operation: string,
  { id, recipient }: Transfer,
  { linkedAccountId }: TransferInput,
): void {
  if (recipient === null || recipient === linkedAccountId) return;
  const description = `the transfer ${id} went to ${recipient} instead of ${linkedAccountId}`;
  throw new GatewayRefused(operation, 'OTHER_RECIPIENT', description);
}

/** Finds the transfer under the key. @throws TransferFailed if it has failed and the caller does not know that */
async function findMade(
  client: RazorpayClient,
  operation: string,
  input: TransferInput,
): Promise<Transfer | undefined> {
  const isOther = madeUnderAnother(input.idempotencyKey);
  const transfers = await listTransfers(client, operation, input.gatewayPaymentId, isOther);
  const made = transfers.filter(madeUnder(input.idempotencyKey));
  const live = made.find(({ status }) => status !== 'failed');
  if (live !== undefined) {
    assertSameAmount(operation, live.amount, input.amountPaise);
    assertSameRecipient(operation, live, input);
    return live;
  }
  // A failure that the caller does not know comes first, because operators need its reason.
  const [newest] = made;
  if (newest === undefined || made.length <= input.knownFailures) return undefined;
  throw transferFailed(operation, newest, made.length);
}

/**
 * Reverses the rest of each transfer on hold (api/payments/route/reverse-a-transfer). A repeat needs no key, because
 * a reversed transfer has no rest.
 */
async function takeBackHeld(
  client: RazorpayClient,
  input: Pick<TransferInput, 'gatewayPaymentId' | 'beforeMoving'>,
): Promise<void> {
  const operation = 'takeBackHeld';
  const held = async () =>
    (await listTransfers(client, operation, input.gatewayPaymentId)).filter(
      (transfer) =>
        transfer.on_hold && transfer.status !== 'failed' && unreversedPaise(transfer) > 0,
    );
  for (const transfer of await held()) {
    const path = `${transferPath(transfer.id)}/reversals`;
    const body = { amount: unreversedPaise(transfer) };
    await input.beforeMoving();
    const answer = await client.call({ method: 'POST', path, body }, z.unknown());
    if (answer.kind === 'done') continue;
    const isLeft = (await held()).some(({ id }) => id === transfer.id);
    if (isLeft) throw gatewayError(operation, answer);
  }
}

/** The operation that makes a transfer: on hold, or released at once if there is none on hold. */
type TransferOperation = 'holdFunds' | 'releaseFunds';

/**
 * Holds and releases a merchant's funds as one Route transfer of the payment. Razorpay accepts no idempotency key
 * for transfers of a payment ("only on the Direct Transfers API"), so the key is stored in the notes, and searched
 * for before each transfer.
 */
export function createTransfers(
  client: RazorpayClient,
): Pick<
  PaymentGateway,
  'fetchTransferred' | 'fetchPayoutUtr' | 'holdFunds' | 'releaseFunds' | 'takeBackHeld'
> {
  async function make(
    operation: TransferOperation,
    input: TransferInput,
  ): Promise<Answer<Transfer | undefined>> {
    const transfer = {
      account: input.linkedAccountId,
      amount: input.amountPaise,
      currency: 'INR',
      notes: { idempotency_key: input.idempotencyKey },
      on_hold: operation === 'holdFunds',
    };
    const body = { transfers: [transfer] };
    const call = { method: 'POST', path: transfersPath(input.gatewayPaymentId), body } as const;
    await input.beforeMoving();
    const answer = balanceNamed(await client.call(call, collectionOf(transferSchema)));
    if (answer.kind !== 'done') return answer;
    const [made] = answer.value.items;
    return { kind: 'done', value: made && (await afterMoment(client, made)) };
  }

  function transferOnce(operation: TransferOperation, input: TransferInput) {
    return moveOnce({
      operation,
      find: () => findMade(client, operation, input),
      make: () => make(operation, input),
    });
  }

  /** Setting `on_hold` to false is idempotent, so it needs no key. */
  async function liftHold(input: TransferInput, transferId: string): Promise<Transfer> {
    const path = transferPath(transferId);
    const call = { method: 'PATCH', path, body: { on_hold: false } } as const;
    await input.beforeMoving();
    const answer = await client.call(call, transferSchema);
    if (answer.kind === 'done') return answer.value;
    const found = await findMade(client, 'releaseFunds', input);
    if (found?.on_hold === false) return found;
    throw gatewayError('releaseFunds', answer);
  }

  return {
    takeBackHeld: (input) => takeBackHeld(client, input),
    fetchTransferred: (gatewayPaymentId) => fetchTransferred(client, gatewayPaymentId),
    fetchPayoutUtr: (payoutId) => fetchPayoutUtr(client, payoutId),

    async holdFunds(input) {
      const made = await transferOnce('holdFunds', input);
      return presentTransfer(assertMade('holdFunds', made, input));
    },

    async releaseFunds(input) {
      const made = await transferOnce('releaseFunds', input);
      const transfer = assertMade('releaseFunds', made, input);
      return presentTransfer(transfer.on_hold ? await liftHold(input, transfer.id) : transfer);
    },
  };
}
