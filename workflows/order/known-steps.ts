import type { RecordStepInput } from '../../src/contracts/activities.ts';
import type { EarlierRun, KnownStep, OrderInput } from '../../src/contracts/order-workflow.ts';
import { MAX_KNOWN_STEPS } from '../../src/contracts/order-workflow.ts';
import type { PaymentRef } from '../../src/contracts/ids.ts';
import type { OrderState, Step } from '../../src/domain/index.ts';
import { firstChange, stateAfter } from '../../src/domain/index.ts';
import type { QueuedCommand } from './messages.ts';
import { paymentOf } from './messages.ts';

/** The steps of its order that a workflow knows, and the state after them. */
export class KnownSteps {
  state: OrderState;
  /** The latest steps, to write them again if the database loses them. */
  private steps: KnownStep[];
  private readonly commandIds = new Set<string>();
  /** The capture that made the order PAID. A repeat of its message is not a surplus. */
  private paidBy: PaymentRef | null;

  constructor({ terms, createdAtMs, paymentLinkExpiresAtMs, earlier }: OrderInput) {
    const created = firstChange(terms, createdAtMs, paymentLinkExpiresAtMs);
    this.state = earlier?.state ?? created.state;
    this.steps = earlier?.steps ?? [{ step: created.step, commandId: null, payment: null }];
    this.paidBy = earlier?.paidBy ?? null;
    for (const { commandId } of this.steps) if (commandId !== null) this.commandIds.add(commandId);
  }

  /** Adds steps that the database has. Known steps change nothing. */
  add(recorded: readonly KnownStep[]): void {
    for (const known of recorded) {
      const { step, commandId, payment } = known;
      if (step.number <= this.state.stepNumber) continue;
      this.state = stateAfter(this.state, step);
      this.steps = [...this.steps, known].slice(-MAX_KNOWN_STEPS);
      if (commandId !== null) this.commandIds.add(commandId);
      if (payment !== null) this.paidBy = payment;
    }
  }

  /** True if the order has the same step, or no longer keeps the step of this number. */
  agreesWith(step: Step): boolean {
    const own = this.steps.find((known) => known.step.number === step.number)?.step;
    return own === undefined || (own.kind === step.kind && own.atMs === step.atMs);
  }

  /** Drops all steps, before those of the database are taken over. */
  clear(): void {
    this.state = { ...this.state, stepNumber: 0, eventSequence: 0 };
    this.steps = [];
    this.commandIds.clear();
    this.paidBy = null;
  }

  after(stepNumber: number): KnownStep[] {
    return this.steps.filter(({ step }) => step.number > stepNumber);
  }

  /** True if the command's step, or its payment's, is recorded, so that a repeat changes nothing. */
  has(queued: QueuedCommand): boolean {
    const { commandId } = queued.message;
    if (queued.command.type === 'pay') return isSamePayment(paymentOf(queued), this.paidBy);
    return commandId !== undefined && this.commandIds.has(commandId);
  }

  /** The state for the next run, and for a workflow that continues after this one has ended. */
  toRun(): EarlierRun {
    const { state, steps, paidBy } = this;
    return { state, steps, paidBy };
  }
}

/** True if the recorded step is the requested one, apart from its time. */
export function isStepOf(asked: RecordStepInput, { step, commandId, payment }: KnownStep): boolean {
  if (![asked.step.kind, asked.ifNoSessionOpen?.kind].includes(step.kind)) return false;
  // The command of a payment may be one of the sandbox's helper, which only the database knows.
  if (asked.payment) return isSamePayment(payment, asked.payment);
  // The id of a cancel belongs to the step that answers it, and an expiry closes, too.
  if (step.kind === 'CLOSING_PAYMENT') return closingCause(step) === closingCause(asked.step);
  return commandId === (asked.commandId ?? null);
}

const closingCause = ({ pendingOperation: closing }: Step) =>
  closing?.kind === 'closing' ? closing.cause : undefined;

/** False also when there is no payment to compare. */
function isSamePayment(one?: PaymentRef | null, other?: PaymentRef | null): boolean {
  if (!one || !other) return false;
  return one.gateway === other.gateway && one.gatewayPaymentId === other.gatewayPaymentId;
}
