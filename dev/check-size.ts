import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCommandLine } from '../src/main/process/command-line.ts';
import limits from './size-limits.json' with { type: 'json' };

readCommandLine({
  usage: 'npm run check -- size',
  does: `Prints the lines of the files that git tracks, folder by folder, beside the limits of dev/size-limits.json.
Lock files, pictures and compressed files do not count. It exits with 1 if a folder has more lines than its
limit, or if the limits are not those of the folders that there are.`,
});

const ROOT = join(import.meta.dirname, '..');
/** Folders whose own folders have limits, too. */
const WITH_ROOMS = ['src', 'test', 'dev'];
const NOT_COUNTED =
  /(?:^|\/)(?:package-lock\.json|uv\.lock|go\.sum)$|\.(?:png|jpg|webp|ico|woff2|pdf|gz|br|zst)$/;

/** Where a file counts: in everything, in its top folder, and in the room of that. */
function placesOf(file: string): string[] {
  const [top = '', room, ...rest] = file.split('/');
  if (room === undefined) return ['everything'];
  const hasRoom = WITH_ROOMS.includes(top) && rest.length > 0;
  return ['everything', top, ...(hasRoom ? [`${top}/${room}`] : [])];
}

/** The lines of the tracked files of this checkout, by place. */
function countLines(): Map<string, number> {
  const listed = execFileSync('git', ['-C', ROOT, 'ls-files', '-z'], { encoding: 'utf8' });
  const lines = new Map<string, number>();
  for (const file of listed.split('\0').filter((name) => name !== '' && !NOT_COUNTED.test(name))) {
    const count = readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
    for (const place of placesOf(file)) lines.set(place, (lines.get(place) ?? 0) + count);
  }
  return lines;
}

function faultOf(count: number | undefined, limit: number | undefined): string {
  if (count === undefined) return ': there is no such folder';
  if (limit === undefined) return ': it has no limit';
  return count > limit ? `: ${count - limit} too many` : '';
}

const print = (line: string) => process.stdout.write(`${line}\n`);

const counts = countLines();
const limitOf = new Map<string, number>(Object.entries(limits));
let faults = 0;
for (const place of [...new Set([...counts.keys(), ...limitOf.keys()])].toSorted()) {
  const [count, limit] = [counts.get(place), limitOf.get(place)];
  const fault = faultOf(count, limit);
  if (fault !== '') faults += 1;
  const numbers = [count, limit].map((number) => String(number ?? '').padStart(8)).join('');
  print(`${numbers}  ${place}${fault}`);
}
if (faults > 0) print('Who needs more raises a limit, in a commit that says why.');
process.exit(faults > 0 ? 1 : 0);
