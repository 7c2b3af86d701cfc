/** The keys of the secret boxes of the service under test. */
export const SECRET_KEYS = `test:${Buffer.alloc(32, 7).toString('base64')}`;
