import { writeFileSync } from 'node:fs';
import { SCENARIOS } from '../sdk/cli/src/scenarios.ts';
import { readCommandLine } from '../src/main/process/command-line.ts';

/** The chapter with every scenario of the sandbox. */
export const SCENARIOS_GUIDE = new URL('../docs/guides/scenarios.md', import.meta.url);

/** Its text. */
export function scenariosGuide(): string {
  const chapters = SCENARIOS.map(
    ({ id, title, text, webhooks }) =>
      `**${title}** (\`${id}\`). ${text}\n\n${webhooks.map((event) => `\`${event}\``).join(', ')}`,
  );
  return [
    'What can happen to an order, with the exact webhooks of each case. `payorders scenario run ID` leads a new order of the',
    'sandbox through one, and each of them is a test of this service.',
    '',
    chapters.join('\n\n'),
    '',
  ].join('\n');
}

if (import.meta.main) {
  readCommandLine({
    usage: 'npm run generate -- scenarios',
    does: 'Writes docs/guides/scenarios.md from sdk/cli/src/scenarios.ts.',
  });
  writeFileSync(SCENARIOS_GUIDE, scenariosGuide());
}
