/**
 * A document with the part between its two markers, `<!-- NAME… -->` and `<!-- /NAME -->`, replaced.
 *
 * @throws Error if the document does not have both
 */
export function withGenerated(document: string, name: string, text: string): string {
  const begin = document.indexOf('-->\n', document.indexOf(`<!-- ${name}`));
  const end = document.indexOf(`<!-- /${name} -->`, begin);
  if (begin === -1 || end === -1) throw new Error(`The document has no part named ${name}`);
  return `${document.slice(0, begin)}-->\n\n${text}\n\n${document.slice(end)}`;
}
