/** What browsers send of a field `datetime-local`; people in India mean their own time. */
const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/;

/** A date and time of India, such as `2026-11-22T18:30`. @returns undefined for any other text */
export function parseIndianTime(text: string | undefined): Date | undefined {
  if (text === undefined || !LOCAL_TIME.test(text)) return undefined;
  const time = new Date(`${text}+05:30`);
  // Times before 1970 have no delivery, and no ULID.
  return time.getTime() >= 0 ? time : undefined;
}
