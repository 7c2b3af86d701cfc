import { fileTypeFromBuffer } from 'file-type';
import { DomainError } from '../domain/index.ts';

/** The largest document. */
export const MAX_DOCUMENT_BYTES = 5 * 1024 * 1024;

/** The media types of documents and the endings of their names. */
const ENDINGS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'image/jpeg': 'jpg',
  'image/png': 'png',
};

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
export async function checkFile(content: Uint8Array, declaredName: string): Promise<CheckedFile> {
  if (content.length === 0) throw refused('Choose a file; this one is empty');
  if (content.length > MAX_DOCUMENT_BYTES) throw refused('The file is larger than 5 MB');
  const mediaType = (await fileTypeFromBuffer(content))?.mime ?? '';
  const ending = ENDINGS[mediaType];
  if (ending === undefined) throw refused('The file must be a PDF, a JPEG or a PNG by its content');
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
  return bounded.replaceAll(/^[. ]+|[. ]+$/g, '') || 'document';
}
