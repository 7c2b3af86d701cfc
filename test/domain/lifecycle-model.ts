import type { Command, CommandType, OrderState, OrderStatus } from '../../src/domain/index.ts';

/**
 * The rules of an order's lifecycle, stated a second time in another form: not as a table of
 * statuses but as facts about the order, from which its status follows. Written from the
 * specification and the contract. All tests of transitions compare the service with this model.
 */
export interface Facts {
  sandbox: boolean;
  paid: boolean;
  /** The merchant has confirmed the delivery, or a dispute ended in the merchant's favour. */
  delivered: boolean;
  dispute: 'none' | 'unanswered' | 'answered';
  /** How many disputes were raised: an operator decides the fifth one and those after it. */
  disputes: number;
  /** The operation at the gateway that is pending, and why. */
  doing: OrderState['pendingOperation'];
  over: 'CANCELLED' | 'COMPLETED' | 'REFUNDED' | undefined;
  /** The order's deadline, in Unix milliseconds. */
  alarmAtMs: number | undefined;
  /** The deadline is one that was extended. */
  isSecondAlarm: boolean;
  /** What the timeline shows so far. */
  steps: { kind: string; isEvent: boolean; details: object | null }[];
}

const HOUR_MS = 3_600_000;
export const LINK_MS = 24 * HOUR_MS;
const WINDOW_MS = 24 * HOUR_MS;
const ANSWER_MS = 72 * HOUR_MS;

const alarmAt = (alarmAtMs: number) => ({ alarmAtMs, isSecondAlarm: false });
const CREATED = { kind: 'ORDER_CREATED', isEvent: true, details: null };

