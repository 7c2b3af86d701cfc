import { buffer } from 'node:stream/consumers';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { freePort } from '../../dev/processes/ports.ts';
import { until } from './until.ts';

/** A mail that the server has accepted. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** The whole message, headers first. */
  source: string;
  subject: string;
  /** Its two forms. */
  text: string;
  html: string;
}

interface Reply {
  responseCode: number;
  message: string;
}

const errorOf = ({ responseCode, message }: Reply) =>
  Object.assign(new Error(message), { responseCode });

/** An SMTP server that accepts every mail, unless a test has it answer otherwise. */
export async function startSmtpReceiver() {
  const port = await freePort();
  const mails: ReceivedMail[] = [];
  const replies: Reply[] = [];
  let refusal: Reply | undefined;
  let beforeRecipient = async (_address: string): Promise<void> => {};
  let beforeAccepting = async (_mail: ReceivedMail): Promise<void> => {};
  let attempts = 0;
  let server: SMTPServer;

  async function start(): Promise<void> {
    server = new SMTPServer({
      disabledCommands: ['STARTTLS', 'AUTH'],
      closeTimeout: 100,
      onRcptTo({ address }, _session, callback) {
        attempts += 1;
        const reply = refusal ?? replies.shift();
        void beforeRecipient(address).then(() => callback(reply && errorOf(reply)));
      },
      onData(stream, { envelope }, callback) {
        void (async () => {
          const source = (await buffer(stream)).toString('utf8');
          const { mailFrom, rcptTo } = envelope;
          const { subject = '', text = '', html } = await simpleParser(source);
          const mail = {
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            source,
            subject,
            text,
            html: html || '',
          };
          mails.push(mail);
          await beforeAccepting(mail);
          callback();
        })();
      },
    });
    // A client that is killed resets its connection.
    server.on('error', () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(port, '127.0.0.1', resolve);
    await promise;
  }
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(resolve);
    });

  await start();
  return {
    url: `smtp://127.0.0.1:${port}`,
    start,
    stop,
    mails,
    /** How often a recipient was named, whatever the answer. */
    attempts: () => attempts,
    /** The answers to the next recipients, before further ones are accepted again. */
    answerWith(...next: Reply[]) {
      replies.push(...next);
    },
    /** Refuses every recipient until the returned function is called. */
    refuseAll(reply: Reply) {
      refusal = reply;
      return () => void (refusal = undefined);
    },
    /** Called with each recipient before the server takes the mail, until the returned function is called. */
    holdRecipients(action: (address: string) => Promise<void>) {
      beforeRecipient = action;
      return () => void (beforeRecipient = async () => {});
    },
    /** Called with each mail before it is accepted, until the returned function is called. */
    holdEach(action: (mail: ReceivedMail) => Promise<void>) {
      beforeAccepting = action;
      return () => void (beforeAccepting = async () => {});
    },
    /** The mails to an address, once there are so many. */
    async received(to: string, count = 1): Promise<ReceivedMail[]> {
      const found = () => mails.filter((mail) => mail.to.includes(to));
      await until(() => found().length >= count);
      return found();
    },
  };
}

/** The value of a header, which begins on the next line if it is long. */
export const headerOf = ({ source }: ReceivedMail, name: string) =>
  new RegExp(`^${name}:(?:\r\n)? (.*)\r$`, 'm').exec(source)?.[1];
