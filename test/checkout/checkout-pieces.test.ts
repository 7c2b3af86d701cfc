import { encode } from 'uqr';
import { expect, test } from 'vitest';
import {
  rupeesText,
  shorten,
  shortTimeText,
  timeLeftText,
  timeText,
  wholeTimeText,
} from '../../src/pages/format.ts';
import { refusalPage } from '../../src/checkout/pages/refusal-page.ts';
import { initialsOf } from '../../src/checkout/pages/logo.ts';
import { qrPath } from '../../src/pages/qr-code.ts';
import { assertSameOrigin } from '../../src/pages/same-origin.ts';
import { EN } from '../../src/checkout/texts/en.ts';
import { textOf } from './buyer.ts';

const UPI =
  'upi://pay?pa=shop.rzp@icici&pn=Asha%20Textiles&tr=RZPabcdefghijklmnqrv2' +
  '&tn=Order%20ORD01KAHV3Z8Q4N2M6P7R9T1W3X5Y&am=499.50&cu=INR&mc=5411';

/** Renders the lines of an SVG path as a browser would. */
function paint(path: string, side: number): boolean[][] {
  const modules = Array.from({ length: side }, () => Array.from({ length: side }, () => false));
  let x = 0;
  let y = 0;
  for (const [, command = '', first = '', second = ''] of path.matchAll(
    /([Mmh])([\d.]+)(?: ([\d.]+))?/g,
  )) {
    if (command === 'M') [x, y] = [Number(first), Number(second) - 0.5];
    if (command === 'm') x += Number(first);
    if (command !== 'h') continue;
    for (const end = x + Number(first); x < end; x += 1) modules[y]![x] = true;
  }
  return modules;
}

test.each([UPI, 'upi://pay?pa=a@b', `${UPI}&tn=${'x'.repeat(300)}`])(
  'the QR code holds the payment, module for module, inside a white margin of four',
  (text) => {
    const { path, side } = qrPath(text);
    const painted = paint(path, side);
    const inner = painted.slice(4, -4).map((row) => row.slice(4, -4));
    expect(inner).toEqual(encode(text, { ecc: 'M', border: 0 }).data);
    const dark = painted.flat().filter(Boolean).length;
    expect(inner.flat().filter(Boolean)).toHaveLength(dark);
  },
);

test('a QR code is small enough for a slow network', () => {
  expect(qrPath(UPI).path.length).toBeLessThan(6000);
});

test('amounts and times are formatted as in India', () => {
  expect([500, 49_950, 1_000_000].map(rupeesText)).toEqual(['₹5.00', '₹499.50', '₹10,000.00']);
  const text = timeText(new Date('2026-11-20T18:45:00Z')).replaceAll(/\s/g, ' ');
  expect(text).toBe('21 Nov, 12:15 am IST');
});

test('the time of a list has its year only if that is another one than now, by Indian time', () => {
  const at = new Date('2026-12-31T18:45:00Z');
  const textAt = (now: string) => shortTimeText(at, new Date(now)).replaceAll(/\s/g, ' ');
  expect(textAt('2026-12-31T18:45:00Z')).toBe('1 Jan, 12:15 am');
  expect(textAt('2026-12-31T18:00:00Z')).toBe('1 Jan 2027, 12:15 am');
  const whole = wholeTimeText(at).replaceAll(/\s/g, ' ');
  expect(whole).toBe('Friday, 1 January 2027 at 12:15:00 am IST');
});

test('the remaining time is never below zero', () => {
  expect([900, 61.9, 9, 0, -5].map(timeLeftText)).toEqual([
    '15:00',
    '1:01',
    '0:09',
    '0:00',
    '0:00',
  ]);
});

test('a long description is cut between characters, never inside one', () => {
  expect(shorten('kurta', 5)).toBe('kurta');
  expect(shorten('kurta, blue', 6)).toBe('kurta,…');
  expect(shorten('👗👗👗', 2)).toBe('👗👗…');
});

test.each([
  ['Asha Textiles', 'AT'],
  ['asha', 'A'],
  ['The Big Book Shop', 'TB'],
  ['Bits & <b>Bytes</b>', 'BB'],
  ['आशा टेक्सटाइल्स', 'आटे'],
  ['24 Stunden', '2S'],
  ['***', ''],
])('the initials of a merchant are the first letters of two words: %s', (name, initials) => {
  expect(initialsOf(name)).toBe(initials);
});

const host = 'pay.example';
test.each([
  { 'Sec-Fetch-Site': 'same-origin', Origin: 'null', Host: host },
  { 'Sec-Fetch-Site': 'none', Host: host },
  { Origin: 'https://pay.example', Host: host },
  { Origin: 'null', Host: host },
  { Host: host },
])('a form of our own is taken, from browsers old and new: %o', (headers) => {
  expect(() => assertSameOrigin(headers)).not.toThrow();
});

test.each([
  { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://pay.example', Host: host },
  { 'Sec-Fetch-Site': 'same-site', Origin: 'null', Host: host },
  { Origin: 'https://evil.example', Host: host },
  { Origin: 'https://pay.example.evil.example', Host: host },
  { Origin: 'https://pay.example:8443', Host: host },
  { Origin: 'nonsense', Host: host },
])('a form from elsewhere is refused: %o', (headers) => {
  expect(() => assertSameOrigin(headers)).toThrow('Origin not allowed');
});

test.each([400, 403, 404, 413, 429, 500, 418])(
  'every refusal has a page in plain words: %i',
  (status) => {
    const files = { style: '/a.css', island: '/a.js', icon: '/a.svg' };
    const reference = { requestId: 'request-7', supportEmail: 'help@pay.example' };
    const page = refusalPage({ status, headers: {}, body: {} }, reference, files, EN);
    expect(page).toMatch(/<h1 id="state">[A-Z][a-z ]+<\/h1>/);
    expect(textOf(page).length).toBeGreaterThan(40);
    expect(page).toMatch(
      /request-7<\/code>\. If it happens again, write to <a [^>]+>help@pay\.example<\/a> with/,
    );
  },
);
