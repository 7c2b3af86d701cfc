import { once } from 'node:events';
import { join } from 'node:path';
import { listenOn } from '../src/main/process/listen.ts';
import { runMain, stopRequested } from '../src/main/process/process.ts';
import { loadDevConfig } from './config.ts';
import { keptUsers } from './dev-facts.ts';
import { startSmtpServer } from './mailbox/smtp.ts';
import { createMailStore } from './mailbox/store.ts';
import { createMailboxServer } from './mailbox/web.ts';
import { currentCode } from './start/demo-users.ts';

/** The SMTP server of `npm start`: it keeps the service's mails, and a page shows them. */
await runMain(
  { name: 'mailbox', does: 'Keeps the mails of the service, and shows them.', load: loadDevConfig },
  async (config, log) => {
    const store = createMailStore(join(config.dataDir, 'mails'));
    const { host, mailboxPort, mailboxSmtpPort } = config;
    const variable = 'PORT_OFFSET';
    const smtpPlace = { host, port: mailboxSmtpPort, variable };
    const smtp = await listenOn(smtpPlace, (place) => startSmtpServer(place, { store, log }));
    const readCodes = () => {
      const users = keptUsers.read(config.dataDir);
      return users ? [users.operator, users.secondOperator].map(currentCode) : [];
    };
    const web = createMailboxServer(store, readCodes);
    await listenOn({ host, port: mailboxPort, variable }, async (place) => {
      web.listen(place);
      await once(web, 'listening');
    });
    log.info({ port: mailboxPort, smtpPort: mailboxSmtpPort }, 'The mailbox receives mails');
    process.send?.('ready');
    await stopRequested();
    web.close();
    web.closeAllConnections();
    await smtp.close();
  },
);
