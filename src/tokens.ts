import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;

/** 30 random base62 characters (178 bits) and 6 of CRC32, so that a scanner can reject typos. */
export function generateToken(prefix: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(62)]).join('');
  return prefix + random + checksum(prefix + random);
}

function checksum(text: string): string {
  let rest = crc32(text);
  let encoded = '';
  while (encoded.length < CHECKSUM_LENGTH) {
    encoded = BASE62[rest % 62] + encoded;
    rest = Math.floor(rest / 62);
  }
  return encoded;
}
