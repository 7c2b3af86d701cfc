import { describe, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config.ts';

const lineOf = (env: NodeJS.ProcessEnv) => {
  try {
    loadConfig(env);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
};

describe('a wrong setting is one line that names the variable and what it accepts', () => {
  test.each([
    [{ PORT: 'eighty' }, 'PORT is wrong: it accepts a port number from 1 to 65535'],
    [{ TEMPORAL_PORT: '70000' }, 'TEMPORAL_PORT is wrong: it accepts a port number'],
    [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL is wrong: it accepts a postgres:// address'],
    [{ TEMPORAL_ADDRESS: 'localhost' }, 'TEMPORAL_ADDRESS is wrong: it accepts host:port'],
    [{ PAYMENT_LINK_SECONDS: '-1' }, 'PAYMENT_LINK_SECONDS is wrong: it accepts a positive number'],
    [{ API_SECRET_PEPPER: 'short' }, 'API_SECRET_PEPPER is wrong: it accepts at least 32'],
    [{ WEBHOOK_SECRET_KEYS: 'k1:abc' }, 'WEBHOOK_SECRET_KEYS is wrong: it accepts id:base64'],
    [{ WEBHOOK_ALLOWED_CIDRS: 'everyone' }, 'WEBHOOK_ALLOWED_CIDRS is wrong: it accepts CIDR'],
    [{ TRUSTED_PROXIES: '10.0.0.0/99' }, 'TRUSTED_PROXIES is wrong: it accepts addresses'],
    [{ RATE_LIMIT_PER_SECOND: '0' }, 'RATE_LIMIT_PER_SECOND is wrong: it accepts a whole number'],
    [{ PRODUCTION_RAZORPAY_BASE_URL: 'http://x' }, 'PRODUCTION_RAZORPAY_BASE_URL is wrong'],
  ])('%j', (env, line) => {
    expect(lineOf(env)).toContain(line);
    expect(lineOf(env)).not.toContain('\n');
  });
});

test('production refuses private addresses for webhooks', () => {
  const env = { NODE_ENV: 'production', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' };
  expect(lineOf(env)).toContain('WEBHOOK_ALLOWED_CIDRS');
  expect(lineOf({ ...env, WEBHOOK_ALLOWED_CIDRS: '' })).toBeUndefined();
});

test('half a gateway is refused, naming the part that is missing', () => {
  const env = {
    PRODUCTION_RAZORPAY_BASE_URL: 'https://api.razorpay.com',
    PRODUCTION_RAZORPAY_KEY_ID: 'rzp_live_x',
    PRODUCTION_RAZORPAY_KEY_SECRET: 'x',
  };
  expect(lineOf(env)).toContain('PRODUCTION_RAZORPAY_WEBHOOK_SECRET');
  expect(lineOf({ ...env, PRODUCTION_RAZORPAY_WEBHOOK_SECRET: 'x' })).toBeUndefined();
});

test('the cache lies where XDG_CACHE_HOME says, unless that is a relative path', () => {
  expect(loadConfig({ XDG_CACHE_HOME: '/var/cache' }).cacheHome).toBe('/var/cache');
  const usual = loadConfig({}).cacheHome;
  expect(loadConfig({ XDG_CACHE_HOME: 'cache' }).cacheHome).toBe(usual);
  expect(loadConfig({ XDG_CACHE_HOME: '' }).cacheHome).toBe(usual);
});

test('nothing has to be set on a laptop', () => {
  expect(loadConfig({})).toMatchObject({ port: 8080, rateLimitPerSecond: 10 });
});
