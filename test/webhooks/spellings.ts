/** Every way in which users and attackers write an address into a URL. */

const octetsOf = (address: bigint) =>
  [24n, 16n, 8n, 0n].map((shift) => Number((address >> shift) & 255n));

const inBase = {
  decimal: (value: number) => String(value),
  hex: (value: number) => `0x${value.toString(16)}`,
  hexUpper: (value: number) => `0X${value.toString(16).toUpperCase()}`,
  hexPadded: (value: number) => `0x${value.toString(16).padStart(10, '0')}`,
  octal: (value: number) => `0${value.toString(8)}`,
  octalPadded: (value: number) => `000${value.toString(8)}`,
};

/** One to four parts: the last part contains the remaining octets (`127.1`, `0x7f000001`). */
function partitions(octets: number[]): number[][] {
  return [1, 2, 3, 4].map((count) => {
    const rest = octets.slice(count - 1).reduce((sum, octet) => sum * 256 + octet, 0);
    return [...octets.slice(0, count - 1), rest];
  });
}

const fullWidth = (text: string) =>
  text.replace(/[0-9a-z]/gi, (character) =>
    String.fromCodePoint(character.codePointAt(0)! + 0xfee0),
  );
const circled = (text: string) =>
  text.replace(/[1-9]/g, (digit) => String.fromCodePoint(0x2460 + Number(digit) - 1));
const percentEncoded = (text: string) =>
  text.replace(/[0-9a-z]/gi, (character) => `%${character.codePointAt(0)!.toString(16)}`);

/** An IPv4 address in decimal, octal, hexadecimal, short, mixed and otherwise disguised forms. */
export function spellingsOfIpv4(address: bigint): string[] {
  const parts = partitions(octetsOf(address));
  const sameBase = Object.values(inBase).flatMap((spell) =>
    parts.map((numbers) => numbers.map(spell).join('.')),
  );
  const mixed = parts.map((numbers) =>
    numbers.map((value, index) => Object.values(inBase)[index]!(value)).join('.'),
  );
  return [...sameBase, ...mixed].flatMap((text) => [
    text,
    `${text}.`,
    fullWidth(text),
    circled(text),
    percentEncoded(text),
    text.replaceAll('.', '\u3002'),
    text.replaceAll('.', '\uff0e'),
    text.replaceAll('.', '\uff61'),
    text.replaceAll('.', '%2e'),
    `\u00ad${text}`,
  ]);
}

const groupsOf = (address: bigint) =>
  Array.from({ length: 8 }, (_, index) => (address >> BigInt(112 - 16 * index)) & 0xffffn).map(
    (group) => group.toString(16),
  );

/** Writes the longest run of zero groups as `::`, as RFC 5952 requires. */
function compressed(groups: string[]): string {
  for (let length = 8; length > 0; length -= 1) {
    const zeros = Array.from({ length }, () => '0').join(':');
    const text = `:${groups.join(':')}:`;
    if (text.includes(`:${zeros}:`)) {
      return text.replace(`:${zeros}:`, '::').replace(/^:(?!:)|(?<!:):$/g, '');
    }
  }
  return groups.join(':');
}

/** An IPv6 address in full, compressed, upper case, padded, and with its end in dotted decimal. */
export function spellingsOfIpv6(address: bigint): string[] {
  const groups = groupsOf(address);
  const dottedEnd = octetsOf(address & 0xffffffffn).join('.');
  const texts = [
    groups.join(':'),
    groups.map((group) => group.padStart(4, '0')).join(':'),
    compressed(groups),
    [...groups.slice(0, 6), dottedEnd].join(':'),
    compressed([...groups.slice(0, 6), dottedEnd]),
  ];
  return texts.flatMap((text) => [text, text.toUpperCase()]);
}

/**
 * An IPv4 address inside IPv6 addresses: mapped, compatible, translated, NAT64 (both prefixes),
 * 6to4, Teredo (as the server, and hidden as the client), and ISATAP under a public prefix, local
 * and universal. `random`, of 61 bits, fills what is free.
 */
export function wrappingsOfIpv4(address: bigint, random: bigint): bigint[] {
  const low64 = random & ((1n << 64n) - 1n);
  const publicPrefix = (0x2606n << 112n) | ((random & 0xffff_ffff_ffffn) << 64n);
  return [
    (0xffffn << 32n) | address,
    address,
    (0xffffn << 48n) | address,
    (0x64ff9bn << 96n) | address,
    (0x64ff9b0001n << 80n) | address,
    (0x2002n << 112n) | (address << 80n) | low64,
    (0x20010000n << 96n) | (address << 64n) | low64,
    (0x20010000n << 96n) | ((random & 0xffff_ffffn) << 64n) | (address ^ 0xffff_ffffn),
    publicPrefix | (0x00005efen << 32n) | address,
    publicPrefix | (0x02005efen << 32n) | address,
  ];
}
