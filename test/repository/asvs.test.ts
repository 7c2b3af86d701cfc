import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { read, root } from './files.ts';

const CHECKLIST = 'docs/security/asvs-5.0-level-2.md';
const DECISIONS = 'docs/security/decisions.md';

/** How many requirements of levels 1 and 2 each section has, by chapter of OWASP ASVS 5.0.0. */
const REQUIREMENTS = [
  [2, 9, 11, 3, 2],
  [3, 3, 4, 1],
  [0, 2, 4, 6, 5, 0, 2],
  [3, 1, 2, 4],
  [1, 3, 2, 3],
  [3, 12, 4, 4, 5, 3, 0, 4],
  [3, 4, 2, 5, 2, 2],
  [2, 3, 1, 1],
  [3, 4],
  [2, 2, 4, 11, 5, 2, 3],
  [2, 3, 3, 4, 1, 1],
  [3, 2, 4],
  [1, 5, 2, 5],
  [2, 4, 3],
  [3, 3, 7],
  [1, 5, 4, 3, 3],
  [1, 4, 2],
];

const NUMBERS = REQUIREMENTS.flatMap((sections, chapter) =>
  sections.flatMap((count, section) =>
    Array.from({ length: count }, (_, index) => `${chapter + 1}.${section + 1}.${index + 1}`),
  ),
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
