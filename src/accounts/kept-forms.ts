import type { Sql } from '../db/client.ts';
import type { SecretBox } from '../secret-box.ts';
import { SealError } from '../secret-box.ts';
import { hashOfToken } from './tokens.ts';

/** Identifies the browser of someone who is not logged in, to find the form that it sent. */
export const FORM_COOKIE = '__Host-form';

/** How long a form is kept. */
export const KEPT_FORM_SECONDS = 3600;

/** The most forms that are kept: of one user or browser, and of all browsers without a session. */
const MOST = { ofOne: 20, ofStrangers: 1000 };

export interface TypedForm {
  /** The path that the form is sent to. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
}

export interface FormSender {
  userId?: string | undefined;
  sessionToken?: string | undefined;
  browserToken?: string | undefined;
}

interface KeptFormDeps {
  sql: Sql;
  dataBox: SecretBox;
}

/** Keeps what was typed into forms, sealed and for an hour, until it is shown again. */
export interface KeptForms {
  /**
   * @param path of the page that has the form
   * @returns whom it is kept for; undefined if too many are kept
   */
  keep(sender: FormSender, path: string, form: TypedForm): Promise<'user' | 'browser' | undefined>;
  find(sender: FormSender, path: string): Promise<TypedForm | undefined>;
  /** Deletes the form, after it was carried out. */
  drop(sender: FormSender, path: string): Promise<void>;
}

const holdersOf = ({ userId, browserToken }: FormSender): string[] => [
  ...(userId === undefined ? [] : [`user:${userId}`]),
  ...(browserToken === undefined ? [] : [`browser:${hashOfToken(browserToken).toString('hex')}`]),
];

/** The context that a sealed form is bound to. */
export const keptFormContext = (holder: string, path: string) => ['kept_forms', holder, path];

export function createKeptForms({ sql, dataBox }: KeptFormDeps): KeptForms {
  /** Returns the user of a session that has ended, too, so that no other user of the browser reads the form. */
  const userOf = async (sessionToken = ''): Promise<string | undefined> => {
    const [session] = await sql<{ userId: string }[]>`
      SELECT user_id FROM dashboard_sessions WHERE token_hash = ${hashOfToken(sessionToken)}`;
    return session?.userId;
  };
  /** Returns undefined if the form's key was removed meanwhile. */
  const opened = (content: Buffer, context: readonly string[]): TypedForm | undefined => {
    try {
      return JSON.parse(dataBox.openBytes(content, context).toString('utf8')) as TypedForm;
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  };
  return {
    async keep(sender, path, form) {
      const userId = sender.userId ?? (await userOf(sender.sessionToken));
      const [holder = ''] = holdersOf({ ...sender, userId });
      const content = Buffer.from(JSON.stringify(form));
      const kept = await sql`
        INSERT INTO kept_forms (holder, path, content_sealed, expires_at)
        SELECT ${holder}, ${path}, ${dataBox.sealBytes(content, keptFormContext(holder, path))},
          service_now() + ${KEPT_FORM_SECONDS} * interval '1 second'
        WHERE (SELECT count(*) FROM kept_forms WHERE holder = ${holder}) < ${MOST.ofOne}
          AND (${userId !== undefined}
            OR (SELECT count(*) FROM kept_forms WHERE holder LIKE 'browser:%') < ${MOST.ofStrangers})
        ON CONFLICT (holder, path) DO UPDATE
          SET content_sealed = EXCLUDED.content_sealed, expires_at = EXCLUDED.expires_at
        RETURNING 1`;
      if (kept.length === 0) return undefined;
      return userId === undefined ? 'browser' : 'user';
    },
    async find(sender, path) {
      const [kept] = await sql<{ holder: string; contentSealed: Buffer }[]>`
        SELECT holder, content_sealed FROM kept_forms
        WHERE holder = ANY(${holdersOf(sender)}) AND path = ${path} AND expires_at > service_now()
        ORDER BY expires_at DESC LIMIT 1`;
      if (!kept) return undefined;
      return opened(kept.contentSealed, keptFormContext(kept.holder, path));
    },
    async drop(sender, path) {
      await sql`
        DELETE FROM kept_forms WHERE holder = ANY(${holdersOf(sender)}) AND path = ${path}`;
    },
  };
}
