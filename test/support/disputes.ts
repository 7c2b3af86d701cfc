import { writeDispute } from '../../src/orders/commands/command-queries.ts';

/** Records a dispute that its order takes, as the API does before it notifies the workflow. */
export async function recordDispute(...dispute: Parameters<typeof writeDispute>) {
  const written = await writeDispute(...dispute);
  if (written.outcome !== 'recorded') throw new Error(`The dispute is ${written.outcome}`);
  return written;
}
