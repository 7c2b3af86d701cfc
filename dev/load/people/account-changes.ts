import { ulid } from 'ulid';
import { totpOf } from '../../../src/accounts/two-factor/second-factor.ts';
import { clearAlert } from '../../../src/alerts/alerts.ts';
import type { Proposer } from '../../../src/proposals/context.ts';
import type { Proposed } from '../../../src/proposals/proposals.ts';
import {
  approveProposal,
  rejectProposal,
  withdrawProposal,
} from '../../../src/proposals/proposals.ts';
import { requireProposal } from '../../../src/proposals/queries.ts';
import { disableOrPropose } from '../../../src/proposals/second-person.ts';
import { askSimulator, controlSimulator, untilDone, type SimulatorAccess } from '../simulator.ts';
import type { LoadMerchant } from '../merchant.ts';
import {
  asTwoOperators,
  byCommand,
  byTwo,
  isRefusal,
  openProposal,
  operator,
  TOTP_SECRET,
} from '../operators.ts';
import type { LoadDeps } from '../order.ts';
import type { EndedRights } from './ended-rights.ts';

/** The password of the operators who act alone. */
export const PASSWORD = 'seven green bicycles';

/** What the acts of people share. */
export interface Scene {
  /** Of production. */
  readonly deps: LoadDeps;
  readonly apiBaseUrl: string;
  readonly ended: EndedRights;
  /** Of {@link PASSWORD}. */
  readonly passwordHash: string;
  /** Its merchant in production, with the present key. */
  merchant: LoadMerchant;
  /** The number of orders so far. */
  orders: number;
}

const DAY_SECONDS = 86_400;

/** A linked account at a simulator that receives transfers. @returns its id */
async function newAccount(simulator: SimulatorAccess): Promise<string> {
  const { id } = await untilDone(() =>
    askSimulator<{ id: string }>(simulator, 'POST', '/v2/accounts', {
      type: 'route',
      email: `${ulid().toLowerCase()}@example.com`,
      phone: '9876543210',
      legal_business_name: 'Asha Textiles',
      business_type: 'individual',
      contact_name: 'Asha Rao',
      profile: { category: 'ecommerce', subcategory: 'fashion_and_lifestyle' },
    }),
  );
  await controlSimulator(simulator, 'PATCH', `/accounts/${id}`, { ageSeconds: DAY_SECONDS });
  return id;
}

async function changeOf({ merchant, deps }: Scene): Promise<Proposed> {
  return {
    kind: 'merchant.linkedAccount',
    subject: merchant.merchantId,
    parameters: { linkedAccountId: await newAccount(deps.simulator) },
    reason: 'The merchant has another bank account',
  };
}

/** Gives the merchant another linked account, as two operators do. */
export async function changeAccount(scene: Scene): Promise<void> {
  await byTwo(scene.deps.environment, await changeOf(scene));
}

/** The same, as one operator does alone in an emergency, who is disabled afterwards. */
export async function changeAccountAlone(scene: Scene): Promise<void> {
  const { merchant, deps } = scene;
  const account = ['--linked-account', await newAccount(deps.simulator)];
  await untilDone(async () => {
    // Another one at each try: a code of the second factor is accepted once.
    const name = ulid();
    const { user } = await asTwoOperators(scene.deps.environment, ({ service }) =>
      operator(service, name, scene.passwordHash),
    );
    const alone = ['--as', user.email, '--break-glass', '--reason', `Nobody else is there ${name}`];
    const typed = [PASSWORD, totpOf(TOTP_SECRET, user.email).generate()];
    const command = [
      'merchant',
      'approve',
      '--merchant',
      merchant.merchantId,
      ...account,
      ...alone,
    ];
    await byCommand(scene.deps.environment, command, typed);
    await untilDone(() => endEmergency(scene, user));
  });
}

/** Another operator disables the one who has acted alone, and clears the alert. */
const endEmergency = (scene: Scene, user: Proposer['user']) =>
  asTwoOperators(scene.deps.environment, async ({ deps: of, first }) => {
    const { merchantId } = scene.merchant;
    await clearAlert(
      of.sql,
      'break_glass_used',
      merchantId,
      'The act is understood',
      first.actor.name,
    );
    const active = await of.sql`
      SELECT FROM users WHERE user_id = ${user.userId} AND disabled_at IS NULL`;
    const disabled = { ...user, reason: 'The emergency is over' };
    if (active.length > 0) await disableOrPropose(of, first, disabled);
  });

/** One proposal is rejected, and another one withdrawn; the operator who made them cannot approve them. */
export async function endProposals(scene: Scene): Promise<void> {
  for (const end of ['reject', 'withdraw'] as const) {
    const proposed = await changeOf(scene);
    await untilDone(() =>
      asTwoOperators(scene.deps.environment, async ({ deps, first, second }) => {
        const proposalId = await openProposal(deps, first, proposed);
        await mustBeRefused(scene, `the approval of ${proposalId} by its proposer`, () =>
          approveProposal(deps, first, proposalId),
        );
        if ((await requireProposal(deps.sql, proposalId)).status !== 'open') return;
        if (end === 'reject') await rejectProposal(deps, second, proposalId);
        else await withdrawProposal(deps, first, proposalId);
      }),
    );
  }
}

async function mustBeRefused(
  { deps: { memory }, merchant }: Scene,
  what: string,
  act: () => Promise<unknown>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (isRefusal(error)) return;
    throw error;
  }
  memory.surprises.push({ subject: merchant.merchantId, fault: `${what} is not refused` });
}
