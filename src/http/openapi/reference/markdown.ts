import { Marked } from 'marked';

const marked = new Marked();

/** Converts Markdown to HTML. The text must be trusted: raw HTML in it is kept. */
export function renderMarkdown(text: string): string {
  return marked.parse(text, { async: false });
}
