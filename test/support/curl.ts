import { execFileSync } from 'node:child_process';

/**
 * Sends what a command line with curl would send, without curl: the shell splits the line.
 *
 * @param line with `-X`, `-H` and `-d` as its only options
 * @param variables of the shell
 */
export async function sendCurl(
  line: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const printing = line.replace('curl', String.raw`printf "%s\0"`);
  const words = execFileSync('sh', ['-c', printing], { encoding: 'utf8', env: variables })
    .split('\0')
    .slice(0, -1);
  const valuesOf = (flag: string) =>
    words.flatMap((word, index) => (word === flag ? [words[index + 1] ?? ''] : []));
  const url = words.find((word) => /^https?:/.test(word)) ?? '';
  const headers = valuesOf('-H').map((header) => header.split(': ') as [string, string]);
  const [body] = valuesOf('-d');
  const method = valuesOf('-X')[0] ?? (body === undefined ? 'GET' : 'POST');
  return fetch(url, { method, headers, body: body ?? null });
}
