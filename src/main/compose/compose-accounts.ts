import type { AccountDeps } from '../../accounts/public.ts';
import { required } from '../../config.ts';
import { sendMail } from '../../mail/public.ts';
import { createSecretBox } from '../../secret-box.ts';
import { createMailWorkflows } from '../../temporal/mail-workflows.ts';
import type { Resources } from './resources.ts';

/** What the pages of users call. @throws ConfigError if DATA_ENCRYPTION_KEYS is missing */
export function composeAccounts({ config, sql, temporal }: Resources): AccountDeps {
  const dataBox = createSecretBox(required(config, 'DATA_ENCRYPTION_KEYS'));
  const mails = createMailWorkflows(temporal);
  return {
    sql,
    dataBox,
    sendMail: (mail) => sendMail({ sql, mailBox: dataBox, mails }, mail),
    publicBaseUrl: config.publicBaseUrl,
    nowMs: Date.now,
  };
}
