import { Marked } from 'marked';

/** A heading that the page's navigation links to. */
export interface Heading {
  readonly id: string;
  readonly title: string;
}

/** The id of a heading: its title in lower case, joined by hyphens. */
const idOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${idOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
  },
});

/** Converts Markdown to HTML. The text must be trusted: raw HTML in it is kept. */
export function renderMarkdown(text: string): string {
  return marked.parse(text, { async: false });
}

/** The second-level headings of a Markdown text, in document order. */
export function headingsOf(text: string): Heading[] {
  return marked
    .lexer(text)
    .flatMap((token) => (token.type === 'heading' && token['depth'] === 2 ? [token] : []))
    .map(({ text: title }) => ({ id: idOf(String(title)), title: String(title) }));
}
