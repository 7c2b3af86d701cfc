import type { OrderStatus } from '../../src/domain/index.ts';
import { openSession, send, type CommandName } from './commands.ts';
import { GATEWAY_ACTS } from './gateway-acts.ts';
import { decide } from './decide.ts';
import type { LoadOrder } from './order.ts';

/** What holds of a stage. */
export interface StageRules {
  /** The status in which an order rests there. */
  readonly ends?: OrderStatus;
  /** How often it rests there; absent where it must not. */
  readonly rests?: number;
}

/** Where the acts on an order have led it, as far as they determine it, and where it rests then. */
export const STAGES = {
  new: { ends: 'ACCEPTED', rests: 0.06 },
  payable: { ends: 'ACCEPTED', rests: 0.06 },
  cancelled: { ends: 'CANCELLED', rests: 1 },
  'cancelled while payable': { ends: 'CANCELLED', rests: 0.5 },
  'expired while payable': { ends: 'CANCELLED', rests: 0.5 },
  'paid late': { ends: 'CANCELLED', rests: 1 },
  paid: { ends: 'PAID', rests: 0.08 },
  delivered: { ends: 'DELIVERED', rests: 0.12 },
  'delivered again': { ends: 'DELIVERED', rests: 0.3 },
  completed: { ends: 'COMPLETED', rests: 1 },
  disputed: { ends: 'DISPUTE_OPEN', rests: 0.1 },
  'under review': { ends: 'DISPUTE_UNDER_REVIEW', rests: 0.1 },
  refunded: { ends: 'REFUNDED', rests: 0.7 },
  'refunded again': { ends: 'REFUNDED', rests: 1 },
  'charged back': {},
  'charged back after delivery': {},
  'charged back and due': {},
  'chargeback won': { ends: 'PAID', rests: 0.3 },
} as const satisfies Record<string, StageRules>;
/** One of {@link STAGES}. */
export type Stage = keyof typeof STAGES;

type Moves = Partial<Record<Stage, Stage>>;

/** What a merchant, a buyer, their banks or an operator does to an order that was created. */
interface Act {
  /** When it is possible, and where it leads. */
  readonly moves?: Moves;
  /** Added in plans whose outcome is open: such as a race, or what an operator has to look at. */
  readonly openMoves?: Moves;
  readonly weight: number;
  /** The most payments that the gateway can capture for it; a late one may be repeated. */
  readonly captures?: number;
  /** @param isRepeated whether its request is repeated once it was answered */
  do(order: LoadOrder, isRepeated: boolean): Promise<unknown>;
}

const command = (
  name: CommandName,
  weight: number,
  moves: Moves,
  more: Partial<Act> = {},
): Act => ({
  do: (order, isRepeated) => send(order, name, isRepeated),
  weight,
  moves,
  ...more,
});

const atGateway = (
  name: keyof typeof GATEWAY_ACTS,
  weight: number,
  moves: Moves,
  more: Partial<Act> = {},
): Act => ({ do: GATEWAY_ACTS[name], weight, moves, ...more });

const STAYS = { paid: 'paid', delivered: 'delivered again' } as const;

/** Every act. */
export const ACTS = {
  openSession: { do: openSession, weight: 20, moves: { new: 'payable' } },
  pay: command('pay', 14, { new: 'paid' }, { captures: 1 }),
  failPayment: command('failPayment', 1, { payable: 'payable' }),
  cancel: command('cancel', 3, { new: 'cancelled', payable: 'cancelled while payable' }),
  deliver: command('deliver', 24, { paid: 'delivered' }),
  refund: command('refund', 3, {
    paid: 'refunded',
    delivered: 'refunded',
    'chargeback won': 'refunded again',
  }),
  dispute: command('dispute', 5, { paid: 'disputed', delivered: 'disputed' }),
  submitEvidence: command('submitEvidence', 3, { disputed: 'under review' }),
  resolve: command('resolve', 3, {
    disputed: 'delivered again',
    'under review': 'delivered again',
  }),
  accept: command('accept', 3, { disputed: 'refunded', 'under review': 'refunded' }),
  advanceOneDay: command('advanceOneDay', 8, {
    new: 'cancelled',
    payable: 'expired while payable',
    delivered: 'completed',
    'delivered again': 'completed',
    'charged back after delivery': 'charged back and due',
  }),
  advanceThreeDays: command('advanceThreeDays', 2, { disputed: 'refunded' }),
  payAtGateway: atGateway('pay', 14, { payable: 'paid' }, { captures: 1 }),
  payTwice: atGateway('payTwice', 4, { payable: 'paid' }, { captures: Infinity }),
  payAuthorized: atGateway('payAuthorized', 2, { payable: 'paid' }, { captures: 1 }),
  payLate: atGateway(
    'payLate',
    2,
    { 'cancelled while payable': 'paid late' },
    // A payment that comes before the deadline is handled still pays the order.
    { captures: Infinity, openMoves: { ...STAYS, 'expired while payable': 'paid late' } },
  ),
  payWrongAmount: atGateway('payWrongAmount', 2, {}, { openMoves: { payable: 'payable' } }),
  payWhileCancelling: {
    do: (order) => Promise.all([GATEWAY_ACTS.pay(order), send(order, 'cancel')]),
    weight: 3,
    openMoves: { payable: 'paid' },
  },
  // The gateway has refunded it in full, and the order waits for another one.
  payAndRefund: atGateway('payAndRefund', 2, {}, { openMoves: { payable: 'payable' } }),
  failAtGateway: atGateway('fail', 2, { payable: 'payable' }),
  refundAll: atGateway('refundAll', 1, {}, { openMoves: STAYS }),
  refundSome: atGateway('refundSome', 1, {}, { openMoves: STAYS }),
  failProcessedRefund: atGateway('failProcessedRefund', 2, { refunded: 'refunded again' }),
  chargeBack: atGateway(
    'chargeBack',
    3,
    { paid: 'charged back', delivered: 'charged back after delivery' },
    { openMoves: { disputed: 'disputed' } },
  ),
  winChargeback: atGateway(
    'winChargeback',
    3,
    {
      'charged back': 'chargeback won',
      'charged back after delivery': 'delivered again',
      'charged back and due': 'completed',
    },
    { openMoves: { refunded: 'refunded again' } },
  ),
  loseChargeback: atGateway(
    'loseChargeback',
    2,
    {},
    {
      openMoves: { 'charged back': 'paid', 'charged back after delivery': 'delivered again' },
    },
  ),
  decideForMerchant: {
    do: (order) => decide(order, 'merchant'),
    weight: 3,
    moves: { 'under review': 'delivered again' },
  },
  decideForBuyer: {
    do: (order) => decide(order, 'buyer'),
    weight: 3,
    moves: { 'under review': 'refunded' },
  },
} as const satisfies Record<string, Act>;
/** The name of an act. */
export type ActName = keyof typeof ACTS;

/** The acts of a plan, by name, each with its moves. */
export function actsWith(outcome: 'known' | 'open') {
  return Object.entries(ACTS as Record<ActName, Act>).flatMap(([name, act]) => {
    const { moves, openMoves, weight, captures = 0 } = act;
    const possible: Moves = outcome === 'open' ? { ...moves, ...openMoves } : { ...moves };
    if (Object.keys(possible).length === 0) return [];
    return { name: name as ActName, weight, captures, moves: possible };
  });
}
