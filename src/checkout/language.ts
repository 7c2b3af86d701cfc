import Negotiator from 'negotiator';
import { z } from 'zod';
import type { RawInput } from '../http/input/validation.ts';
import type { Language } from '../pages/language.ts';
import { LANGUAGES } from '../pages/language.ts';
import type { Texts } from './texts/en.ts';
import { EN } from './texts/en.ts';
import { HI } from './texts/hi.ts';

export const TEXTS: Readonly<Record<Language, Texts>> = { en: EN, hi: HI };

export const languageInput = {
  query: z.object({ language: z.enum(LANGUAGES).optional().catch(undefined) }),
  headers: z.object({ 'Accept-Language': z.string().optional() }),
};

export interface PageLanguage {
  readonly texts: Texts;
  /** The query that links, forms and redirects of the page repeat, if the buyer chose a language. */
  readonly query: '' | `?language=${Language}`;
}

/**
 * Chooses the language of an answer: the one chosen with the page's switch, else the first supported one that the
 * browser accepts, else English.
 *
 * @param request its query and headers, which need not be valid
 */
export function languageOf({ query, headers }: Pick<RawInput, 'query' | 'headers'>): PageLanguage {
  const { language: chosen } = languageInput.query.parse(query);
  if (chosen) return { texts: TEXTS[chosen], query: `?language=${chosen}` };
  const { 'Accept-Language': accepted } = languageInput.headers.parse(headers);
  const negotiator = new Negotiator({ headers: { 'accept-language': accepted } });
  const preferred = negotiator.language([...LANGUAGES]);
  return { texts: TEXTS[LANGUAGES.find((one) => one === preferred) ?? 'en'], query: '' };
}
