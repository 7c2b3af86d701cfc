import { channel } from 'node:diagnostics_channel';

/** A request that was answered, without anything of its client. */
export interface AnsweredRequest {
  readonly method: string;
  /** The declared path; undefined if no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly durationMs: number;
}

const ANSWERED = channel('merchant-payment-order-service:request-answered');

/** Reports a request that was answered. It costs nothing while there is no listener. */
export function publishAnswered(request: AnsweredRequest): void {
  ANSWERED.publish(request);
}

/** Calls `listener` for each request that this process answers. @returns a function that unsubscribes */
export function onRequestAnswered(listener: (request: AnsweredRequest) => void): () => void {
  const onMessage = (request: unknown) => listener(request as AnsweredRequest);
  ANSWERED.subscribe(onMessage);
  return () => ANSWERED.unsubscribe(onMessage);
}
