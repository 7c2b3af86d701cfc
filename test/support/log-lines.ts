import { readFileSync } from 'node:fs';

/** A line of a part's log. */
export type PartLine = Record<string, unknown> & { level: number; msg: string };

/** Parses the complete lines of a log. @throws Error at the first that is not a JSON log object */
export function linesOf(text: string): PartLine[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const parsed = parse(line);
      if (typeof parsed?.level !== 'number') throw new Error(`No line of a log: ${line}`);
      return parsed;
    });
}

function parse(line: string): PartLine | undefined {
  try {
    return JSON.parse(line) as PartLine;
  } catch {
    return undefined;
  }
}

/** The same for a file as it is now. */
export const linesIn = (file: string): PartLine[] => linesOf(readFileSync(file, 'utf8'));
