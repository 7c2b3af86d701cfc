import { loadConfig } from '../../src/config.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { COMMANDS, openSession, send, type CommandName } from './commands.ts';
import { GATEWAY_ACTS } from './gateway-acts.ts';
import { byCommand, byTwo } from './operators.ts';
import { marked, readOrder, untilFound, type LoadOrder } from './order.ts';

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

/** When an act is possible, and how often it is chosen then. */
interface Act {
  readonly weight: number;
  /** The stages in which it is possible, and where it leads. */
  readonly moves?: Moves;
  /** Added in plans whose outcome is open: such as a race, or what an operator has to look at. */
  readonly openMoves?: Moves;
  /** The most payments that the gateway can capture for it; a late one may be repeated. */
  readonly captures?: number;
}

const STAYS = { paid: 'paid', delivered: 'delivered again' } as const;

/** What a merchant, a buyer, their banks or an operator does to an order that was created: every act. */
const ACTS = {
  openSession: { weight: 20, moves: { new: 'payable' } },
  pay: { weight: 14, moves: { new: 'paid' }, captures: 1 },
  failPayment: { weight: 1, moves: { payable: 'payable' } },
  cancel: { weight: 3, moves: { new: 'cancelled', payable: 'cancelled while payable' } },
  deliver: { weight: 24, moves: { paid: 'delivered' } },
  refund: {
    weight: 3,
    moves: { paid: 'refunded', delivered: 'refunded', 'chargeback won': 'refunded again' },
  },
  dispute: { weight: 5, moves: { paid: 'disputed', delivered: 'disputed' } },
  submitEvidence: { weight: 3, moves: { disputed: 'under review' } },
  resolve: {
    weight: 3,
    moves: { disputed: 'delivered again', 'under review': 'delivered again' },
  },
  accept: { weight: 3, moves: { disputed: 'refunded', 'under review': 'refunded' } },
  advanceOneDay: {
    weight: 8,
    moves: {
      new: 'cancelled',
      payable: 'expired while payable',
      delivered: 'completed',
      'delivered again': 'completed',
      'charged back after delivery': 'charged back and due',
    },
  },
  advanceThreeDays: { weight: 2, moves: { disputed: 'refunded' } },
  payAtGateway: { weight: 14, moves: { payable: 'paid' }, captures: 1 },
  payTwice: { weight: 4, moves: { payable: 'paid' }, captures: Infinity },
  payAuthorized: { weight: 2, moves: { payable: 'paid' }, captures: 1 },
  payLate: {
    weight: 2,
    moves: { 'cancelled while payable': 'paid late' },
    // A payment that comes before the deadline is handled still pays the order.
    openMoves: { ...STAYS, 'expired while payable': 'paid late' },
    captures: Infinity,
  },
  payWrongAmount: { weight: 2, openMoves: { payable: 'payable' } },
  payWhileCancelling: { weight: 3, openMoves: { payable: 'paid' } },
  // The gateway has refunded it in full, and the order waits for another one.
  payAndRefund: { weight: 2, openMoves: { payable: 'payable' } },
  failAtGateway: { weight: 2, moves: { payable: 'payable' } },
  refundAll: { weight: 1, openMoves: STAYS },
  refundSome: { weight: 1, openMoves: STAYS },
  failProcessedRefund: { weight: 2, moves: { refunded: 'refunded again' } },
  chargeBack: {
    weight: 3,
    moves: { paid: 'charged back', delivered: 'charged back after delivery' },
    openMoves: { disputed: 'disputed' },
  },
  winChargeback: {
    weight: 3,
    moves: {
      'charged back': 'chargeback won',
      'charged back after delivery': 'delivered again',
      'charged back and due': 'completed',
    },
    openMoves: { refunded: 'refunded again' },
  },
  loseChargeback: {
    weight: 2,
    openMoves: { 'charged back': 'paid', 'charged back after delivery': 'delivered again' },
  },
  decideForMerchant: { weight: 3, moves: { 'under review': 'delivered again' } },
  decideForBuyer: { weight: 3, moves: { 'under review': 'refunded' } },
} as const satisfies Record<string, Act>;
/** The name of an act. */
export type ActName = keyof typeof ACTS;

/** How the acts are done that are not one command. */
const OTHERS: Record<
  Exclude<ActName, CommandName>,
  (order: LoadOrder, isRepeated: boolean) => Promise<unknown>
> = {
  ...GATEWAY_ACTS,
  openSession,
  payWhileCancelling: (order) =>
    Promise.all([GATEWAY_ACTS.payAtGateway(order), send(order, 'cancel')]),
  decideForMerchant: (order) => decide(order, 'merchant'),
  decideForBuyer: (order) => decide(order, 'buyer'),
};

/** Decides a dispute: with the command line, or with two operators above the amount that needs them. */
async function decide(order: LoadOrder, winner: 'merchant' | 'buyer'): Promise<void> {
  const { deps, orderNumber, amountPaise } = order;
  const { environment } = deps;
  const reason = marked(deps, 'reason of a decision', 'The evidence decides it');
  const command = ['dispute', 'decide', '--order', orderNumber, '--for', winner, '--yes'];
  const proposed = { subject: orderNumber, parameters: { winner }, reason };
  await untilFound(order, 'decision', async () => {
    const decided =
      amountPaise > loadConfig(environment).proposalAbovePaise
        ? byTwo(environment, { kind: 'dispute.decide', ...proposed })
        : byCommand(environment, [...command, '--reason', reason]);
    await decided.catch(() => undefined);
    const now = await readOrder(order);
    return now?.status !== 'DISPUTE_UNDER_REVIEW' || now.refund !== null ? true : undefined;
  });
}

const isCommand = (name: ActName): name is ActName & CommandName => Object.hasOwn(COMMANDS, name);

/** Does an act. @param isRepeated whether its request is repeated once it was answered */
export const doAct = (order: LoadOrder, name: ActName, isRepeated: boolean): Promise<unknown> =>
  isCommand(name) ? send(order, name, isRepeated) : OTHERS[name](order, isRepeated);

/** The acts of a plan, by name, each with its moves. */
export function actsWith(outcome: 'known' | 'open') {
  return Object.entries(ACTS as Record<ActName, Act>).flatMap(([name, act]) => {
    const { moves, openMoves, weight, captures = 0 } = act;
    const possible: Moves = outcome === 'open' ? { ...moves, ...openMoves } : { ...moves };
    if (Object.keys(possible).length === 0) return [];
    return { name: name as ActName, weight, captures, moves: possible };
  });
}
