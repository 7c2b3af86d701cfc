import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The part of V8's `.cpuprofile` format that is read here. Times are microseconds. */
const cpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      children: z.array(z.number()).optional(),
    }),
  ),
  /** On the monotonic clock of the machine, which is also that of `process.hrtime`. */
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

/** A part of the code, such as a package, and its own time in milliseconds, without what it calls. */
export type TimeByPart = Map<string, number>;

/** A period on the monotonic clock, in microseconds. */
export interface Period {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Adds up the time of each part of the code in a period of a profile. Idle time does not count. */
export function timeByPart(file: string, { fromUs, toUs }: Period): TimeByPart {
  const { nodes, samples, timeDeltas, startTime } = cpuProfile.parse(
    JSON.parse(readFileSync(file, 'utf8')),
  );
  const parts = partsOf(nodes);
  const times: TimeByPart = new Map();
  let atUs = startTime;
  for (const [index, sample] of samples.entries()) {
    const deltaUs = timeDeltas[index] ?? 0;
    atUs += deltaUs;
    const part = parts.get(sample);
    if (part === undefined || atUs < fromUs || atUs > toUs) continue;
    times.set(part, (times.get(part) ?? 0) + deltaUs / 1000);
  }
  return times;
}

/** Frames without code of their own: V8's names for them, and ours. Idle ones are left out. */
const V8_PARTS: Record<string, string | undefined> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'native code outside of JavaScript',
  '(root)': undefined,
  '(idle)': undefined,
};

/** The part of each node. A native function counts for the code that called it. */
function partsOf(nodes: z.infer<typeof cpuProfile>['nodes']): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parts = new Map<number, string>();
  const visit = (id: number, callerPart: string | undefined) => {
    const node = byId.get(id);
    if (!node) return;
    const { functionName, url } = node.callFrame;
    const part = functionName in V8_PARTS ? V8_PARTS[functionName] : (partOfUrl(url) ?? callerPart);
    if (part !== undefined) parts.set(id, part);
    for (const child of node.children ?? []) visit(child, part ?? callerPart);
  };
  const [root] = nodes;
  if (root) visit(root.id, undefined);
  return parts;
}

/** A package, a folder of `src`, or what else a file belongs to; undefined for native functions. */
function partOfUrl(url: string): string | undefined {
  if (url === '') return undefined;
  if (url.startsWith('node:')) return 'Node';
  if (url.includes('workflow-bundle')) return 'workflow code, and the SDK inside of it';
  if (url.startsWith('evalmachine')) return 'the SDK: entering a workflow';
  const [, inPackage] =
    /^((?:@[^/]+\/)?[^/]+)/.exec(url.split('node_modules/').slice(1).at(-1) ?? '') ?? [];
  if (inPackage !== undefined) return inPackage;
  const [, own] = /\/(src\/[^/]+|activities|workflows|dev)(?:\/|$)/.exec(url) ?? [];
  return own ?? url;
}
