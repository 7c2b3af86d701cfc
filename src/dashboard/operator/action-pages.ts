import { h } from 'preact';
import { z } from 'zod';
import { DomainError } from '../../domain/index.ts';
import type { Route } from '../../http/define-route.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import type { Consequence } from '../../payments/public.ts';
import { OrderNotNotifiedError } from '../../payments/public.ts';
import type { Proposer } from '../../proposals/public.ts';
import { needsProposal } from '../../proposals/public.ts';
import type { PageContext } from '../context.ts';
import { definePage } from '../page.ts';
import { refusalsExcept } from '../refusal.ts';
import type { PageReply } from '../reply.ts';
import { confirmationView } from '../view/confirmation.ts';
import { refused } from '../view/fields.ts';
import { hint, notice, objectHead, written } from '../view/parts.ts';
import type { ActionName, ActionValues, OrderAction } from './action-declarations.ts';
import { ORDER_ACTIONS } from './action-declarations.ts';
import { actionForm, actionPath } from './order-actions.ts';
import { ORDERS } from './order-view.ts';
import type { OperatorPageDeps } from './parts.ts';
import { orderLink } from './parts.ts';
import { proposeAndShow, proposerOf } from './proposal-tables.ts';

/** Long enough for a retried call, and for a workflow that cannot be reached. */
const RESPONSE_TIMEOUT_MS = 10_000;

const params = z.object({ order: z.string() });
const text = z.string().default('');
const body = z.object({
  reason: text,
  winner: text,
  outcome: text,
  reference: text,
  notChecked: z.string().optional(),
  surplus: text,
  confirmed: z.literal('yes').optional(),
});

/** An order that does not exist has no form. */
const REFUSALS = refusalsExcept('ORDER_NOT_FOUND');

/** For each action on an order: its form, its confirmation if it moves money, and its execution. */
export function actionPages(context: PageContext, deps: OperatorPageDeps): Route[] {
  return (Object.keys(ORDER_ACTIONS) as ActionName[]).flatMap((name) => {
    const action: OrderAction = ORDER_ACTIONS[name];
    const { permission } = action;
    const asksAgain = ({ params: { order } }: { params: z.output<typeof params> }) =>
      needsSecondPerson(deps, action, order);
    const page = { permission, params, asksAgain };
    const show = definePage(context, 'operator', `GET /orders/{order}/${name}`, page).handledBy(
      async ({ params: { order } }) => ({ view: formView(name, order) }),
    );
    const carryOut = definePage(context, 'operator', `POST /orders/{order}/${name}`, {
      ...page,
      body,
      refusals: REFUSALS,
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    }).handledBy(async ({ params: { order }, body: values, viewer, actor }) => {
      try {
        assertReason(action, values);
        const isProposed = await needsSecondPerson(deps, action, order);
        if (action.confirmation && values.confirmed === undefined) {
          const consequence = await action.confirmation(deps, order, values);
          return { view: questionView(name, order, { values, consequence, isProposed }) };
        }
        const proposer = proposerOf({ viewer, actor });
        return await perform(deps, { name, orderNumber: order, values, isProposed }, proposer);
      } catch (error) {
        throw refusalOf(error);
      }
    });
    return [...show, ...carryOut];
  });
}

async function needsSecondPerson(
  deps: OperatorPageDeps,
  { proposed }: OrderAction,
  orderNumber: string,
): Promise<boolean> {
  return proposed !== undefined && needsProposal(deps, proposed.kind, orderNumber);
}

/** Carries the action out, or proposes it. @throws DomainError */
async function perform(
  deps: OperatorPageDeps,
  { name, orderNumber, values, isProposed }: Performed,
  proposer: Proposer,
): Promise<PageReply> {
  const { proposed, carryOut }: OrderAction = ORDER_ACTIONS[name];
  if (proposed && (isProposed || !carryOut)) {
    const asked = {
      kind: proposed.kind,
      parameters: proposed.parametersOf(values),
      subject: orderNumber,
      reason: values.reason,
    };
    return proposeAndShow(deps, proposer, asked);
  }
  const done = await carryOut?.(
    { ...deps, actor: proposer.actor, role: proposer.role },
    orderNumber,
    values,
  );
  const below = name === 'decide' ? 'disputes' : 'orders';
  return { seeOther: `/operator/${below}/${encodeURIComponent(orderNumber)}?done=${done}` };
}

interface Performed {
  name: ActionName;
  orderNumber: string;
  values: ActionValues;
  /** It needs a second person. */
  isProposed: boolean;
}

/** @throws DomainError `BAD_REQUEST` before the confirmation is asked for */
function assertReason({ confirmation }: OrderAction, { reason }: ActionValues): void {
  if (confirmation && reason.trim() === '') {
    throw new DomainError('BAD_REQUEST', 'The reason must not be blank');
  }
}

/** An error as the form shows it: at its field if it is about one. */
function refusalOf(error: unknown): unknown {
  if (error instanceof OrderNotNotifiedError) return new DomainError('BAD_REQUEST', error.message);
  if (!(error instanceof DomainError)) return error;
  const field = ['reason', 'reference'].find((one) => error.message.startsWith(`The ${one} `));
  return field ? new ValidationError({ [field]: error.message }) : error;
}

function formView(name: ActionName, orderNumber: string) {
  const { title } = ORDER_ACTIONS[name];
  const content = [
    objectHead({ ...ORDERS, one: orderLink(orderNumber) }, title),
    refused({ atFields: null }),
    actionForm(orderNumber, name),
  ];
  return { title, content, hasOwnHeading: true };
}

const NEEDS_SECOND =
  'This needs a second operator, who has to approve it within 24 hours. It stops no deadline of the order.';

/** Says what will happen, and sends the form again when it is confirmed. */
function questionView(
  name: ActionName,
  orderNumber: string,
  {
    values,
    consequence: { sentence, amountPaise, to, surplus },
    isProposed,
  }: {
    values: ActionValues;
    consequence: Pick<Consequence, 'sentence' | 'amountPaise' | 'to' | 'surplus'>;
    isProposed: boolean;
  },
) {
  const { title, button } = ORDER_ACTIONS[name];
  const { reason, winner, outcome, reference, notChecked } = values;
  return confirmationView({
    title: `${title}: order ${orderNumber}`,
    amountPaise,
    to,
    consequence: sentence,
    more: [
      isProposed && notice('wait', NEEDS_SECOND),
      reference.trim() !== '' &&
        h('p', null, 'Its reference is ', h('code', null, reference.trim())),
      hint('Both sides will read:'),
      written(reason),
    ],
    button: isProposed ? 'Propose it' : button,
    action: actionPath(orderNumber, name),
    values: { reason, winner, outcome, reference, notChecked, surplus: surplus?.join(' ') },
    back: `/operator/orders/${orderNumber}`,
  });
}
