import { parseSync, Visitor } from 'oxc-parser';
import { check } from 'recheck';
import { expect, test } from 'vitest';
import { filesBelow, read } from './files.ts';

/** The programs, and what is run beside them. The tests' own expressions read texts that they have made. */
const FOLDERS = ['src', 'workflows', 'activities', 'sdk', 'dev', 'bench', 'deploy'];
/** The checker's proof, and not its search for an attack, which depends on luck and on the machine. */
const PARAMETERS = { checker: 'automaton', timeout: null } as const;

/** What the checker cannot read, and what bounds its text. */
const BOUNDED: Readonly<Record<string, string>> = {
  'src/http/input/fields.ts': 'its own first look-ahead: 254 characters',
  'src/accounts/passwords/password-rules.ts': 'a password has at most 128 characters',
};

interface Expression {
  /** Where it is first written. */
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** The literals of a file of TypeScript or JavaScript. */
function literalsOf(path: string): Expression[] {
  const expressions: Expression[] = [];
  const text = read(path);
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length;
  const add = (start: number, source: string, flags: string) =>
    expressions.push({ place: `${path}:${lineAt(start)}`, source, flags });
  new Visitor({
    Literal(node) {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression({ callee, arguments: [pattern], start }) {
      if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return;
      // What a template inserts is text or a class of characters; one letter stands for it.
      if (pattern?.type === 'TemplateLiteral') {
        add(start, pattern.quasis.map(({ value }) => value.cooked ?? '').join('a'), 'u');
      }
    },
  }).visit(parseSync(path, text).program);
  return expressions;
}

/** Literals of Python and PHP, written as in JavaScript. Go's and PostgreSQL's engines take linear time. */
function literalsOfOthers(path: string): Expression[] {
  const calls = read(path).matchAll(/(?:re\.compile\(r?|preg_match\()(["'])(.{1,200}?)\1/g);
  return [...calls].map(([, , source = '']) => ({
    place: path,
    source: source.replace(/^\/(.{1,200})\/D$/, '$1'),
    flags: '',
  }));
}

function allExpressions(): Expression[] {
  const files = filesBelow(FOLDERS).filter((path) => !/node_modules|\/dist\//.test(path));
  const found = [
    ...files.filter((path) => /\.(ts|js|mjs)$/.test(path)).flatMap(literalsOf),
    ...files.filter((path) => /\.(py|php)$/.test(path)).flatMap(literalsOfOthers),
  ];
  const bySource = new Map(found.map((expression) => [expression.source, expression]));
  return [...bySource.values()].filter(({ source }) => /[*+{]/.test(source));
}

async function faultOf({ place, source, flags }: Expression): Promise<string | undefined> {
  const result = await check(source, flags.replace('v', 'u'), PARAMETERS);
  if (result.status === 'safe') return undefined;
  const isUnread = result.status === 'unknown' && result.error.kind === 'unsupported';
  if (isUnread && (place.split(':')[0] ?? '') in BOUNDED) return undefined;
  const why = result.status === 'vulnerable' ? result.complexity.summary : result.error.kind;
  return `${place} /${source}/${flags}: ${why}`;
}

test('the checker finds an expression that takes more than linear time', async () => {
  const quadratic = { place: 'here', source: String.raw`^GET (\/[^\s?]*)\S* HTTP`, flags: '' };
  expect(await faultOf(quadratic)).toContain('polynomial');
});

test('every expression takes linear time, whatever text it meets', async () => {
  const expressions = allExpressions();
  expect(expressions.length).toBeGreaterThan(50);
  const faults = await Promise.all(expressions.map(faultOf));
  expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
});