export function factsAtCreation(sandbox: boolean, nowMs: number, disputes = 0): Facts {
  return {
    sandbox,
    paid: false,
    delivered: false,
    dispute: 'none',
    disputes,
    doing: null,
    over: undefined,
    ...alarmAt(nowMs + LINK_MS),
    steps: [CREATED],
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

/** The deadline that these facts mean. */
function deadlineOf({ paid, dispute, alarmAtMs, isSecondAlarm }: Facts): OrderState['deadline'] {
  if (alarmAtMs === undefined) return null;
  const kind = dispute === 'none' ? 'completion' : 'dispute_answer';
  const extension = isSecondAlarm && ({ isExtended: true } as const);
  return { kind: paid ? kind : 'payment_link', atMs: alarmAtMs, ...extension };
}

export function storedOf(facts: Facts) {
  return {
    status: statusOf(facts),
    pendingOperation: facts.doing,
    deadline: deadlineOf(facts),
    disputeCount: facts.disputes,
    stepNumber: facts.steps.length,
    eventSequence: facts.steps.filter(({ isEvent }) => isEvent).length,
  };
}

/** The facts after a command, or `undefined` if the command must be refused. */
export function obey(facts: Facts, command: Command, nowMs: number): Facts | undefined {
  const { paid, delivered, dispute, doing, alarmAtMs, sandbox } = facts;
  /** A step without a webhook. */
  const quietly = (kind: string, news: Partial<Facts>, details: object | null = null): Facts => ({
    ...facts,
    ...news,
    steps: [...facts.steps, { kind, isEvent: false, details }],
  });
  const sent = (kind: string, news: Partial<Facts>, details: object | null = null): Facts => ({
    ...facts,
    ...news,
    steps: [...facts.steps, { kind, isEvent: true, details }],
  });
  const ended = (way: keyof typeof ENDINGS, details: object | null = null): Facts => {
    const [over, event] = ENDINGS[way];
    return sent(event, { over, doing: null, alarmAtMs: undefined }, details);
  };
  const isPaymentNews = command.type === 'pay' || command.type === 'failPayment';
  const movesMoney = doing?.kind === 'releasing' || doing?.kind === 'refunding';

  if (facts.over) return undefined;
  if (command.type === 'settleReleased' || command.type === 'settleRefunded') {
    // A merchant who has not delivered gets no money.
    const isDue = delivered || dispute !== 'none' || movesMoney;
    if (!paid || (command.type === 'settleReleased' && !isDue)) return undefined;
    return ended(command.type === 'settleReleased' ? 'releasing' : 'refunding');
  }
  if (command.type in DOES) {
    const operation = DOES[command.type as keyof typeof DOES];
    if (operation !== doing?.kind) return undefined;
    if (command.type === 'closeFailed') return quietly('PAYMENT_STILL_OPEN', { doing: null });
    if (doing.kind !== 'closing') return ended(doing.kind);
    return ended('closing', { by: doing.cause === 'cancel' ? 'merchant' : 'expiry' });
  }
  if (movesMoney || (doing?.kind === 'closing' && !isPaymentNews)) return undefined;

  const closes = (cause: 'cancel' | 'expiry') =>
    quietly('CLOSING_PAYMENT', { doing: { kind: 'closing', cause } });
  type Reason = Extract<Facts['doing'], { kind: 'refunding' }>['reason'];
  const refunds = (reason: Reason, details: object | null = null) =>
    quietly('REFUND_STARTED', { doing: { kind: 'refunding', reason } }, details);
  const endsDispute = (details: object | null) =>
    sent(
      'DISPUTE_RESOLVED',
      { dispute: 'none', delivered: true, ...alarmAt(nowMs + WINDOW_MS) },
      details,
    );

  switch (command.type) {
    case 'pay':
      if (paid) return undefined;
      return sent('PAYMENT_SUCCESS', { paid: true, doing: null, alarmAtMs: undefined });
    case 'failPayment':
      return paid ? undefined : sent('PAYMENT_FAILED', {});
    case 'cancel':
      return paid ? undefined : closes('cancel');
    case 'deliver':
      if (!paid || delivered || dispute !== 'none') return undefined;
      return sent('DELIVERY_CONFIRMED', { delivered: true, ...alarmAt(nowMs + WINDOW_MS) });
    case 'dispute': {
      const isLate = delivered && command.receivedAtMs >= (alarmAtMs ?? 0);
      if (!paid || dispute !== 'none' || isLate) return undefined;
      const disputes = facts.disputes + 1;
      const raised = { dispute: 'unanswered', disputes, ...alarmAt(nowMs + ANSWER_MS) } as const;
      return sent('DISPUTE_RAISED', raised);
    }
    case 'refund':
      return paid && dispute === 'none' ? refunds('merchant_refund') : undefined;
    case 'submitEvidence':
      if (dispute !== 'unanswered') return undefined;
      return quietly('EVIDENCE_SUBMITTED', { dispute: 'answered', ...alarmAt(nowMs + ANSWER_MS) });
    case 'resolve':
      return dispute === 'none' || isForOperator(facts) ? undefined : endsDispute(null);
    case 'accept':
      return dispute === 'none' ? undefined : refunds('dispute_accepted');
    case 'decideForMerchant':
      return dispute === 'none' ? undefined : endsDispute({ for: 'merchant' });
    case 'decideForBuyer':
      if (dispute === 'none') return undefined;
      return refunds('dispute_decided_for_buyer', { for: 'buyer' });
    case 'expire':
      if (alarmAtMs === undefined || nowMs < alarmAtMs) return undefined;
      if (!paid) return closes('expiry');
      if (dispute !== 'none') return refunds('dispute_not_resolved_in_time');
      return quietly('RELEASE_STARTED', { doing: { kind: 'releasing' } });
    case 'extend': {
      if (alarmAtMs === undefined || nowMs < alarmAtMs || facts.isSecondAlarm) return undefined;
      const untilMs = nowMs + HOUR_MS;
      const details = { until: new Date(untilMs).toISOString() };
      return quietly('DEADLINE_EXTENDED', { alarmAtMs: untilMs, isSecondAlarm: true }, details);
    }
    case 'advance': {
      const { seconds } = command;
      const moved = alarmAtMs && alarmAtMs - seconds * 1000;
      return sandbox ? quietly('CLOCK_ADVANCED', { alarmAtMs: moved }, { seconds }) : undefined;
    }
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

const CANNOT_SETTLE =
  'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway';
/** What a refusal says. */
const REFUSED: Record<CommandType, string> = {
  deliver: 'Cannot mark as delivered; order must be in PAID status',
  cancel: 'Cannot cancel; order must be in ACCEPTED status',
  refund: 'Cannot refund; order must be in PAID or DELIVERED status',
  pay: 'Cannot pay; order must be in ACCEPTED status',
  failPayment: 'Cannot fail payment; order must be in ACCEPTED status',
  dispute: 'Cannot raise dispute; order must be in PAID or DELIVERED status',
  submitEvidence: 'Cannot submit evidence; order must be in DISPUTE_OPEN status',
  resolve: 'Cannot resolve; order must be in DISPUTE status',
  accept: 'Cannot accept; order must be in DISPUTE status',
  decideForMerchant: 'Cannot decide; order must be in DISPUTE status',
  decideForBuyer: 'Cannot decide; order must be in DISPUTE status',
  expire: 'Cannot expire; order must have a deadline that has passed',
  extend: 'Cannot extend; order must have a deadline that has passed and was never extended',
  advance: 'Cannot advance; order must be in the sandbox, not busy, and in no final status',
  settleReleased: CANNOT_SETTLE,
  settleRefunded: CANNOT_SETTLE,
  sessionClosed: 'Cannot end the closing; order must be closing its payment session',
  closeFailed: 'Cannot end the closing; order must be closing its payment session',
  released: 'Cannot end the release; order must be releasing its money',
  refunded: 'Cannot end the refund; order must be refunding its money',
};
/** What it adds where only the pending operation is in the way. */
const BUSY = {
  closing: '; the payment session is being closed',
  releasing: '; the funds are being released to the merchant',
  refunding: '; the buyer is being refunded',
} as const;

/** The exact message with which a command is refused that {@link obey} does not obey. */
export function refusalOf(facts: Facts, command: Command): string {
  const { over, dispute, doing } = facts;
  const isDecidedElsewhere = !over && dispute !== 'none' && isForOperator(facts);
  if (command.type === 'resolve' && isDecidedElsewhere) {
    return 'Cannot resolve; an operator decides this dispute';
  }
  const idle: Facts = { ...facts, doing: null, sandbox: true, isSecondAlarm: false };
  const inTime = command.type === 'dispute' ? { ...command, receivedAtMs: -Infinity } : command;
  const isOnlyBusy = doing && obey(idle, inTime, 8.64e15 - HOUR_MS);
  return REFUSED[command.type] + (isOnlyBusy ? BUSY[doing.kind] : '');
}
