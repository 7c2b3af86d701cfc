/** The languages of buyers' pages and of their mails. The merchants' and operators' pages are English. */
export const LANGUAGES = ['en', 'hi'] as const;

/** English or Hindi, by its code of ISO 639-1. */
export type Language = (typeof LANGUAGES)[number];
