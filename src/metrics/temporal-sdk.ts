import type { Logger } from 'pino';
import { createReading } from './reading.ts';

/**
 * Reads the metrics that Temporal's SDK serves itself, as text. Its native core cannot hand them over in
 * another way that keeps their histograms.
 *
 * @param address where it serves them, host:port
 * @returns the text; empty if it cannot be read
 */
export function createSdkReading(address: string, log: Logger): () => Promise<string> {
  const fetchText = async () => {
    const answer = await fetch(`http://${address}/metrics`);
    if (!answer.ok) throw new Error(`The SDK answered with status ${answer.status}`);
    return answer.text();
  };
  const read = createReading(fetchText, { what: "the metrics of Temporal's SDK", log });
  return async () => (await read()) ?? '';
}
