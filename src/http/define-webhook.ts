import type { z } from 'zod';

/** One event that the service sends to a merchant's webhook URL. */
export interface WebhookDeclaration {
  /** The event type, which is also its name in the document. */
  readonly event: string;
  readonly description: string;
  readonly headers: z.ZodObject;
  readonly payload: z.ZodType;
  /** An example of the whole body. */
  readonly example?: unknown;
}

/** ORDER_CREATED → OrderCreatedEvent: the schema name, which code generators use. */
export const payloadNameOf = (event: string) =>
  `${event.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Event`;
