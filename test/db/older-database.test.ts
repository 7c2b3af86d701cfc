import { expect } from 'vitest';
import { runPart } from '../support/run-part.ts';
import { serviceTest } from '../support/service-test.ts';

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

test('a database whose applied migrations have changed since is refused in one line', async ({
  service,
}) => {
  const isRefused = async () => {
    const { code, stdout, stderr } = await runPart('src/main/migrate.ts', service.env);
    expect(code).toBe(1);
    const lines = `${stdout}${stderr}`.trim().split('\n');
    expect(lines.filter((line) => line.includes('older version of this service'))).toHaveLength(1);
    expect(`${stdout}${stderr}`).not.toContain('    at ');
  };
  await service.sql`UPDATE schema_version SET md5 = 'of an older version' WHERE version = 5`;
  await isRefused();
  // The older version had more migrations.
  await service.sql`INSERT INTO schema_version (version, md5) VALUES (1000, 'of an older version')`;
  await isRefused();
});
