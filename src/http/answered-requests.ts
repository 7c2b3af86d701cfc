import { createReports } from '../reports.ts';

/** A request that was answered, without anything of its client. */
export interface AnsweredRequest {
  readonly method: string;
  /** The declared path; undefined if no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly durationMs: number;
}

const ANSWERED = createReports<AnsweredRequest>('request-answered');

/** Reports a request that was answered. It costs nothing while there is no listener. */
export const publishAnswered = ANSWERED.publish;

/** Calls `listener` for each request that this process answers. @returns a function that unsubscribes */
export const onRequestAnswered = ANSWERED.subscribe;
