import { readFileSync } from 'node:fs';
import { baseStyle } from '../pages/base-style.ts';
import { BRAND_STYLE } from '../pages/brand.ts';
import { fileRoute } from '../http/responses/asset.ts';
import type { Route } from '../http/define-route.ts';
import { openCollection } from './collections/open-collection.ts';
import { postmanCollection } from './collections/postman.ts';
import type { Document } from './openapi/document.ts';
import { operationsOf } from './openapi/document.ts';
import { curlOf } from './reference/operation.ts';
import type { Chapter } from './reference/page.ts';
import { renderReference } from './reference/page.ts';

/** Allows resources of this origin only, and nothing inline. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Cached for an hour only: the content changes with a release, the URL does not. */
const ASSET_HEADERS = { 'Cache-Control': 'public, max-age=3600' };

function docsRoute(path: `/${string}`, contentType: string, content: string, headers = {}): Route {
  const file = { content, contentType, headers: { ...ASSET_HEADERS, ...headers } };
  return fileRoute(path, file);
}

const MARKDOWN = 'text/markdown';
const JSON_TYPE = 'application/json';
const chapterPath = ({ name }: Chapter) => `/docs/guides/${name}.md` as const;
const chapterText = ({ title, text }: Chapter) => `# ${title}\n\n${text}\n`;

/** The operations as a list, for readers of Markdown. */
function operationList(document: Document): string {
  const lines = operationsOf(document).map(
    ({ method, path, operation }) => `- \`${method} ${path}\`: ${operation.summary}`,
  );
  return `# Operations\n\nThe OpenAPI document is \`/openapi.json\`.\n\n${lines.join('\n')}\n`;
}

/** What https://llmstxt.org describes: where a program that reads text finds what. */
function llmsText({ info }: Document, chapters: readonly Chapter[]): string {
  const links = chapters.map((chapter) => `- [${chapter.title}](${chapterPath(chapter)})`);
  return `# ${info.title}\n\n> ${info.description.replaceAll('\n', ' ')}\n\n## Guide\n\n${links.join('\n')}\n\n## Reference\n\n- [All of it](/docs.md)\n- [OpenAPI document](/openapi.json)\n- [Postman collection](/postman.json)\n- [OpenCollection, for Bruno](/opencollection.json)\n`;
}

/**
 * The curl command of an operation, as its section of `/docs` shows it.
 *
 * @throws Error if the document has no such operation
 */
export function commandOf(document: object, operationId: string): string {
  const located = operationsOf(document as Document).find(
    ({ operation }) => operation.operationId === operationId,
  );
  if (!located) throw new Error(`The OpenAPI document has no operation ${operationId}`);
  return curlOf(located);
}

/**
 * Declares `/openapi.json`, the two collections made from it, `/docs`, its text as Markdown and `/llms.txt`. The page
 * loads nothing from other sites.
 *
 * @param publicBaseUrl the public URL of the service, for the collections: a copy of them has no URL of its own
 */
export function docsRoutes(
  document: object,
  chapters: readonly Chapter[],
  publicBaseUrl: string,
): Route[] {
  const json = JSON.stringify(document);
  // Parsed from the JSON, so that the page renders what clients get: no `undefined` values.
  const parsed = JSON.parse(json) as Document;
  const page = renderReference(parsed, chapters);
  const read = (name: string) =>
    readFileSync(new URL(`./reference/${name}`, import.meta.url), 'utf8');
  const style = [baseStyle('..'), BRAND_STYLE, read('reference.css')].join('\n');
  const whole = [...chapters.map(chapterText), operationList(parsed)].join('\n');
  return [
    docsRoute('/openapi.json', JSON_TYPE, json, { 'Cache-Control': 'no-cache' }),
    docsRoute('/postman.json', JSON_TYPE, JSON.stringify(postmanCollection(parsed, publicBaseUrl))),
    docsRoute(
      '/opencollection.json',
      JSON_TYPE,
      JSON.stringify(openCollection(parsed, publicBaseUrl)),
    ),
    docsRoute('/docs', 'text/html', page, { 'Content-Security-Policy': PAGE_POLICY }),
    docsRoute('/docs/reference.css', 'text/css', style),
    docsRoute('/docs/reference.js', 'text/javascript', read('reference.js')),
    docsRoute('/docs.md', MARKDOWN, whole),
    docsRoute('/llms.txt', 'text/plain', llmsText(parsed, chapters)),
    ...chapters.map((chapter) => docsRoute(chapterPath(chapter), MARKDOWN, chapterText(chapter))),
  ];
}
