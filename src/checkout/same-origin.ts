import { z } from 'zod';
import { errorOf } from '../http/errors.ts';

/** The headers by which a browser tells where a form was sent from. */
export const formHeaders = z.object({
  'Sec-Fetch-Site': z.string().optional(),
  Origin: z.string().optional(),
  Host: z.string().optional(),
});

/**
 * Refuses forms that another site's page has sent. There is no cookie to abuse, and whoever does
 * not know the token knows no address to send a form to: this is the second lock on that door.
 *
 * A browser too old for Sec-Fetch-Site says `null` as the Origin of our own forms, because our
 * pages let it send no referrer; and what is no browser may say nothing.
 *
 * @throws DomainError `ORIGIN_NOT_ALLOWED`
 */
export function assertSameOrigin(headers: z.output<typeof formHeaders>): void {
  const { 'Sec-Fetch-Site': site, Origin: origin = 'null', Host: host } = headers;
  const isOurs =
    site === undefined
      ? origin === 'null' || (URL.canParse(origin) && new URL(origin).host === host)
      : site === 'same-origin' || site === 'none';
  if (!isOurs) throw errorOf('ORIGIN_NOT_ALLOWED');
}
