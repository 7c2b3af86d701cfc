import { readCommandLine } from '../src/main/process/command-line.ts';
import { DRILLS, runDrills } from './drills/drills.ts';

/**
 * `npm run drill -- NAME`: proves what a page of the runbook says. Ends also while a drill that failed
 * still makes orders.
 */
const { operands } = readCommandLine({
  usage: 'npm run drill',
  does: `Does what pages of the runbook say, with the production-like shape under load. All drills run unless some are named: ${Object.keys(DRILLS).join(', ')}.`,
  operands: '[DRILL ...]',
});
process.exit(await runDrills(operands));
