import Negotiator from 'negotiator';
import { z } from 'zod';
import type { RawInput } from '../http/define-route.ts';
import type { Language } from '../pages/language.ts';
import { LANGUAGES } from '../pages/language.ts';
import type { Texts } from './texts/en.ts';
import { EN } from './texts/en.ts';
import { HI } from './texts/hi.ts';

/** The texts of the buyer's pages in each language. */
export const TEXTS: Readonly<Record<Language, Texts>> = { en: EN, hi: HI };

/** The part of a request that decides the language of its answer. */
export const languageInput = {
  query: z.object({ language: z.enum(LANGUAGES).optional().catch(undefined) }),
  headers: z.object({ 'Accept-Language': z.string().optional() }),
};

/** The language of an answer. */
export interface PageLanguage {
  readonly texts: Texts;
  /** What every link, form and redirect of the page has after its path: the language that the buyer chose. */
  readonly query: '' | `?language=${Language}`;
}

/**
 * Finds the language that a buyer has chosen with the page's switch; else the one that the browser asks for,
 * and English if we have none of those.
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
