import { h } from 'preact';
import { encode } from 'uqr';

/** The white margin that scanners require, in modules. */
const QUIET_ZONE = 4;

/**
 * Encodes a text as a QR code in one SVG path: each run of dark modules is a line one module thick.
 * This takes a fifth of the bytes of separate squares.
 *
 * @returns the path and the side length of the code with its margin, in modules
 */
export function qrPath(text: string): { path: string; side: number } {
  const { data, size } = encode(text, { ecc: 'M', border: 0 });
  const path = data.map((row, y) => rowPath(row, y)).join('');
  return { path, side: size + 2 * QUIET_ZONE };
}

/** The moves after the first are relative, so that most have a single digit. */
function rowPath(row: readonly boolean[], y: number): string {
  let path = '';
  let penX = 0;
  for (let x = 0; x < row.length; x += 1) {
    if (!row[x]) continue;
    const startX = x;
    while (row[x + 1]) x += 1;
    const length = x + 1 - startX;
    const move =
      path === '' ? `M${startX + QUIET_ZONE} ${y + QUIET_ZONE}.5` : `m${startX - penX} 0`;
    path += `${move}h${length}`;
    penX = startX + length;
  }
  return path;
}

/** A QR code for UPI apps. It is black on white in the dark colour scheme, too. */
export function qrCode({ text, label }: { text: string; label: string }) {
  const { path, side } = qrPath(text);
  return h(
    'svg',
    { class: 'qr', viewBox: `0 0 ${side} ${side}`, role: 'img', 'aria-label': label },
    h('rect', { width: side, height: side, fill: '#fff' }),
    h('path', { d: path, stroke: '#000', 'shape-rendering': 'crispEdges' }),
  );
}
