import { expect, test } from 'vitest';
import { loadDevConfig } from '../../dev/config.ts';
import { SETTINGS_TABLES } from '../../dev/settings-table.ts';
import { fileVariable, port, readAllOrNone, text } from '../../src/settings.ts';

const entries = Object.values(SETTINGS_TABLES).flatMap((settings) => Object.entries(settings));

test('every variable that is read has a row in docs/settings.md, but for those that only tests and npm set', () => {
  const read = new Set<string>();
  const env = new Proxy<NodeJS.ProcessEnv>(
    {},
    {
      get(_, name) {
        read.add(String(name));
        return undefined;
      },
    },
  );
  loadDevConfig(env);
  const variables = entries.flatMap(([name, { secret }]) =>
    secret ? [name, fileVariable(name)] : [name],
  );
  expect(variables.toSorted()).toEqual([...read].toSorted());
  const leftOut = entries.filter(([, { hidden }]) => hidden).map(([name]) => name);
  expect(leftOut).toEqual(['WEBHOOK_RETRY_DELAYS_SECONDS', 'npm_lifecycle_event']);
});

test('a gateway brings variables of its own, under its own prefix', () => {
  const settings = {
    ACCOUNT_TOKEN: text(undefined, { accepts: 'the token of an account', description: '' }),
    CALLBACK_PORT: port(undefined, ''),
  };
  const read = (env: NodeJS.ProcessEnv) => readAllOrNone(settings, env, 'SANDBOX_OTHER_');
  expect(read({ SANDBOX_RAZORPAY_KEY_ID: 'x' })).toBeUndefined();
  const whole = { SANDBOX_OTHER_ACCOUNT_TOKEN: 't', SANDBOX_OTHER_CALLBACK_PORT: '80' };
  expect(read(whole)).toEqual({ accountToken: 't', callbackPort: 80 });
  expect(() => read({ ...whole, SANDBOX_OTHER_ACCOUNT_TOKEN: '' })).toThrow(
    'SANDBOX_OTHER_ACCOUNT_TOKEN is missing: it accepts the token of an account',
  );
  expect(() => read({ SANDBOX_OTHER_CALLBACK_PORT: 'x' })).toThrow(
    'SANDBOX_OTHER_CALLBACK_PORT is wrong: it accepts a port number from 1 to 65535',
  );
});
