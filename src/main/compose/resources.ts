import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Sql } from '../../db/client.ts';
import type { GatewayAdapter } from '../../payments/gateway/adapter.ts';

/** The shared resources of the API and the worker. */
export interface Resources {
  config: Config;
  sql: Sql;
  temporal: Client;
  log: Logger;
  /** Raises the contract's 5 s, for tests on a busy machine. */
  responseTimeoutMs?: number;
  /** Raises the 3 s for which the API waits for a gateway's answer, for tests of gateways that do not answer. */
  gatewayTimeoutMs?: number;
  /** Raises the 1.5 s after which a gateway's callback is answered, for tests that wait until it is processed. */
  callbackTimeoutMs?: number;
  /** The payment gateways. Tests add one. */
  adapters?: readonly GatewayAdapter[];
}
