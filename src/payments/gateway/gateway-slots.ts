import type { LimiterByEnvironment } from '../../http/limits/slots.ts';
import { limiterByEnvironment } from '../../http/limits/slots.ts';
import { tooManyRequests } from '../../http/responses/errors.ts';
import { createLimiter } from '../../limiter.ts';

/** The most requests that wait for a payment gateway in one environment: of one merchant, and of all. */
export const WAITING_FOR_GATEWAY = { ofOne: 16, ofAll: 64 };

/** How long a request waits for a slot. A gateway that works frees several in that time. */
const SLOT_TIMEOUT_MS = 400;
const RETRY_AFTER_SECONDS = 5;

/**
 * Limits the requests that wait for a gateway's answer, by merchant. They use no slots of the requests that change
 * orders, so that a gateway which does not answer delays no other request, and one merchant leaves slots to others.
 */
export const createGatewaySlots = (): LimiterByEnvironment =>
  limiterByEnvironment(() =>
    createLimiter({ ...WAITING_FOR_GATEWAY, maxWaitMs: SLOT_TIMEOUT_MS }, tooMany),
  );

const tooMany = () =>
  tooManyRequests(
    RETRY_AFTER_SECONDS,
    'Too many of your requests wait for the payment gateway: try again in a few seconds',
  );
