import { findTemporalServer } from '../../dev/temporal-on-postgres/programs.ts';
import { TEMPORAL_PROGRAMS } from './temporal-place.ts';

/**
 * Installs the programs of Temporal's server before the first test of the long suite. Where they
 * cannot be downloaded, Go builds them for minutes and leaves no processor to the tests beside it.
 */
export default async function installTemporalPrograms(): Promise<void> {
  try {
    await findTemporalServer(TEMPORAL_PROGRAMS);
  } catch {
    // The tests that need the programs fail with the reason; the others do not need them.
  }
}
