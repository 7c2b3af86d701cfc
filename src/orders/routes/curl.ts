import type { Environment } from '../../domain/index.ts';
import { BASE_PATHS } from '../../http/base-paths.ts';

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A POST to the API as a shell command. @param headers in order, in addition to the Content-Type of a body */
export function curlOfPost(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Readonly<Record<string, string | number>>,
): string {
  const data =
    Object.keys(body).length === 0
      ? []
      : [`-H ${quoted('Content-Type: application/json')}`, `-d ${quoted(JSON.stringify(body))}`];
  return [
    `curl -X POST ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...data,
  ].join(' \\\n  ');
}

export function curlOfFirstOrder(
  publicBaseUrl: string,
  environment: Environment,
  { apiKey, apiSecret }: { apiKey: string; apiSecret: string },
): string {
  return curlOfPost(
    `${publicBaseUrl}${BASE_PATHS[environment]}/orders`,
    { 'X-API-Key': apiKey, 'X-API-Secret': apiSecret },
    {
      amount: 499.5,
      buyerEmail: 'asha@example.com',
      buyerPhone: '+919876543210',
      description: 'Blue kurta, size M',
    },
  );
}
