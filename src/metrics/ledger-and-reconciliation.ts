import type { Logger } from 'pino';
import type { Sample } from './reading.ts';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';

/** The latest proof of the ledger. */
interface Proof {
  at: Date;
  ok: boolean;
}

/** The age and the result of the latest proof. Before the first one, they have no value. */
export function ledgerMetrics(
  readLatestProof: () => Promise<Proof | undefined>,
  log: Logger,
): MetricFamily {
  const read = createReading(readLatestProof, { what: 'the proof of the ledger', log });
  return (registry) => {
    const age = {
      name: 'ledger_proof_age_seconds',
      help: 'The time since the latest proof of the ledger.',
    };
    addGauge(registry, age, read, ({ at }): Sample[] => [
      [{}, Math.max(0, Date.now() - at.getTime()) / 1000],
    ]);
    const sound = {
      name: 'ledger_sound',
      help: '1 if the latest proof of the ledger has found no fault, else 0.',
    };
    addGauge(registry, sound, read, ({ ok }): Sample[] => [[{}, ok ? 1 : 0]]);
    return () => {};
  };
}

/** How late the service is with checking payments at the gateway. */
export function reconciliationMetrics(
  readLagSeconds: () => Promise<number>,
  log: Logger,
): MetricFamily {
  const read = createReading(readLagSeconds, { what: 'the lag of the reconciliation', log });
  return (registry) => {
    const lag = {
      name: 'reconciliation_lag_seconds',
      help: 'How overdue the most overdue check of a payment session at the gateway is.',
    };
    addGauge(registry, lag, read, (seconds) => [[{}, seconds]]);
    return () => {};
  };
}
