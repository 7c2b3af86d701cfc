import { z } from 'zod';
import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/client.ts';
import type { CommandType, Environment } from '../../domain/index.ts';
import { transitionOf } from '../../domain/index.ts';
import { BASE_PATHS } from '../../http/base-paths.ts';
import { keyHeaders } from '../../http/input/idempotency-key.ts';
import { fieldsOf, parseInput } from '../../http/input/validation.ts';
import type { LimiterByEnvironment } from '../../http/limits/slots.ts';
import type { DeclaredCommand, OrderRow } from '../../orders/public.ts';
import { newIdOrKey, commandPath, curlOfPost } from '../../orders/public.ts';

interface ActionFacts {
  /** The lifecycle's command: it decides in which states the action is offered. */
  command: CommandType;
  label: string;
  fields: Readonly<Record<string, string>>;
}

/** The actions by the operation ids of their commands, in the order in which pages show them. */
const ACTIONS = {
  deliverOrder: {
    command: 'deliver',
    label: 'Mark as delivered',
    fields: { trackingId: 'Tracking ID', note: 'Note' },
  },
  submitEvidence: {
    command: 'submitEvidence',
    label: 'Submit evidence',
    fields: { text: 'Your evidence, which the buyer reads, too' },
  },
  resolveDispute: {
    command: 'resolve',
    label: 'Resolve the dispute',
    fields: { resolution: 'What you agreed with the buyer, who reads it' },
  },
  acceptDispute: { command: 'accept', label: 'Accept the dispute and refund', fields: {} },
  refundOrder: {
    command: 'refund',
    label: 'Refund the buyer',
    fields: { reason: 'Why you cannot fulfil the order' },
  },
  cancelOrder: { command: 'cancel', label: 'Cancel the order', fields: { reason: 'Reason' } },
  testPay: { command: 'pay', label: 'Pay as the buyer', fields: {} },
  testFailPayment: { command: 'failPayment', label: "Fail the buyer's payment", fields: {} },
  testDispute: {
    command: 'dispute',
    label: 'Raise a dispute as the buyer',
    fields: { reason: "The buyer's reason" },
  },
  testAdvance: {
    command: 'advance',
    label: 'Move the clock forward',
    fields: { seconds: 'Seconds' },
  },
} as const satisfies Record<string, ActionFacts>;
export type OrderActionId = keyof typeof ACTIONS;
export const ORDER_ACTION_IDS = Object.keys(ACTIONS) as OrderActionId[];

export interface ActionField {
  name: string;
  label: string;
  kind: 'text' | 'long_text' | 'number';
  isRequired: boolean;
  maxLength: number | undefined;
}

export interface OrderAction {
  id: OrderActionId;
  label: string;
  summary: string;
  /** Only in the sandbox: acts as the buyer, or moves the clock. */
  isTestHelper: boolean;
  fields: readonly ActionField[];
}

export type FormValues = Readonly<Record<string, string>>;

export interface OrderActions {
  of(order: OrderRow): OrderAction[];
  /** @returns undefined if no action has this id, or none in this environment */
  find(id: string, environment: Environment): OrderAction | undefined;
  /** Checks an action's body and key, before a person is asked. @throws ValidationError */
  check(action: OrderAction, request: Pick<ActionRequest, 'values' | 'idempotencyKey'>): void;
  /**
   * Carries out an action as the API does, by the same declaration of the command.
   *
   * @throws ValidationError, DomainError with the API's words, HttpRefusal TOO_MANY_REQUESTS
   */
  carryOut(action: OrderAction, request: ActionRequest): Promise<void>;
  /** The request as a command line, with placeholders for the credentials and the key. */
  curlOf(action: OrderAction, order: OrderRow, values: FormValues): string;
}

