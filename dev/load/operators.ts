import { newTotpSecret } from '../../src/accounts/two-factor/second-factor.ts';
import { DomainError } from '../../src/domain/index.ts';
import { runAdmin } from '../../src/main/admin/run.ts';
import type { AdminService } from '../../src/main/admin/service.ts';
import { createAdminService } from '../../src/main/admin/service.ts';
import { createOrderPresenter } from '../../src/orders/presenter.ts';
import type { ProposalDeps, Proposer } from '../../src/proposals/context.ts';
import type { Proposed } from '../../src/proposals/proposals.ts';
import { approveProposal, propose, withdrawProposal } from '../../src/proposals/proposals.ts';
import { listOpenProposals } from '../../src/proposals/queries.ts';
import { writeUser } from '../start/demo-users.ts';
import { untilDone } from './simulator.ts';

/** The settings of a service, by which its operators act. */
type Settings = Readonly<Record<string, string>>;

/** Runs a command of the operators' command line once. @returns what it printed @throws Error if it fails */
export async function byCommand(
  environment: Settings,
  command: readonly string[],
): Promise<string> {
  const { exitCode, stdout, stderr } = await runAdmin(command, () => environment);
  if (exitCode !== 0) throw new Error(`${command.join(' ')}: ${stderr}\n${stdout}`);
  return stdout;
}

/**
 * Proposes an act and approves it as another operator, as on the dashboard, until it is carried out. What an earlier
 * try has done without an answer cannot be proposed again.
 */
export function byTwo(environment: Settings, proposed: Proposed): Promise<void> {
  return untilDone(async () => {
    const service = createAdminService(environment, {});
    try {
      const deps = await proposalDepsOf(service);
      const [first, second] = [await operator(service, 'first'), await operator(service, 'second')];
      const proposalId = await unlessRefused(openProposal(deps, first, proposed));
      if (proposalId === undefined) return;
      const carriedOut = await unlessRefused(approveProposal(deps, second, proposalId));
      // What was proposed has changed since, such as an account that has become active.
      if (!carriedOut) await withdrawProposal(deps, first, proposalId);
      if (!carriedOut || carriedOut.outcome === 'waiting') {
        throw new Error(`${proposed.kind} is not carried out`);
      }
    } finally {
      await service.close().catch(() => undefined);
    }
  });
}

/** @returns undefined if an act is refused, and is not only without an answer */
function unlessRefused<Result>(act: Promise<Result>): Promise<Result | undefined> {
  return act.catch((error: unknown) => {
    if (error instanceof DomainError && error.code !== 'GATEWAY_UNAVAILABLE') return undefined;
    throw error;
  });
}

/** Activates a merchant again, as two operators do. */
export function activateMerchant(environment: Settings, subject: string): Promise<void> {
  const reason = 'The complaint is resolved';
  return byTwo(environment, { kind: 'merchant.activate', subject, parameters: {}, reason });
}

/** Proposes an act, unless an earlier try has done so without learning that. @returns the id of the proposal */
async function openProposal(
  deps: ProposalDeps,
  proposer: Proposer,
  proposed: Proposed,
): Promise<string> {
  const open = await listOpenProposals(deps.sql, [proposed.kind], 1000);
  const found = open.find(({ subject }) => subject === proposed.subject);
  return found?.proposalId ?? propose(deps, proposer, proposed);
}

async function proposalDepsOf(service: AdminService): Promise<ProposalDeps> {
  const { sql, log, config } = service;
  const { publicBaseUrl, durations } = config;
  const workflows = await service.workflows();
  const present = createOrderPresenter(publicBaseUrl);
  return {
    sql,
    log,
    mailBox: service.dataBox(),
    // The sweep starts what is written: a start that is not awaited would outlive the connection.
    mails: { start: async () => undefined },
    publicBaseUrl,
    linkedAccountChangeMs: durations.linkedAccountChangeMs,
    workflows,
    durations,
    present,
    gateways: await service.gateways(),
  };
}

/** An admin with a second factor; the same one each time. */
async function operator(service: AdminService, name: string): Promise<Proposer> {
  const userId = `usr_${name}_of_the_run`;
  const email = `${name}@operators.example`;
  const { sql } = service;
  const secrets = { passwordHash: null, totpSecret: newTotpSecret() };
  const user = { userId, email, role: 'admin', ...secrets } as const;
  await writeUser({ sql, dataBox: service.dataBox() }, user, sql`DO NOTHING`);
  return {
    user: { userId, email },
    role: 'admin',
    actor: { name: `operator:${email}`, address: null },
  };
}
