#!/usr/bin/env node
import { runCli } from './run.ts';

const end = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => end.abort());

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  signal: end.signal,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
});
