import type { z } from 'zod';
import type { ErrorCode } from '../../domain/index.ts';
import type { OrderCommands } from '../commands/commands.ts';
import type { DeclaredCommand } from './route-parts.ts';
import { declareCommand, merchantRoute } from './route-parts.ts';
import {
  acceptSchema,
  cancelSchema,
  deliverSchema,
  evidenceSchema,
  refundSchema,
  resolveSchema,
} from '../schemas.ts';

interface MerchantCommand {
  name: 'deliver' | 'cancel' | 'refund' | 'submitEvidence' | 'resolve' | 'accept';
  action: string;
  operationId: string;
  summary: string;
  description: string;
  done: string;
  body: z.ZodType<Record<string, string | null | undefined> | undefined>;
  tags?: readonly string[];
  errors?: readonly ErrorCode[];
  waitsForGateway?: true;
}

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

export function merchantCommands(commands: OrderCommands): DeclaredCommand[] {
  return MERCHANT_COMMANDS.map(({ name, ...declared }) =>
    declareCommand({
      ...merchantRoute,
      ...declared,
      carryOut: (given, body) =>
        commands.send({ ...given, name, message: {}, body: textsOf(body) }),
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
