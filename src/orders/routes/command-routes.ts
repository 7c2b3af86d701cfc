import { z } from 'zod';
import type { ErrorCode } from '../../domain/index.ts';
import type { Parsed, Route } from '../../http/define-route.ts';
import { defineRoute } from '../../http/define-route.ts';
import type { LimiterByEnvironment } from '../../http/limits/slots.ts';
import { envelopeOf, success } from '../../http/responses/response.ts';
import {
  keyHeaders,
  replayHeaders,
  replayHeadersOf,
  replayMessage,
} from '../../http/input/idempotency-key.ts';
import type { GivenCommand } from '../commands/command-queries.ts';
import { newIdOrKey } from '../commands/command-queries.ts';
import type { CreateOrderDeps } from '../commands/create-order.ts';
import { orderErrors } from '../find-order.ts';
import { EXAMPLE_ORDERS } from './examples.ts';
import {
  acceptSchema,
  cancelSchema,
  deliverSchema,
  evidenceSchema,
  orderSchema,
  refundSchema,
  resolveSchema,
} from '../schemas.ts';
import type { CommandResult, SendDeps } from '../commands/send-command.ts';
import { sendCommand } from '../commands/send-command.ts';

export interface OrderRouteDeps extends CreateOrderDeps {
  /** Limits the commands that wait for a gateway. */
  gatewaySlots: LimiterByEnvironment;
}

export const merchantRoute = { base: 'merchant', tags: ['Orders'] } as const;
/** The path parameters of a route on one order. */
export const orderParams = z.object({
  id: z
    .string()
    .meta({ description: 'The order number', example: EXAMPLE_ORDERS.created.order_number }),
});
export const orderResponse = { description: 'The order', schema: envelopeOf(orderSchema) };

/**
 * A command on an order. The API's route and the form of the order's page are made from it: both check the body by
 * its schema, derive the id from the operation and call `carryOut`.
 */
interface CommandDeclaration<Body extends z.ZodType | undefined> {
  base: 'merchant' | 'sandbox';
  /** The part of the path before the order. */
  below?: string | undefined;
  /** The last part of the path, and the operation from which the command id is derived. */
  action: string;
  operationId: string;
  summary: string;
  description: string;
  tags: readonly string[];
  body: Body;
  errors?: readonly ErrorCode[] | undefined;
  waitsForGateway?: true;
  /** The `message` of the answer. */
  done: string;
  carryOut(given: GivenCommand, body: Parsed<Body>): Promise<CommandResult>;
}

/** A command whose caller checks the body by its schema before it calls `carryOut`. */
export type DeclaredCommand = Omit<CommandDeclaration<z.ZodType | undefined>, 'carryOut'> & {
  carryOut(given: GivenCommand, body: unknown): Promise<CommandResult>;
};

/** Declares a command, with the type of the body inferred from its schema. */
export const declareCommand = <Body extends z.ZodType | undefined>(
  declaration: CommandDeclaration<Body>,
) => declaration as DeclaredCommand;

/** The path of a command, below the base path of its environment. */
export const commandPath = ({ below = '', action }: DeclaredCommand, order = '{id}') =>
  `${below}/orders/${order}/${action}` as `/${string}`;

/** The route of a command on an existing order. A client may repeat it with the same Idempotency-Key. */
export function commandRoute(
  { gatewaySlots }: Pick<OrderRouteDeps, 'gatewaySlots'>,
  { waitsForGateway, ...command }: DeclaredCommand,
): Route {
  const { below: _, action, done, carryOut, errors = [], ...declared } = command;
  return defineRoute({
    ...declared,
    ...(waitsForGateway && { slots: gatewaySlots }),
    method: 'POST',
    path: commandPath(command),
    params: orderParams,
    headers: keyHeaders,
    responses: { 200: { ...orderResponse, headers: replayHeaders } },
    errors: [...orderErrors, 'INVALID_STATE', ...errors],
  }).handledBy(async ({ params, headers, merchant, environment, body, clientIp: address }) => {
    const given = {
      orderNumber: params.id,
      owner: { merchantId: merchant.id, environment },
      commandId: newIdOrKey(action, headers['Idempotency-Key']),
      actor: { name: `key:${merchant.apiKey}`, address },
    };
    const result = await carryOut(given, body);
    const message = replayMessage(done, 'result', result);
    return { status: 200, body: success(message, result.order), headers: replayHeadersOf(result) };
  });
}

type MerchantCommand = Omit<DeclaredCommand, 'base' | 'tags' | 'body' | 'carryOut'> & {
  name: 'deliver' | 'cancel' | 'refund' | 'submitEvidence' | 'resolve' | 'accept';
  body: z.ZodType<Record<string, string | null | undefined> | undefined>;
  tags?: readonly string[];
};

const MERCHANT_COMMANDS: readonly MerchantCommand[] = [
  {
    name: 'deliver',
    action: 'deliver',
    operationId: 'deliverOrder',
    summary: 'Mark an order delivered',
    description: 'PAID → DELIVERED; the 24-hour window without a dispute begins.',
    done: 'Order marked as delivered',
    body: deliverSchema.optional(),
  },
  {
    name: 'cancel',
    action: 'cancel',
    operationId: 'cancelOrder',
    summary: 'Cancel an order',
    description: 'ACCEPTED → CANCELLED, after its open payment session is closed at the gateway.',
    done: 'Order cancelled',
    body: cancelSchema.optional(),
    errors: ['GATEWAY_UNAVAILABLE'],
    waitsForGateway: true,
  },
  {
    name: 'refund',
    action: 'refund',
    operationId: 'refundOrder',
    summary: 'Refund an order that you cannot fulfil',
    description:
      'Refunds the whole amount: PAID or DELIVERED → REFUNDED once the gateway has refunded; until then `refund.processed_at` is null.',
    done: 'Refund started',
    body: refundSchema,
  },
  {
    name: 'submitEvidence',
    action: 'dispute/evidence',
    operationId: 'submitEvidence',
    summary: 'Submit evidence in a dispute',
    description:
      'DISPUTE_OPEN → DISPUTE_UNDER_REVIEW, once for each dispute; one that an operator decides stays DISPUTE_UNDER_REVIEW. The buyer reads the text.',
    done: 'Evidence submitted',
    body: evidenceSchema,
    tags: ['Disputes'],
  },
  {
    name: 'resolve',
    action: 'dispute/resolve',
    operationId: 'resolveDispute',
    summary: 'Resolve a dispute',
    description:
      'DISPUTE_* → DELIVERED, with a fresh 24-hour window. The buyer reads the text. An operator decides the fifth dispute of an order and every later one.',
    done: 'Dispute resolved',
    body: resolveSchema,
    tags: ['Disputes'],
  },
  {
    name: 'accept',
    action: 'dispute/accept',
    operationId: 'acceptDispute',
    summary: 'Accept a dispute and refund the buyer',
    description:
      'REFUNDED once the gateway has refunded; until then `refund.processed_at` is null.',
    done: 'Dispute accepted',
    body: acceptSchema.optional(),
    tags: ['Disputes'],
  },
];

export function merchantCommands(deps: SendDeps): DeclaredCommand[] {
  return MERCHANT_COMMANDS.map(({ name, ...declared }) =>
    declareCommand({
      ...merchantRoute,
      ...declared,
      carryOut: (given, body) =>
        sendCommand(deps, { ...given, name, message: {}, body: textsOf(body) }),
    }),
  );
}

/** The fields that the client sent, without those that are null. */
function textsOf(body: Record<string, string | null | undefined> = {}): Record<string, string> {
  const texts = Object.entries(body).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(texts);
}
