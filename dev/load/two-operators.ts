import { newTotpSecret, sealTotpSecret } from '../../src/accounts/two-factor/second-factor.ts';
import { DomainError } from '../../src/domain/index.ts';
import type { AdminService } from '../../src/main/admin/service.ts';
import { createAdminService } from '../../src/main/admin/service.ts';
import { createOrderCommands } from '../../src/orders/commands/commands.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import type { ProposalDeps, Proposer } from '../../src/proposals/context.ts';
import type { Proposed } from '../../src/proposals/proposals.ts';
import { approveProposal, propose } from '../../src/proposals/proposals.ts';
import { listOpenProposals, requireProposal } from '../../src/proposals/queries.ts';

/** What came of a try. `again`: it is not known yet, or nothing was done. */
type Attempt = 'done' | 'again' | 'refused';

/**
 * An act that one operator proposes and another one approves, as on the dashboard. Each call is one try.
 *
 * @param environment the settings of the service
 */
export function actOfTwo(
  environment: Readonly<Record<string, string>>,
  proposed: Proposed,
): () => Promise<Attempt> {
  let proposalId: string | undefined;

  async function tryOnce(service: AdminService): Promise<Attempt> {
    const deps = await proposalDepsOf(service);
    const [first, second] = [await operator(service, 'first'), await operator(service, 'second')];
    // An earlier try may have proposed it without learning that.
    const open = await listOpenProposals(deps.sql, [proposed.kind], 1000);
    proposalId ??= open.find(({ subject }) => subject === proposed.subject)?.proposalId;
    proposalId ??= await propose(deps, first, proposed);
    const { status } = await requireProposal(deps.sql, proposalId);
    if (status === 'open') await approveProposal(deps, second, proposalId);
    const { outcome } = await requireProposal(deps.sql, proposalId);
    if (outcome === null) return 'again';
    proposalId = undefined;
    return outcome === 'done' ? 'done' : 'refused';
  }

  return async () => {
    const service = createAdminService(environment, {});
    try {
      return await tryOnce(service);
    } catch (error) {
      const isRefusal = error instanceof DomainError && error.code !== 'GATEWAY_UNAVAILABLE';
      return isRefusal ? 'refused' : 'again';
    } finally {
      await service.close().catch(() => undefined);
    }
  };
}

async function proposalDepsOf(service: AdminService): Promise<ProposalDeps> {
  const { sql, log, config } = service;
  const { publicBaseUrl, durations } = config;
  const workflows = await service.workflows();
  const present = createOrderPresenter(publicBaseUrl);
  return {
    ...(await service.mails()),
    log,
    publicBaseUrl,
    linkedAccountChangeMs: durations.linkedAccountChangeMs,
    workflows,
    gateways: await service.gateways(),
    commands: createOrderCommands({ sql, workflows, durations, present, log }),
  };
}

/** An admin with a second factor, who cannot log in; the same one each time. */
async function operator(service: AdminService, name: 'first' | 'second'): Promise<Proposer> {
  const userId = `usr_${name}_of_the_run`;
  const email = `${name}@operators.example`;
  const sealed = sealTotpSecret({ dataBox: service.dataBox() }, userId, newTotpSecret());
  await service.sql`
    INSERT INTO users (user_id, email, operator_role, totp_secret_sealed, totp_confirmed_at)
    VALUES (${userId}, ${email}, 'admin', ${sealed}, service_now())
    ON CONFLICT DO NOTHING`;
  const actor = { name: `operator:${email}`, address: null };
  return { user: { userId, email }, role: 'admin', actor };
}
