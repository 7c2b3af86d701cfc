import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import { setSwitches } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { PART_ENVIRONMENT } from '../support/part-environment.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { codeOf, operatorUser, PASSWORD, TOTP_SECRET } from '../support/users.ts';
import { listAudit } from '../../src/merchants/audit-log.ts';

const REASON = 'The parcel holds a brick instead of a kurta';
const ADMIN = join(import.meta.dirname, '../../src/main/admin.ts');

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

const quoted = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/**
 * Runs a command on a terminal, made by `script`, and types an answer when it asks for confirmation.
 *
 * @returns the terminal's output and the command's exit code
 */
async function onTerminal(service: TestService, answer: string, ...args: string[]) {
  const command = [process.execPath, ADMIN, ...args].map(quoted).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...PART_ENVIRONMENT, PATH: process.env['PATH'], SHELL: '/bin/sh', ...service.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  const waits = [
    ['Continue? [y/N]', answer],
    ['Password:', `${PASSWORD}\n`],
    ['Two-factor code:', `${codeOf(TOTP_SECRET)}\n`],
  ] as const;
  const answered = new Set<string>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    for (const [question, typed] of waits) {
      if (answered.has(question) || !shown.includes(question)) continue;
      answered.add(question);
      child.stdin.write(typed);
    }
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, shown: shown.replaceAll('\r', ''), isAnswered: answered.size > 0 };
}

const audits = async ({ sql }: TestService, { order_number: subject }: Order, action: string) =>
  (await listAudit(sql, { subject, action }, 10)).entries;

async function orderUnderReview(merchant: Merchant): Promise<Order> {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  await merchant.sandbox.help(order, 'dispute', { reason: REASON });
  const evidence = `/orders/${order.order_number}/dispute/evidence`;
  return (await merchant.sandbox.post(evidence, { text: 'It was sent by courier' })).body.data;
}

const decide = ({ order_number }: Order, winner: string, ...more: string[]) => {
  const command = ['dispute', 'decide', '--order', order_number, '--for', winner];
  return [...command, '--reason', 'No proof of delivery', ...more];
};

describe('dispute decide asks for confirmation on a terminal', () => {
  test('showing both sides, the amount and the effect; a no does nothing', async ({
    service,
    merchant,
  }) => {
    const order = await orderUnderReview(merchant);
    for (const no of ['\n', 'n\n', 'yes please\n', '\u0004', '\u0003']) {
      const { code, shown } = await onTerminal(service, no, ...decide(order, 'buyer'));
      expect(code).toBe(1);
      expect(shown).toMatch(/Nothing was done\n$/);
    }
    const { shown } = await onTerminal(service, 'n\n', ...decide(order, 'buyer'));
    expect(shown).toContain(REASON);
    expect(shown).toContain('It was sent by courier');
    expect(shown).toContain(
      'Decided for the buyer: INR 499.50 goes back to the buyer, and the order becomes REFUNDED.',
    );
    expect(shown).toContain('Both sides will read:\n  No proof of delivery\n');
    expect((await merchant.sandbox.read(order)).status).toBe('DISPUTE_UNDER_REVIEW');
    expect(await audits(service, order, 'dispute.decide')).toHaveLength(0);
  });

  test('and decides after a yes', async ({ service, merchant }) => {
    const order = await orderUnderReview(merchant);
    const { code, shown } = await onTerminal(service, 'y\n', ...decide(order, 'merchant'));
    expect(shown).toContain(
      'Decided for the merchant: the order is DELIVERED again, and INR 499.50',
    );
    expect(shown).toContain('after 24 h without another dispute.');
    expect(code).toBe(0);
    expect((await merchant.sandbox.read(order)).status).toBe('DELIVERED');
  });

  test('but not with --yes, and not if there is nothing to decide', async ({
    service,
    merchant,
  }) => {
    const order = await orderUnderReview(merchant);
    const { code, isAnswered } = await onTerminal(
      service,
      '',
      ...decide(order, 'merchant', '--yes'),
    );
    expect({ code, isAnswered }).toEqual({ code: 0, isAnswered: false });
    expect((await merchant.sandbox.read(order)).status).toBe('DELIVERED');
    const again = await onTerminal(service, '', ...decide(order, 'buyer'));
    expect(again).toMatchObject({ code: 1, isAnswered: false });
    expect(again.shown).toContain('Cannot decide; order must be in DISPUTE status');
  });
});

describe('order settle asks for confirmation on a terminal', () => {
  const settle = ({ order_number }: Order) => {
    const command = ['order', 'settle', '--order', order_number];
    return [...command, '--reference', 'UTR 417', '--reason', 'The account was closed'];
  };
  /** As an admin of its own: each code is accepted once. */
  const alone = async ({ sql }: TestService, order: Order) => {
    const { email } = await operatorUser(sql, 'admin');
    return [...settle(order), '--as', email, '--break-glass'];
  };

  test('showing the amount and the effect; then both sides see the reason', async ({
    service,
    merchant,
  }) => {
    const order = await orderUnderReview(merchant);
    const [row] = await service.sql<{ id: string }[]>`
      SELECT gateway_payment_id AS id FROM orders WHERE order_number = ${order.order_number}`;
    await setSwitches(service, row?.id ?? '', { refundsRefused: true });
    const two = await onTerminal(service, '', ...settle(order));
    expect(two).toMatchObject({ code: 1, isAnswered: false });
    expect(two.shown).toContain('order settle needs two operators');
    const early = await onTerminal(service, '', ...(await alone(service, order)));
    expect(early).toMatchObject({ code: 1, isAnswered: false });
    expect(early.shown).toContain('Cannot settle; order must be releasing or refunding its money');
    await merchant.sandbox.post(`/orders/${order.order_number}/dispute/accept`);
    await until(async () => (await merchant.sandbox.read(order)).refund !== null);

    const no = await onTerminal(service, 'n\n', ...(await alone(service, order)));
    expect(no.code).toBe(1);
    expect(no.shown).toContain(
      'INR 499.50 counts as sent back to the buyer by you: the order becomes REFUNDED',
    );
    expect(await audits(service, order, 'order.settle')).toHaveLength(0);

    // The refund that is tried has the payment's lease for a while.
    const settled = await until(async () => {
      const answer = await onTerminal(service, 'y\n', ...(await alone(service, order)));
      expect(answer.shown).not.toContain(PASSWORD);
      return answer.shown.includes('Another process is moving the money') ? undefined : answer;
    });
    expect(settled?.code).toBe(0);
    expect((await merchant.sandbox.read(order)).status).toBe('REFUNDED');
    const timeline = await merchant.sandbox.get<{ entries: unknown[] }>(
      `/orders/${order.order_number}/timeline`,
    );
    expect(timeline.body.data.entries.at(-1)).toMatchObject({
      kind: 'REFUND_PROCESSED',
      details: { reference: 'UTR 417', reason: 'The account was closed' },
    });
    const page = await (await fetch(order.payment_url)).text();
    expect(page).toContain('You were paid back by bank transfer, because');
    expect(page).toContain('The account was closed');
    expect(page).toContain('UTR 417');
  });
});
