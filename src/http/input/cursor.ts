import { z } from 'zod';

/** A place in a list as a client gets it and hands it back: opaque, so that its parts may change. */
export function cursorOf(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** The message of a cursor that this service has not made. */
export const INVALID_CURSOR = 'must be the `next` of an earlier response';

/**
 * The schema of a cursor in a query.
 *
 * @param place the schema of what was given to {@link cursorOf}
 * @param message of another text
 */
export function cursorInQuery<Place extends z.ZodType>(place: Place, message = INVALID_CURSOR) {
  return z.string({ error: message }).transform((text, context): z.output<Place> => {
    const parsed = place.safeParse(parsedJson(Buffer.from(text, 'base64url').toString()));
    if (parsed.success) return parsed.data;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
