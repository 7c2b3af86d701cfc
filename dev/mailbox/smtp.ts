import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { SMTPServer } from 'smtp-server';
import type { MailStore } from './store.ts';

const MAX_BYTES = 10 * 1024 * 1024;

/** Starts an SMTP server that accepts every mail and stores it. */
export async function startSmtpServer(
  { host, port }: { host: string; port: number },
  { store, log }: { store: MailStore; log: Logger },
): Promise<{ close(): Promise<void> }> {
  const smtp = new SMTPServer({
    // Only this machine can connect, so nothing is encrypted.
    disabledCommands: ['STARTTLS', 'AUTH'],
    size: MAX_BYTES,
    closeTimeout: 500,
    onData(stream, _session, callback) {
      buffer(stream)
        .then((source) => log.info({ mail: store.save(source) }, 'A mail was received'))
        .then(() => callback(), callback);
    },
  });
  const { server } = smtp;
  // `once` rejects with an error of listening; later ones are those of connections.
  smtp.on('error', (err) => {
    if (server.listening) log.warn({ err }, 'A mail was not received');
  });
  smtp.listen(port, host);
  await once(server, 'listening');
  return {
    close: () =>
      new Promise((resolve) => {
        smtp.close(resolve);
      }),
  };
}
