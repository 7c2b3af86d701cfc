import { readFileSync } from 'node:fs';

/** The chapters of the guide, in their order: Markdown files of the folder beside this one. */
const CHAPTERS = [
  ['Quick start', 'quick-start'],
  ['Environments and keys', 'environments'],
  ['The life of an order', 'lifecycle'],
  ['Repeating requests', 'repeating'],
  ['Errors', 'errors'],
  ['Webhooks', 'webhooks'],
] as const;

/**
 * What a developer reads before the reference, as Markdown.
 *
 * @param publicBaseUrl where the service is reached, for commands that can be pasted
 */
export function guide(publicBaseUrl: string): string {
  const read = (name: string) =>
    readFileSync(new URL(`./guide/${name}.md`, import.meta.url), 'utf8').trim();
  return CHAPTERS.map(([title, name]) => `## ${title}\n\n${read(name)}`)
    .join('\n\n')
    .replaceAll('{base_url}', publicBaseUrl.replace(/\/$/, ''));
}
