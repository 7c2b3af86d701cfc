import { DomainError } from '../domain/index.ts';

/** The largest document. */
export const MAX_DOCUMENT_BYTES = 5 * 1024 * 1024;

interface Format {
  mediaType: string;
  /** Of a file's name. */
  ending: string;
  begins: (start: string) => boolean;
}

/**
 * The accepted formats, by their first bytes as Latin-1. Sources: ISO 32000-1, 7.5.2 (PDF); ITU-T T.81,
 * B.1.1.3 (JPEG; the marker F7 begins a JPEG-LS); W3C PNG, 5.2 and 11.2.2.
 */
const FORMATS: readonly Format[] = [
  { mediaType: 'application/pdf', ending: 'pdf', begins: (start) => start.startsWith('%PDF-') },
  {
    mediaType: 'image/jpeg',
    ending: 'jpg',
    begins: (start) => /^\xff\xd8\xff[\xc0-\xf6\xf8-\xff]/.test(start),
  },
  {
    mediaType: 'image/png',
    ending: 'png',
    begins: (start) => start.startsWith('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'),
  },
];
const START_BYTES = 16;

/** A document whose content was checked. */
export interface CheckedFile {
  fileName: string;
  mediaType: string;
}

/**
 * Finds the media type of a document in its content. What the browser declared is not used, except
 * for the name, of which only harmless characters are kept.
 *
 * @throws DomainError `BAD_REQUEST` with a sentence for the merchant
 */
export function checkFile(content: Uint8Array, declaredName: string): CheckedFile {
  if (content.length === 0) throw refused('Choose a file; this one is empty');
  if (content.length > MAX_DOCUMENT_BYTES) throw refused('The file is larger than 5 MB');
  const start = Buffer.from(content.subarray(0, START_BYTES)).toString('latin1');
  const format = FORMATS.find(({ begins }) => begins(start));
  if (!format) throw refused('The file must be a PDF, a JPEG or a PNG by its content');
  const { mediaType, ending } = format;
  return { fileName: `${cleanedName(declaredName)}.${ending}`, mediaType };
}

const refused = (message: string) => new DomainError('BAD_REQUEST', message);

const NAME_LENGTH = 80;

/** A name without path, ending, control characters and whatever else a file system or a page reads. */
function cleanedName(declared: string): string {
  const name = declared.normalize('NFC').split(/[\\/]/).at(-1) ?? '';
  const cleaned = name
    .replace(/\.[^.]*$/, '')
    .replaceAll(/[^\p{L}\p{M}\p{N} ._()-]/gu, '_')
    .replaceAll(/[. ]+/g, (run) => run.charAt(0));
  const bounded = [...cleaned].slice(0, NAME_LENGTH).join('');
  return bounded.replaceAll(/^[. ]|[. ]$/g, '') || 'document';
}
