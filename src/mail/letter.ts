import { z } from 'zod';
import { LANGUAGES } from '../pages/language.ts';

/** A link that stands on its own: in HTML a button. */
const linkSchema = z.object({ label: z.string(), url: z.string() });
/** What is best read as a table, such as an amount and a reference. */
const factsSchema = z.object({ facts: z.array(z.tuple([z.string(), z.string()])) });

/** What is stored of a mail until it is sent. */
export const letterSchema = z.object({
  language: z.enum(LANGUAGES).default('en'),
  /** One line. It is also the heading. */
  subject: z.string(),
  paragraphs: z.array(z.union([z.string(), linkSchema, factsSchema])),
});

/** What a mail says, without its form: see `renderLetter`. English unless it names its language. */
export type Letter = z.input<typeof letterSchema>;
