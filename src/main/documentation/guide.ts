import { readFileSync } from 'node:fs';

/** The chapters of the guide, in order: titles and the names of Markdown files in `./guide`. */
const CHAPTERS = [
  ['Quick start', 'quick-start'],
  ['Environments and keys', 'environments'],
  ['Order lifecycle', 'lifecycle'],
  ['Idempotent requests', 'idempotency'],
  ['Errors', 'errors'],
  ['Webhooks', 'webhooks'],
] as const;

/**
 * The guide that precedes the API reference, as Markdown.
 *
 * @param publicBaseUrl the public URL of the service, for the commands
 */
export function guide(publicBaseUrl: string): string {
  const read = (name: string) =>
    readFileSync(new URL(`./guide/${name}.md`, import.meta.url), 'utf8').trim();
  return CHAPTERS.map(([title, name]) => `## ${title}\n\n${read(name)}`)
    .join('\n\n')
    .replaceAll('{base_url}', publicBaseUrl.replace(/\/$/, ''));
}
