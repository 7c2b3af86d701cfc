import type { Actor } from '../../src/db/actor.ts';
import { newCommandId, writeDispute } from '../../src/orders/commands/command-queries.ts';
import { OPERATOR_EMAILS } from '../start/demo-users.ts';
import type { DemoDeps, DemoOrder } from './deps.ts';
import * as money from './money.ts';
import { carryOut, record } from './steps.ts';
import type { Act } from './stories.ts';

/** How long the gateway takes to move money. */
const MOVING_MS = 4000;

const GATEWAY: Actor = { name: 'gateway', address: null };
const BUYER: Actor = { name: 'buyer', address: '203.0.113.24' };
const OPERATOR: Actor = { name: `operator:${OPERATOR_EMAILS[0]}`, address: '198.51.100.7' };
const shopOf = ({ merchant }: DemoDeps): Actor => ({
  name: `key:${merchant.sandbox.apiKey}`,
  address: '198.51.100.20',
});

async function dispute(deps: DemoDeps, order: DemoOrder): Promise<void> {
  const commandId = newCommandId();
  const { dispute: reason = '' } = order.story.texts;
  await writeDispute(deps.sql, order.row.orderNumber, { commandId, reason, actor: BUYER });
  await record(deps, order, { type: 'dispute', receivedAtMs: deps.clock.nowMs() }, { commandId });
}

async function failToPay(deps: DemoDeps, order: DemoOrder): Promise<void> {
  const { gatewayPaymentId, reason } = await money.failToPay(deps, order);
  const commandId = `failed:${gatewayPaymentId}`;
  const by = { name: 'failPayment', actor: GATEWAY, body: { reason }, commandId } as const;
  await carryOut(deps, order, by, { type: 'failPayment' });
}

async function pay(deps: DemoDeps, order: DemoOrder): Promise<void> {
  order.payment = await money.pay(deps, order);
  await record(deps, order, { type: 'pay' }, { payment: order.payment });
  await money.hold(deps, order);
}

function decideFor(deps: DemoDeps, order: DemoOrder, winner: 'merchant' | 'buyer'): Promise<void> {
  const body = { reason: order.story.texts.decision ?? '', for: winner };
  const type = winner === 'merchant' ? 'decideForMerchant' : 'decideForBuyer';
  return carryOut(deps, order, { name: 'decide', actor: OPERATOR, body }, { type });
}

/** A command that the merchant's server gives, with a text of the story. */
function byShop(
  name: 'deliver' | 'submitEvidence' | 'resolve' | 'accept' | 'refund' | 'cancel',
  bodyOf: (texts: DemoOrder['story']['texts']) => Record<string, string | undefined> = () => ({}),
) {
  return (deps: DemoDeps, order: DemoOrder): Promise<void> => {
    const texts = Object.entries(bodyOf(order.story.texts));
    const body = Object.fromEntries(texts.map(([field, text = '']) => [field, text]));
    return carryOut(deps, order, { name, actor: shopOf(deps), body }, { type: name });
  };
}

/** Each calls what the API, the workflow and the activities call, so an order has what it would have. */
const ACTS: Record<Act, (deps: DemoDeps, order: DemoOrder) => Promise<void>> = {
  pay,
  failToPay,
  dispute,
  deliver: byShop('deliver', ({ trackingId }) => ({ trackingId })),
  submitEvidence: byShop('submitEvidence', ({ evidence }) => ({ text: evidence })),
  resolve: byShop('resolve', ({ resolution }) => ({ resolution })),
  accept: byShop('accept'),
  refund: byShop('refund', ({ reason }) => ({ reason })),
  cancel: byShop('cancel', ({ reason }) => ({ reason })),
  decideForMerchant: (deps, order) => decideFor(deps, order, 'merchant'),
  decideForBuyer: (deps, order) => decideFor(deps, order, 'buyer'),
  deadline: (deps, order) => record(deps, order, { type: 'expire' }),
  loseToBank: money.loseToBank,
};

/** An act of a story, at the moment of the clock, and the movement of money that it begins. */
export async function act(deps: DemoDeps, order: DemoOrder, name: Act): Promise<void> {
  await ACTS[name](deps, order);
  const { pendingOperation } = order.state;
  if (pendingOperation === null) return;
  await deps.clock.set(deps.clock.nowMs() + MOVING_MS);
  if (pendingOperation.kind === 'refunding') {
    await money.refund(deps, order, pendingOperation.reason);
    return record(deps, order, { type: 'refunded' });
  }
  money.release(deps, order);
  return record(deps, order, { type: 'released' });
}
