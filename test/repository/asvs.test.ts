import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string) => readFileSync(root + path, 'utf8');
const CHECKLIST = 'docs/security/asvs-5.0-level-2.md';
const DECISIONS = 'docs/security/decisions.md';

/** The requirements of levels 1 and 2 in each section of OWASP ASVS 5.0.0. */
const REQUIREMENTS = {
  '1.1': '1 2',
  '1.2': '1 2 3 4 5 6 7 8 9',
  '1.3': '1 2 3 4 5 6 7 8 9 10 11',
  '1.4': '1 2 3',
  '1.5': '1 2',
  '2.1': '1 2 3',
  '2.2': '1 2 3',
  '2.3': '1 2 3 4',
  '2.4': '1',
  '3.2': '1 2',
  '3.3': '1 2 3 4',
  '3.4': '1 2 3 4 5 6',
  '3.5': '1 2 3 4 5',
  '3.7': '1 2',
  '4.1': '1 2 3',
  '4.2': '1',
  '4.3': '1 2',
  '4.4': '1 2 3 4',
  '5.1': '1',
  '5.2': '1 2 3',
  '5.3': '1 2',
  '5.4': '1 2 3',
  '6.1': '1 2 3',
  '6.2': '1 2 3 4 5 6 7 8 9 10 11 12',
  '6.3': '1 2 3 4',
  '6.4': '1 2 3 4',
  '6.5': '1 2 3 4 5',
  '6.6': '1 2 3',
  '6.8': '1 2 3 4',
  '7.1': '1 2 3',
  '7.2': '1 2 3 4',
  '7.3': '1 2',
  '7.4': '1 2 3 4 5',
  '7.5': '1 2',
  '7.6': '1 2',
  '8.1': '1 2',
  '8.2': '1 2 3',
  '8.3': '1',
  '8.4': '1',
  '9.1': '1 2 3',
  '9.2': '1 2 3 4',
  '10.1': '1 2',
  '10.2': '1 2',
  '10.3': '1 2 3 4',
  '10.4': '1 2 3 4 5 6 7 8 9 10 11',
  '10.5': '1 2 3 4 5',
  '10.6': '1 2',
  '10.7': '1 2 3',
  '11.1': '1 2',
  '11.2': '1 2 3',
  '11.3': '1 2 3',
  '11.4': '1 2 3 4',
  '11.5': '1',
  '11.6': '1',
  '12.1': '1 2 3',
  '12.2': '1 2',
  '12.3': '1 2 3 4',
  '13.1': '1',
  '13.2': '1 2 3 4 5',
  '13.3': '1 2',
  '13.4': '1 2 3 4 5',
  '14.1': '1 2',
  '14.2': '1 2 3 4',
  '14.3': '1 2 3',
  '15.1': '1 2 3',
  '15.2': '1 2 3',
  '15.3': '1 2 3 4 5 6 7',
  '16.1': '1',
  '16.2': '1 2 3 4 5',
  '16.3': '1 2 3 4',
  '16.4': '1 2 3',
  '16.5': '1 2 3',
  '17.1': '1',
  '17.2': '1 2 3 4',
  '17.3': '1 2',
};

const NUMBERS = Object.entries(REQUIREMENTS).flatMap(([section, numbers]) =>
  numbers.split(' ').map((number) => `${section}.${number}`),
);

/** The chapters of the checklist with what is below their headings. */
const chapters = read(CHECKLIST)
  .split(/^## /m)
  .slice(1)
  .map((text) => {
    const [heading = '', ...lines] = text.split('\n');
    const rows = lines.filter((line) => /^\| \d/.test(line)).map((line) => line.split(' | '));
    return { heading, sentence: lines[1] ?? '', rows };
  });

test('the checklist has every requirement of levels 1 and 2 of OWASP ASVS 5.0.0 once, in their order', () => {
  expect(NUMBERS).toHaveLength(253);
  const listed = chapters.flatMap(({ rows }) => rows.map(([number]) => number?.slice('| '.length)));
  expect(listed).toEqual(NUMBERS);
});

test('the checklist has the 17 chapters, each with a sentence and its own requirements', () => {
  expect(chapters.map(({ heading }) => /^V(\d+) [A-Z]/.exec(heading)?.[1])).toEqual(
    Array.from({ length: 17 }, (_, index) => String(index + 1)),
  );
  for (const { heading, sentence, rows } of chapters) {
    expect(sentence, heading).toMatch(/^[A-Z].+\.$/);
    const [chapter = ''] = heading.slice(1).split(' ');
    for (const [number] of rows) expect(number).toMatch(new RegExp(`^\\| ${chapter}\\.`));
  }
});

test('each requirement is met, not applicable, not met or left to the deployment, with a reason', () => {
  for (const [number, name, result, ...more] of chapters.flatMap(({ rows }) => rows)) {
    expect([name?.length, more], number).toEqual([expect.any(Number), []]);
    expect(result, number).toMatch(
      /^(Met( .+)?: .+|Met: .+|Not applicable: .+|Not met.*[:.,] .+|Deployment: .+) \|$/,
    );
  }
});

test.each([CHECKLIST, DECISIONS])('every file that %s names exists', (page) => {
  const text = read(page);
  const inRoot =
    /`((?:src|test|docs|dev|deploy|workflows|activities|bench)\/[^`]+|[\w.-]+\.(?:json|ts|yml|md))`/g;
  const files = [...text.matchAll(inRoot)].map(([, path = '']) => path);
  expect(files.length).toBeGreaterThan(10);
  expect([...new Set(files)].filter((path) => !existsSync(root + path))).toEqual([]);
  const links = [...text.matchAll(/\]\(([^):]+)\)/g)].map(([, path = '']) => path);
  expect(links.filter((path) => !existsSync(`${root}docs/security/${path}`))).toEqual([]);
});
