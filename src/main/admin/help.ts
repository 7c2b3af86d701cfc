import type { AdminCommand } from './command.ts';

const RUN = 'npm run -s admin --';

/** One line per command, grouped by noun. */
function listOf(commands: readonly AdminCommand[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const nouns = Map.groupBy(commands, ({ name }) => name.split(' ')[0]);
  return [...nouns.values()]
    .map((group) => group.map((one) => `  ${one.name.padEnd(width)}  ${one.summary}`).join('\n'))
    .join('\n\n');
}

/** The help of all commands, or of those of one noun. */
export function helpOfAll(commands: readonly AdminCommand[]): string {
  return `Usage: ${RUN} <command> [options]

${listOf(commands)}

Every command takes --json, which prints one JSON document, and --help, which lists its options.
The commands use the service that npm start runs in DATA_DIR, or that of DATABASE_URL and the other settings.`;
}

/** The help of one command. */
export function helpOfOne({ name, summary, notes, options }: AdminCommand): string {
  const entries = Object.entries(options).map(([option, spec]) => {
    if ('flag' in spec) return [`--${option}`, spec.help] as const;
    const { value, help, required, fallback } = spec;
    return [
      `--${option} ${value}`,
      required ? `${help} (required)` : fallback ? `${help} (default ${fallback})` : help,
    ] as const;
  });
  const rows = [...entries, ['--json', 'Print one JSON document'] as const];
  const width = Math.max(...rows.map(([option]) => option.length));
  const lines = rows.map(([option, help]) => `  ${option.padEnd(width)}  ${help}`);
  const usage = `Usage: ${RUN} ${name} [options]`;
  return [usage, '', `${summary}.`, '', ...lines, ...(notes ? ['', notes] : [])].join('\n');
}
