import { runDrills } from './drills/support/run.ts';

/**
 * `npm run drill -- NAME`: proves what a page of the runbook says. Ends also while a drill that failed
 * still makes orders.
 */
process.exit(await runDrills(process.argv.slice(2)));
