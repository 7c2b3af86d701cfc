import { readFile } from 'node:fs/promises';
import { verify, WebhookVerificationError } from '../../typescript/src/index.ts';
import type { Command } from './command.ts';
import { EXIT, requireText, UsageError } from './command.ts';
import { requireSecrets } from './settings.ts';

/** Headers as JSON, or as lines `Name: value`. */
function parseHeaders(text: string): Record<string, string> {
  if (text.trimStart().startsWith('{')) return JSON.parse(text) as Record<string, string>;
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

/** Says which rule a recorded webhook breaks. */
export const webhookVerify: Command = {
  name: 'webhook verify',
  usage: '--body FILE --headers FILE [--at TIME]',
  does: 'Verify a recorded webhook, and name the rule that fails. --at is the time it arrived',
  options: { body: { type: 'string' }, headers: { type: 'string' }, at: { type: 'string' } },
  async run(context, given) {
    const secrets = requireSecrets(context);
    const body = await readFile(requireText(given, 'body'));
    const headers = parseHeaders(await readFile(requireText(given, 'headers'), 'utf8'));
    const { at } = given.values;
    const nowMs = typeof at === 'string' ? Date.parse(at) : Date.now();
    if (Number.isNaN(nowMs))
      throw new UsageError('--at must be a time such as 2026-11-20T09:30:00Z');
    try {
      const { event, event_id: eventId } = await verify(body, headers, secrets, { nowMs });
      context.print(`The signature and the time are right: ${event} ${eventId}`, {
        event,
        eventId,
      });
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      const { mistake, message } = error;
      context.print(`${mistake}: ${message}`, { mistake, message });
      return EXIT.failed;
    }
  },
};
