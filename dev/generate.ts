import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCommandLine, refuseCommandLine } from '../src/main/process/command-line.ts';
import { iconSprite } from './icon-sprite.ts';
import { withPermissionsTable } from './permissions-table.ts';
import { scenariosGuide } from './scenarios-guide.ts';
import { withSettingsTables } from './settings-table.ts';

/** A file of this repository that is written from the code, as a whole or in parts. */
interface Generated {
  /** Its path in the repository. */
  readonly file: string;
  readonly from: string;
  /** Its text. @param current the text that it has */
  readonly text: (current: string) => string;
}

/** The files that are written from the code, by the word of `npm run generate`. */
export const GENERATED: Readonly<Record<string, Generated>> = {
  settings: {
    file: 'docs/settings.md',
    from: 'the declarations of the settings',
    text: withSettingsTables,
  },
  permissions: {
    file: 'docs/security/who-may-do-what.md',
    from: 'src/accounts/people/permissions.ts and src/dashboard/merchant-acts.ts',
    text: withPermissionsTable,
  },
  scenarios: {
    file: 'docs/guides/scenarios.md',
    from: 'sdk/cli/src/scenarios.ts',
    text: scenariosGuide,
  },
  icons: {
    file: 'src/pages/icons.svg',
    from: 'the icons of lucide-static that src/pages/icons.ts names',
    text: iconSprite,
  },
};

/** `npm run generate -- WORD`. */
function main(): void {
  const usage = 'npm run generate';
  const lines = Object.entries(GENERATED).map(
    ([word, { file, from }]) => `  ${word.padEnd(12)} ${file}, from ${from}`,
  );
  const does = `Writes the file of a word from the code. The words are:\n\n${lines.join('\n')}`;
  const { operands } = readCommandLine({ usage, does, operands: 'WORD' });
  const [word = '', ...others] = operands;
  const generated = Object.hasOwn(GENERATED, word) ? GENERATED[word] : undefined;
  if (!generated || others.length > 0) {
    refuseCommandLine(usage, `One WORD of ${Object.keys(GENERATED).join(', ')} is needed`);
  }
  const path = join(import.meta.dirname, '..', generated.file);
  writeFileSync(path, generated.text(readFileSync(path, 'utf8')));
}

if (import.meta.main) main();
