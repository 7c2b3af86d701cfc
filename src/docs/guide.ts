import { readFileSync } from 'node:fs';
import { ERRORS } from '../http/responses/errors.ts';
import type { Chapter } from './reference/page.ts';

/** The chapters of the guide, in order: titles and the names of Markdown files in `docs/guides`. */
const CHAPTERS = [
  ['Quick start', 'quick-start'],
  ['Environments and keys', 'environments'],
  ['Order lifecycle', 'lifecycle'],
  ['Deadlines', 'deadlines'],
  ['Idempotent requests', 'idempotency'],
  ['Errors', 'errors'],
  ['Values', 'values'],
  ['Lists and pages', 'paging'],
  ['Statements', 'statements'],
  ['Webhooks', 'webhooks'],
  ['Webhook receivers', 'receivers'],
  ['Going live', 'going-live'],
  ['Scenarios', 'scenarios'],
] as const;

/** Every error code with its status and its message, behind the chapter about errors. */
function errorCatalogue(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, message }]) => `| \`${code}\` | ${status} | ${message} |`,
  );
  return [
    '| `X-Error-Code` | Status | Message, where it is not more exact |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}

/**
 * The guide that precedes the API reference, as Markdown.
 *
 * @param publicBaseUrl the public URL of the service, for the commands
 */
export function guide(publicBaseUrl: string): Chapter[] {
  const read = (name: string) =>
    readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8').trim();
  return CHAPTERS.map(([title, name]) => {
    const text = name === 'errors' ? `${read(name)}\n\n${errorCatalogue()}` : read(name);
    return { title, name, text: text.replaceAll('{base_url}', publicBaseUrl) };
  });
}
