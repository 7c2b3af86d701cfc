import { GatewayRefused } from '../gateway.ts';
import type { PaymentGateway, TransferInput, TransferredFunds } from '../gateway.ts';
import { gatewayError } from './client.ts';
import type { Answer, RazorpayClient } from './client.ts';
import type { MayLeaveOut } from './list-all.ts';
import { listAll } from './list-all.ts';
import { madeUnder, madeUnderAnother, presentTransfer } from './present.ts';
import { collectionOf, transferSchema } from './schemas.ts';
import type { Transfer } from './schemas.ts';
import { assertSameAmount, moveOnce } from './move-once.ts';

const transfersPath = (gatewayPaymentId: string) =>
  `/v1/payments/${encodeURIComponent(gatewayPaymentId)}/transfers`;

/** Every transfer of a payment: the documents name no `count` and `skip`. @throws as `listAll` */
export function listTransfers(
  client: RazorpayClient,
  operation: string,
  gatewayPaymentId: string,
  mayLeaveOut: MayLeaveOut<Transfer> = () => false,
): Promise<Transfer[]> {
  const source = { path: transfersPath(gatewayPaymentId), isPaged: false, mayLeaveOut };
  return listAll(client, operation, source, transferSchema);
}

/** @throws GatewayRefused for a transfer that has moved nothing, or whose money is back */
function assertMade(operation: string, transfer: Transfer): Transfer {
  const { id, status } = transfer;
  if (status === 'failed') {
    throw new GatewayRefused(operation, 'TRANSFER_FAILED', `the transfer ${id} failed`);
  }
  if (status === 'reversed') {
    const description = 'the transfer was reversed: there is nothing left to release';
    throw new GatewayRefused(operation, 'TRANSFER_REVERSED', description);
  }
  return transfer;
}

function first(answer: Answer<{ items: Transfer[] }>): Answer<Transfer | undefined> {
  return answer.kind === 'done' ? { kind: 'done', value: answer.value.items[0] } : answer;
}

/** The money of a payment in the linked account. A failed transfer has moved nothing. */
async function fetchTransferred(
  client: RazorpayClient,
  gatewayPaymentId: string,
): Promise<TransferredFunds> {
  const transfers = await listTransfers(client, 'fetchTransferred', gatewayPaymentId);
  const made = transfers.filter(({ status }) => status !== 'failed');
  const sumOf = (list: Transfer[]) =>
    list.reduce((sum, { amount, amount_reversed: back }) => sum + amount - (back ?? 0), 0);
  return {
    heldPaise: sumOf(made.filter(({ on_hold }) => on_hold)),
    releasedPaise: sumOf(made.filter(({ on_hold }) => !on_hold)),
  };
}

/**
 * Holds and releases a merchant's funds as one Route transfer of the payment. Razorpay accepts no
 * idempotency key for transfers of a payment ("only on the Direct Transfers API"), so the key is
 * stored in the notes and searched for before each transfer.
 */
export function createTransfers(
  client: RazorpayClient,
): Pick<PaymentGateway, 'fetchTransferred' | 'holdFunds' | 'releaseFunds'> {
  async function find(operation: string, input: TransferInput): Promise<Transfer | undefined> {
    const isOther = madeUnderAnother(input.idempotencyKey);
    const transfers = await listTransfers(client, operation, input.gatewayPaymentId, isOther);
    const made = transfers.filter(madeUnder(input.idempotencyKey));
    // A failed transfer has moved nothing and is ignored.
    const transfer = made.find(({ status }) => status !== 'failed');
    if (transfer !== undefined) assertSameAmount(operation, transfer.amount, input.amountPaise);
    return transfer;
  }

  async function make(
    input: TransferInput,
    onHold: boolean,
  ): Promise<Answer<Transfer | undefined>> {
    const transfer = {
      account: input.linkedAccountId,
      amount: input.amountPaise,
      currency: 'INR',
      notes: { idempotency_key: input.idempotencyKey },
      on_hold: onHold,
    };
    const body = { transfers: [transfer] };
    const call = { method: 'POST', path: transfersPath(input.gatewayPaymentId), body } as const;
    await input.beforeMoving();
    return first(await client.call(call, collectionOf(transferSchema)));
  }

  function transferOnce(operation: string, input: TransferInput, onHold: boolean) {
    return moveOnce({
      operation,
      find: () => find(operation, input),
      make: () => make(input, onHold),
    });
  }

  /** Setting `on_hold` to false is idempotent, so this needs no key. */
  async function liftHold(input: TransferInput, transferId: string): Promise<Transfer> {
    const path = `/v1/transfers/${encodeURIComponent(transferId)}`;
    const call = { method: 'PATCH', path, body: { on_hold: false } } as const;
    const answer = await client.call(call, transferSchema);
    if (answer.kind === 'done') return answer.value;
    const found = await find('releaseFunds', input);
    if (found?.on_hold === false) return found;
    throw gatewayError('releaseFunds', answer);
  }

  return {
    fetchTransferred: (gatewayPaymentId) => fetchTransferred(client, gatewayPaymentId),

    async holdFunds(input) {
      return presentTransfer(assertMade('holdFunds', await transferOnce('holdFunds', input, true)));
    },

    async releaseFunds(input) {
      const made = await transferOnce('releaseFunds', input, false);
      const transfer = assertMade('releaseFunds', made);
      return presentTransfer(transfer.on_hold ? await liftHold(input, transfer.id) : transfer);
    },
  };
}
