import { randomBytes } from 'node:crypto';
import { loadConfig, required } from '../../src/config.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { KeyReport } from '../../src/privacy/key-usage.ts';
import { namesOf, restart } from '../faults/run.ts';
import { byCommand } from '../load/operators.ts';
import { readTasks } from './support/builds.ts';
import type { Drill } from './support/load.ts';
import { firstOf, inSeconds, prove, report, waitFor } from './support/report.ts';

const SETTINGS = ['WEBHOOK_SECRET_KEYS', 'DATA_ENCRYPTION_KEYS', 'API_SECRET_PEPPER'] as const;
const MOVED_WITHIN_MS = 30_000;
/** Both workers stop three times. */
const WORKER_STOPS = 6;

type Settings = Readonly<Record<string, string>>;

/** Replaces all keys and the pepper while orders and webhooks flow. */
export async function keyRotation(drill: Drill): Promise<void> {
  const config = loadConfig(drill.environment());
  const keys = SETTINGS.map((name) => {
    const random = randomBytes(32).toString('base64');
    const added = name === 'API_SECRET_PEPPER' ? random : `drill-2:${random}`;
    return { name, old: required(config, name), added };
  });
  const settingsOf = (list: (key: (typeof keys)[number]) => string): Settings =>
    Object.fromEntries(keys.map((key) => [key.name, list(key)]));
  const second = settingsOf(({ old, added }) => `${old},${added}`);
  const first = settingsOf(({ old, added }) => `${added},${old}`);
  const alone = settingsOf(({ added }) => added);

  await roll(drill, second, 'the new keys are the second ones');
  await roll(drill, first, 'the new keys are the first ones');
  await moveEverything(drill, first);
  await roll(drill, alone, 'the old keys are removed');
  await drill.finishLoad();

  await proveAnswered(drill);
  const left = await listKeys(drill, alone);
  const usage = left.map(({ setting, rows }) => `${setting} ${rows}`).join(', ');
  const isAlone = left.every(({ role }) => role === 'newest');
  prove('Everything is under the new keys', isAlone, usage);
}

/**
 * Proves that no request failed, except of orders with a workflow task that a stopping worker lost:
 * see docs/adr/0009. Such a request is answered 500 after 4.5 s, and its repeat succeeds.
 */
async function proveAnswered(drill: Drill): Promise<void> {
  const { answers } = drill.merchant.client;
  const failed = answers.filter(({ status }) => status < 200 || status > 299);
  const waiting = new Set<string>();
  const unexplained: string[] = [];
  for (const { path, status, message, atMs, ms } of failed) {
    const [orderNumber] = /ORD\w+/.exec(path) ?? [];
    if (orderNumber && status === 500 && (await readTasks(drill, [orderNumber])).timedOut > 0) {
      waiting.add(orderNumber);
      continue;
    }
    const at = new Date(atMs).toISOString();
    unexplained.push(`${path} at ${at} ${status} ${message} after ${inSeconds(ms)}`);
  }
  const holds = unexplained.length === 0 && waiting.size <= WORKER_STOPS;
  const figures = `${answers.length} requests; ${failed.length} answered 500, of ${waiting.size} orders whose task a stopping worker lost`;
  prove('No other request failed', holds, `${figures} ${firstOf(unexplained)}`);
}

/** Starts each process again with other keys, one after the other. */
async function roll(drill: Drill, env: Settings, what: string): Promise<void> {
  const names = namesOf(drill, 'worker', 'api');
  for (const name of names) await restart(drill, name, { env });
  report(`${names.join(', ')} were started again: ${what}`);
}

/** Encrypts everything again, and uses every API secret. */
async function moveEverything(drill: Drill, env: Settings): Promise<void> {
  const { resealed, keys } = await admin<KeyReport & { resealed: number }>(
    drill,
    env,
    'keys',
    'reseal',
  );
  const twoFactor = keys.reduce((sum, { of }) => sum + (of['two-factor secrets'] ?? 0), 0);
  const figures = `${resealed} values, ${twoFactor} of them two-factor secrets`;
  prove('Everything was encrypted again', resealed > 0 && twoFactor > 0, figures);
  await useDemoKeys(drill);
  await waitFor('nothing needs an old key', MOVED_WITHIN_MS, async () => {
    const left = await listKeys(drill, env);
    return left.every(({ role, rows }) => role === 'newest' || rows === 0);
  });
  prove('Nothing needs an old key', true);
}

/** The merchant of the seed has not used its secrets since the pepper was replaced. */
async function useDemoKeys({ cluster }: Drill): Promise<void> {
  for (const environment of ['sandbox', 'production'] as const) {
    const { apiKey, apiSecret } = cluster.facts.demoMerchant[environment];
    const basePath = BASE_PATHS[environment];
    const headers = { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret };
    const { status } = await fetch(`${cluster.apiBaseUrl}${basePath}/orders`, { headers });
    prove('A secret from before the rotation is valid', status === 200, `${basePath} ${status}`);
  }
}

const listKeys = async (drill: Drill, env: Settings) =>
  (await admin<KeyReport>(drill, env, 'keys', 'list')).keys;

/** Runs an operators' command in a shell with these keys. @throws Error when it fails */
const admin = async <Data>(drill: Drill, env: Settings, ...args: string[]): Promise<Data> =>
  JSON.parse(await byCommand({ ...drill.environment(), ...env }, [...args, '--json']));
