/** The languages of buyers' pages and mails. Pages of merchants and operators are English. Codes of ISO 639-1. */
export const LANGUAGES = ['en', 'hi'] as const;

export type Language = (typeof LANGUAGES)[number];
