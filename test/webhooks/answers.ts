export const OK = 'HTTP/1.1 200 OK\r\n';
export const OK_WITH_BODY = `${OK}content-length: 2\r\n\r\nok`;
export const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\n\r\n';
export const CHUNKED = 'transfer-encoding: chunked\r\n';

/** Answers whose head is a whole 2xx, and what is logged of the body. */
export const DELIVERED: [name: string, answer: string, body: string][] = [
  ['both lengths', `${OK}content-length: 2\r\n${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`, 'ok'],
  [
    'both lengths, the other one first',
    `${OK}${CHUNKED}content-length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    'ok',
  ],
  ['a doubled length', `${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nok`, 'ok'],
  ['two lengths', `${OK}content-length: 9\r\nContent-Length: 2\r\n\r\nok`, 'ok'],
  ['a length with a comma', `${OK}content-length: 2, 2\r\n\r\nok`, 'ok'],
  ['a negative length', `${OK}content-length: -1\r\n\r\nok`, 'ok'],
  ['a length with a plus', `${OK}content-length: +2\r\n\r\nok`, 'ok'],
  ['an empty length', `${OK}content-length:\r\n\r\nok`, 'ok'],
  ['a length that is text', `${OK}content-length: two\r\n\r\nok`, 'ok'],
  ['a length beyond all numbers', `${OK}content-length: ${'9'.repeat(40)}\r\n\r\nok`, 'ok'],
  ['a body that is too short', `${OK}content-length: 10\r\n\r\nok`, 'ok'],
  ['a body that is too long', `${OK}content-length: 2\r\n\r\nokay`, 'ok'],
  ['no length', `${OK}\r\nok`, 'ok'],
  ['nothing but its status line', `${OK}\r\n`, ''],
  [
    'chunks with extensions and trailers',
    `${OK}${CHUNKED}\r\n2;a=b\r\nok\r\n0\r\nx: y\r\n\r\n`,
    'ok',
  ],
  ['a chunk that breaks off', `${OK}${CHUNKED}\r\n9\r\nok`, 'ok'],
  ['a chunk without an end', `${OK}${CHUNKED}\r\n2\r\nok\r\n`, 'ok'],
  ['a chunk whose size is none', `${OK}${CHUNKED}\r\n2\r\nok\r\nxyz\r\nno\r\n0\r\n\r\n`, 'ok'],
  ['chunks that end in LF alone', `${OK}${CHUNKED}\r\n2\nok\n0\n\n`, ''],
  ['chunks after HTTP/1.0', `HTTP/1.0 200 OK\r\n${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`, 'ok'],
  ['another coding', `${OK}transfer-encoding: identity\r\n\r\nok`, 'ok'],
  ['two codings', `${OK}transfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, 'ok'],
  ['chunked twice', `${OK}${CHUNKED}${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`, 'ok'],
  ['a body after 204', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok', ''],
  [
    'a body after 204, in chunks',
    `HTTP/1.1 204 No Content\r\n${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`,
    '',
  ],
  ['a second answer after the first', `${OK_WITH_BODY}HTTP/1.1 500 Oops\r\n\r\n`, 'ok'],
  ['no reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['an empty reason', 'HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['a reason in another script', 'HTTP/1.1 200 \xe0\xa4\xa0\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['two blanks before its status', 'HTTP/1.1  200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nok', 'ok'],
  ['HTTP/1.2', 'HTTP/1.2 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['HTTP/2.0', 'HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['status 299', 'HTTP/1.1 299 Fine\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ['line breaks before it', `\r\n\r\n${OK_WITH_BODY}`, 'ok'],
  ['a value on two lines', `${OK}x-note: a\r\n\t b\r\ncontent-length: 2\r\n\r\nok`, 'ok'],
  ['a length on two lines', `${OK}content-length:\r\n 2\r\n\r\nok`, 'ok'],
  [
    'a control character in a value',
    `${OK}x-note: a\x01\x7fb\r\ncontent-length: 2\r\n\r\nok`,
    'ok',
  ],
  ['a value that is not ASCII', `${OK}x-note: \xe9\xff\r\ncontent-length: 2\r\n\r\nok`, 'ok'],
  ['an empty value', `${OK}x-note:\r\nserver:   \r\ncontent-length: 2\r\n\r\nok`, 'ok'],
  [
    'the same header a thousand times',
    `${OK}${'a: b\r\n'.repeat(1000)}content-length: 2\r\n\r\nok`,
    'ok',
  ],
  ['connection: close', `${OK}connection: keep-alive, Close\r\ncontent-length: 2\r\n\r\nok`, 'ok'],
  ['an upgrade', `${OK}connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\nok`, 'ok'],
  [
    'a body that is no text',
    `${OK}content-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b`,
    '\x1f\x8b',
  ],
];

const LF_ALONE = 'a line of its head ends in LF alone, not in CRLF';
const NAME_HAS_BLANK = 'the name of a header has a blank';
const BAD_NAME = 'the name of a header is empty or has a character that no name has';
const NO_STATUS = 'its first line has no HTTP version and status of three digits';
const CR_ALONE = 'its head has a CR that no LF follows';
const NUL = 'its head has a NUL byte';

/** Answers whose head is not HTTP, with the reason that is logged. */
export const REFUSED: [name: string, answer: string, reason: string][] = [
  ['lines that end in LF alone', 'HTTP/1.1 200 OK\ncontent-length: 2\n\nok', LF_ALONE],
  ['one line that ends in LF alone', `${OK}x: y\ncontent-length: 2\r\n\r\nok`, LF_ALONE],
  ['an empty line that is LF alone', `${OK}content-length: 2\r\n\nok`, LF_ALONE],
  ['LF alone in an interim answer', `HTTP/1.1 100 Continue\n\n${OK_WITH_BODY}`, LF_ALONE],
  ['lines that end in CR alone', 'HTTP/1.1 200 OK\rcontent-length: 2\r\rok', CR_ALONE],
  ['CR alone in a value', `${OK}x: a\rb\r\n\r\n`, CR_ALONE],
  ['a blank in a name', `${OK}x note: y\r\ncontent-length: 2\r\n\r\nok`, NAME_HAS_BLANK],
  ['a blank before a colon', `${OK}content-length : 2\r\n\r\nok`, NAME_HAS_BLANK],
  ['a tab before a colon', `${OK}content-length\t: 2\r\n\r\nok`, NAME_HAS_BLANK],
  ['an empty name', `${OK}: y\r\n\r\n`, BAD_NAME],
  ['a quote in a name', `${OK}"x-note": y\r\n\r\n`, BAD_NAME],
  ['a name that is not ASCII', `${OK}x-n\xf6te: y\r\n\r\n`, BAD_NAME],
  ['a line without a colon', `${OK}note\r\n\r\n`, 'a line of its head has no colon'],
  [
    'a first header that begins with a blank',
    `${OK} x: y\r\n\r\n`,
    'its first header begins with a blank',
  ],
  ['a zero byte in a value', `${OK}x: a\0b\r\n\r\n`, NUL],
  ['a zero byte in its reason', 'HTTP/1.1 200 O\0K\r\n\r\n', NUL],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', NO_STATUS],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', NO_STATUS],
  ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n', NO_STATUS],
  ['no status', 'HTTP/1.1\r\n\r\n', NO_STATUS],
  ['a version without a dot', 'HTTP/1 200 OK\r\n\r\n', NO_STATUS],
];
