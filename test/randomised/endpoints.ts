import type { Merchant } from '../support/merchant.ts';

/** A merchant's endpoint, which may fail for a while. */
export function createEndpoint({ receiver }: Pick<Merchant, 'receiver'>) {
  let letGo: (() => void) | undefined;
  return {
    fail(fault: 'answers 500' | 'hangs') {
      const { promise, resolve } = Promise.withResolvers<number>();
      letGo = () => resolve(500);
      receiver.answerWith(fault === 'hangs' ? () => promise : () => 500);
    },
    /** Responds to the requests that have been hanging with a failure. */
    recover() {
      receiver.answerWith(() => 200);
      letGo?.();
      letGo = undefined;
    },
    /** The ids of the events that it received. */
    received: () => new Set(receiver.received.map(({ body }) => body.event_id)),
  };
}
export type Endpoint = ReturnType<typeof createEndpoint>;
