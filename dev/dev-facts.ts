import { join } from 'node:path';
import { z } from 'zod';
import { privateJson } from './files/private-file.ts';
import { SetupError } from '../src/setup-error.ts';

/** The state of the gateway simulator. */
export const simulatorJournal = (dataDir: string) => join(dataDir, 'gateway-simulator.journal');

const credentials = z.object({ apiKey: z.string(), apiSecret: z.string() });

/** The content of `demo-merchant.json` in the data directory: the same keys at every start. */
export const demoMerchantSchema = z.object({
  merchantId: z.string(),
  sandbox: credentials,
  production: credentials,
});

const demoUserSchema = z.object({ email: z.string(), password: z.string() });

const demoOperatorSchema = demoUserSchema.extend({ totpSecret: z.string() });

/** The content of `demo-users.json` in the data directory: who can log in to the dashboard. */
const demoUsersSchema = z.object({
  merchant: demoUserSchema,
  /** `totpSecret` is what an authenticator makes the six-digit codes from. */
  operator: demoOperatorSchema,
  /** Approves what the other one proposes. */
  secondOperator: demoOperatorSchema,
});

const devFactsSchema = z.object({
  apiBaseUrl: z.string(),
  /** Programs outside of this project read these two. */
  sandboxBasePath: z.string(),
  productionBasePath: z.string(),
  temporalAddress: z.string(),
  /** Absent when `npm start` did not start Temporal. */
  temporalUiUrl: z.string().optional(),
  /** Shows the mails of the service. Absent when SMTP_URL is set. */
  mailboxUrl: z.string().optional(),
  demoMerchant: demoMerchantSchema,
  demoUsers: demoUsersSchema,
  /** The settings that the service runs with, for commands in a second terminal. */
  environment: z.record(z.string(), z.string()),
});

/** The demo merchant and its keys, in both environments. */
export type DemoMerchant = z.infer<typeof demoMerchantSchema>;

/** A user of the dashboard and its password. */
export type DemoUser = z.infer<typeof demoUserSchema>;

/** The users of the dashboard that `npm start` creates. */
export type DemoUsers = z.infer<typeof demoUsersSchema>;

/** The demo operator, whose login also needs a six-digit code. */
export type DemoOperator = DemoUsers['operator'];

/** What `npm start` publishes for the other commands, in `dev.json` in the data directory. */
export type DevFacts = z.infer<typeof devFactsSchema>;

/** Their presence means that the service is ready. */
export const publishedFacts = privateJson('dev.json', devFactsSchema, 'npm start writes it anew');

/**
 * The facts of the service that runs on this data directory.
 *
 * @throws SetupError when no service is ready there.
 */
export function readDevFacts(dataDir: string): DevFacts {
  const facts = publishedFacts.read(dataDir);
  if (facts !== undefined) return facts;
  throw new SetupError(
    `No service is running on DATA_DIR ${dataDir} (there is no ${join(dataDir, 'dev.json')}): start it with npm start`,
  );
}

/** The demo merchant, for the next start. */
export const keptMerchant = privateJson(
  'demo-merchant.json',
  demoMerchantSchema,
  'remove it, and npm start makes another demo merchant',
);

/** The demo users, for the next start. */
export const keptUsers = privateJson(
  'demo-users.json',
  demoUsersSchema,
  'remove it, and npm start gives the demo users new passwords',
);
