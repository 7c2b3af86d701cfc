import { SCENARIOS } from '../sdk/cli/src/scenarios.ts';

/** The chapter with every scenario of the sandbox. */
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
