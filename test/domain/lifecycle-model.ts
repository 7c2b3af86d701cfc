import type { Command, OrderStatus } from '../../src/domain/index.ts';

/**
 * The rules of an order's lifecycle, stated a second time in another form: not as a table of
 * statuses but as facts about the order, from which its status follows. Written from the
 * specification and the contract, to be compared with `src/domain/lifecycle.ts`.
 */
export interface Facts {
  sandbox: boolean;
  paid: boolean;
  /** The merchant has confirmed the delivery, or a dispute ended in the merchant's favour. */
  delivered: boolean;
  dispute: 'none' | 'unanswered' | 'answered';
  /** How many disputes were raised: an operator decides the fifth one and those after it. */
  disputes: number;
  doing: 'nothing' | 'closing' | 'releasing' | 'refunding';
  over: 'CANCELLED' | 'COMPLETED' | 'REFUNDED' | undefined;
  /** The order's deadline, in Unix milliseconds. */
  alarmAtMs: number | undefined;
  /** The deadline is one that was extended. */
  isSecondAlarm: boolean;
  /** Webhook events so far. */
  events: string[];
}

const HOUR_MS = 3_600_000;
export const LINK_MS = 24 * HOUR_MS;
const WINDOW_MS = 24 * HOUR_MS;
const ANSWER_MS = 72 * HOUR_MS;

const alarmAt = (alarmAtMs: number) => ({ alarmAtMs, isSecondAlarm: false });

export function factsAtCreation(sandbox: boolean, nowMs: number, disputes = 0): Facts {
  return {
    sandbox,
    paid: false,
    delivered: false,
    dispute: 'none',
    disputes,
    doing: 'nothing',
    over: undefined,
    ...alarmAt(nowMs + LINK_MS),
    events: ['ORDER_CREATED'],
  };
}

const isForOperator = ({ disputes }: Facts) => disputes > 4;

export function statusOf(facts: Facts): OrderStatus {
  const { over, dispute, delivered, paid } = facts;
  if (over) return over;
  if (dispute !== 'none') {
    const isReviewed = dispute === 'answered' || isForOperator(facts);
    return isReviewed ? 'DISPUTE_UNDER_REVIEW' : 'DISPUTE_OPEN';
  }
  if (delivered) return 'DELIVERED';
  return paid ? 'PAID' : 'ACCEPTED';
}

/** The facts after a command, or `undefined` if the command must be refused. */
export function obey(facts: Facts, command: Command, nowMs: number): Facts | undefined {
  const { paid, delivered, dispute, doing, alarmAtMs, sandbox } = facts;
  const sent = (event: string, news: Partial<Facts>): Facts => ({
    ...facts,
    ...news,
    events: [...facts.events, event],
  });
  const isPaymentNews = command.type === 'pay' || command.type === 'failPayment';
  const movesMoney = doing === 'releasing' || doing === 'refunding';

  if (facts.over) return undefined;
  if (command.type === 'settleReleased' || command.type === 'settleRefunded') {
    // A merchant who has not delivered gets no money.
    const isDue = delivered || dispute !== 'none' || movesMoney;
    if (!paid || (command.type === 'settleReleased' && !isDue)) return undefined;
    const doneAs = command.type === 'settleReleased' ? 'releasing' : 'refunding';
    return ended({ ...facts, doing: doneAs });
  }
  if (command.type in DOES) {
    const isDoing = DOES[command.type as keyof typeof DOES] === doing;
    if (!isDoing) return undefined;
    return command.type === 'closeFailed' ? { ...facts, doing: 'nothing' } : ended(facts);
  }
  if (movesMoney || (doing === 'closing' && !isPaymentNews)) return undefined;

  switch (command.type) {
    case 'pay':
      if (paid) return undefined;
      return sent('PAYMENT_SUCCESS', { paid: true, doing: 'nothing', alarmAtMs: undefined });
    case 'failPayment':
      return paid ? undefined : sent('PAYMENT_FAILED', {});
    case 'cancel':
      return paid ? undefined : { ...facts, doing: 'closing' };
    case 'deliver':
      if (!paid || delivered || dispute !== 'none') return undefined;
      return sent('DELIVERY_CONFIRMED', { delivered: true, ...alarmAt(nowMs + WINDOW_MS) });
    case 'dispute': {
      const isLate = delivered && command.receivedAtMs >= (alarmAtMs ?? 0);
      if (!paid || dispute !== 'none' || isLate) return undefined;
      return sent('DISPUTE_RAISED', {
        dispute: 'unanswered',
        disputes: facts.disputes + 1,
        ...alarmAt(nowMs + ANSWER_MS),
      });
    }
    case 'refund':
      return paid && dispute === 'none' ? { ...facts, doing: 'refunding' } : undefined;
    case 'submitEvidence':
      if (dispute !== 'unanswered') return undefined;
      return { ...facts, dispute: 'answered', ...alarmAt(nowMs + ANSWER_MS) };
    case 'resolve':
    case 'decideForMerchant':
      if (dispute === 'none') return undefined;
      if (command.type === 'resolve' && isForOperator(facts)) return undefined;
      return sent('DISPUTE_RESOLVED', {
        dispute: 'none',
        delivered: true,
        ...alarmAt(nowMs + WINDOW_MS),
      });
    case 'accept':
    case 'decideForBuyer':
      return dispute === 'none' ? undefined : { ...facts, doing: 'refunding' };
    case 'expire': {
      if (alarmAtMs === undefined || nowMs < alarmAtMs) return undefined;
      if (!paid) return { ...facts, doing: 'closing' };
      return { ...facts, doing: dispute === 'none' ? 'releasing' : 'refunding' };
    }
    case 'extend':
      if (alarmAtMs === undefined || nowMs < alarmAtMs || facts.isSecondAlarm) return undefined;
      return { ...facts, alarmAtMs: nowMs + HOUR_MS, isSecondAlarm: true };
    case 'advance':
      if (!sandbox) return undefined;
      return { ...facts, alarmAtMs: alarmAtMs && alarmAtMs - command.seconds * 1000 };
  }
}

/** The pending operation that each gateway result belongs to. */
const DOES = {
  sessionClosed: 'closing',
  closeFailed: 'closing',
  released: 'releasing',
  refunded: 'refunding',
} as const;

const ENDINGS = {
  closing: ['CANCELLED', 'ORDER_CANCELLED'],
  releasing: ['COMPLETED', 'ORDER_COMPLETED'],
  refunding: ['REFUNDED', 'REFUND_PROCESSED'],
} as const;

/** The gateway has completed the pending operation. */
function ended(facts: Facts): Facts {
  if (facts.doing === 'nothing') return facts;
  const [over, event] = ENDINGS[facts.doing];
  const events = [...facts.events, event];
  return { ...facts, over, doing: 'nothing', alarmAtMs: undefined, events };
}