export interface ActionRequest {
  /** The order, which the caller has found to be the merchant's. */
  order: OrderRow;
  values: FormValues;
  /** A form that is sent twice has the same key. */
  idempotencyKey: string;
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** A page does not know the secret, and each new request needs a new key. */
const PLACEHOLDERS = {
  'X-API-Key': 'YOUR_API_KEY',
  'X-API-Secret': 'YOUR_API_SECRET',
  'Idempotency-Key': 'A_KEY_OF_YOUR_OWN',
};

/**
 * Binds the actions to the commands.
 *
 * @param commands merchants' commands and the sandbox's test helpers
 * @param options.publicBaseUrl the base URL of the API
 * @param options.gatewaySlots those of the API
 * @throws Error if an action has no command, or a field of its body no label
 */
export function createOrderActions(
  commands: readonly DeclaredCommand[],
  { publicBaseUrl, gatewaySlots }: { publicBaseUrl: string; gatewaySlots: LimiterByEnvironment },
): OrderActions {
  const commandOf = ({ id }: Pick<OrderAction, 'id'>): DeclaredCommand => {
    const command = commands.find(({ operationId }) => operationId === id);
    if (!command) throw new Error(`No command has the operation id ${id}`);
    return command;
  };
  const parsed = (
    action: OrderAction,
    { values, idempotencyKey }: Pick<ActionRequest, 'values' | 'idempotencyKey'>,
  ) =>
    parseInput(
      {
        params: undefined,
        query: undefined,
        headers: keyHeaders,
        body: commandOf(action).body,
      },
      {
        params: {},
        query: {},
        headers: { 'Idempotency-Key': idempotencyKey },
        body: bodyOf(action, values),
      },
    );
  const actions = ORDER_ACTION_IDS.map((id) => actionOf(id, commandOf({ id })));
  const inEnvironment = (environment: Environment) =>
    actions.filter(({ isTestHelper }) => !isTestHelper || environment === 'sandbox');
  return {
    of: (order) =>
      inEnvironment(order.environment).filter(
        ({ id }) => transitionOf(order, ACTIONS[id].command) !== undefined,
      ),
    find: (id, environment) => inEnvironment(environment).find((action) => action.id === id),
    check: (action, request) => void parsed(action, request),
    carryOut: async (action, { order, values, idempotencyKey, ...by }) => {
      const command = commandOf(action);
      const { body } = parsed(action, { values, idempotencyKey });
      const { orderNumber } = order;
      const commandId = newIdOrKey(command.action, idempotencyKey);
      const carryOut = () => command.carryOut({ orderNumber, commandId, ...by }, body);
      await (command.waitsForGateway
        ? gatewaySlots[order.environment].run(order.merchantId, carryOut)
        : carryOut());
    },
    curlOf: (action, order, values) => {
      const path = commandPath(commandOf(action), order.orderNumber);
      const url = publicBaseUrl + BASE_PATHS[order.environment] + path;
      return curlOfPost(url, PLACEHOLDERS, bodyOf(action, values));
    },
  };
}

function actionOf(id: OrderActionId, command: DeclaredCommand): OrderAction {
  const { label, fields: labels } = ACTIONS[id] as ActionFacts;
  const names = command.body ? fieldsOf(command.body) : [];
  const isTestHelper = command.base === 'sandbox';
  const fields = names.map((name) => fieldOf(command, name, labels[name]));
  return { id, label, summary: command.summary, isTestHelper, fields };
}

/** The part of a field's JSON Schema that a form shows. */
const fieldSchema = z.object({
  type: z.string().optional(),
  maxLength: z.number().optional(),
});
const bodySchema = z.object({
  properties: z.record(z.string(), fieldSchema.extend({ anyOf: z.array(fieldSchema).optional() })),
  required: z.array(z.string()).default([]),
});
/** A field that may be longer than this has several lines. */
const LONG_TEXT = 200;

function fieldOf(
  { operationId, body }: DeclaredCommand,
  name: string,
  label: string | undefined,
): ActionField {
  if (!body || label === undefined) throw new Error(`${operationId}: no label for ${name}`);
  const { properties, required } = bodySchema.parse(z.toJSONSchema(body, { io: 'input' }));
  // A field that may be null is one of two schemas, the first of which is its own.
  const { type, maxLength } = properties[name]?.anyOf?.[0] ?? properties[name] ?? {};
  const textKind = (maxLength ?? 0) > LONG_TEXT ? 'long_text' : 'text';
  return {
    name,
    label,
    kind: type === 'integer' ? 'number' : textKind,
    isRequired: required.includes(name),
    maxLength,
  };
}

/** The body of a form's values; an optional field that was left empty is absent. */
function bodyOf({ fields }: OrderAction, values: FormValues): Record<string, string | number> {
  const given = fields.flatMap(({ name, kind, isRequired }) => {
    const value = values[name] ?? '';
    if (value === '') return isRequired ? [[name, value] as const] : [];
    return [[name, kind === 'number' ? Number(value) : value] as const];
  });
  return Object.fromEntries(given);
}
