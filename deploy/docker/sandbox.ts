import { deepEqual, equal, ok } from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCanaries, type Canaries } from '../../dev/canaries/canary.ts';
import { demoMerchantSchema } from '../../dev/dev-facts.ts';
import {
  checkAdmin,
  checkFrozen,
  checkLogs,
  exportsOf,
  idleOf,
  megabytesOf,
  volumes,
  type Check,
} from './checks.ts';
import { openProject, type Project } from './engine.ts';
import { createOrder, payOrder, type CreatedOrder, type Merchant } from './traffic.ts';

const SERVICE = 'merchant-payment-order-service';
/** What the sandbox's packages add to the service's: an SMTP server and a parser of mails. */
const SANDBOX_MORE_MB = 30;
/** Waits for what has to become healthy; what can never succeed ends earlier. */
export const UP = ['up', '--wait', '--wait-timeout', '400'];

async function demoMerchant(project: Project): Promise<Merchant> {
  const read = ['exec', '-T', 'mailbox', 'cat', '/data/demo-merchant.json'];
  const { stdout } = await project.mustCompose(...read);
  const { sandbox } = demoMerchantSchema.parse(JSON.parse(stdout));
  return { ordersUrl: 'http://127.0.0.1:8080/sandbox/api/merchant/v1/orders', keys: sandbox };
}

/** The secrets of a container's folder, and those of the merchant, as canaries. */
export async function secretsOf(project: Project, service: string, { keys }: Merchant) {
  const canaries = createCanaries();
  const print = 'for f in /run/secrets/*; do cat $f; echo; done';
  const { stdout } = await project.mustCompose('exec', '-T', service, 'sh', '-c', print);
  for (const line of stdout.split('\n').filter((one) => /\w{20}/.test(one))) {
    canaries.add(`secret of ${service}`, line);
  }
  canaries.add('API secret', keys.apiSecret);
  return canaries;
}

/** An order whose buyer's data and link are canaries, too. */
export async function orderWithCanaries(
  merchant: Merchant,
  canaries: Canaries,
): Promise<CreatedOrder> {
  const order = await createOrder(merchant, {
    description: canaries.word('description'),
    buyerEmail: canaries.email('email'),
    buyerPhone: canaries.phone('phone'),
  });
  canaries.add('payment link', order.payment_url.split('/').at(-1) ?? '');
  return order;
}

async function checkImages(project: Project): Promise<string> {
  const { output } = await project.mustCompose('--progress', 'plain', 'build');
  deepEqual(exportsOf(output).toSorted(), [SERVICE, `${SERVICE}-sandbox`], 'exported once each');
  const [service, sandbox] = await Promise.all(
    [SERVICE, `${SERVICE}-sandbox`].map((name) => megabytesOf(`${name}:local`)),
  );
  ok(service && sandbox && sandbox < service + SANDBOX_MORE_MB, `${service} MB, ${sandbox} MB`);
  return `each exported once: the service has ${service} MB, the sandbox ${sandbox} MB`;
}

/** Each line of this part of the check is about the sandbox of docker-compose.yml. */
export async function checkSandbox(folder: string, check: Check): Promise<void> {
  const before = await volumes();
  const project = openProject(folder, { COMPOSE_PROJECT_NAME: 'merchant-orders-check' });
  // Allowed in the sandbox, refused in production: `migrate` reads it, too.
  writeFileSync(join(folder, 'deploy/settings.env'), 'WEBHOOK_ALLOWED_CIDRS=10.0.0.0/8\n');
  try {
    await check('images', () => checkImages(project));
    await check('sandbox starts', async () => {
      await project.mustCompose(...UP);
      return 'from a checkout with umask 077, setgid folders and another owner, with WEBHOOK_ALLOWED_CIDRS';
    });
    const merchant = await demoMerchant(project);
    const canaries = await secretsOf(project, 'api', merchant);
    const order = await orderWithCanaries(merchant, canaries);
    await check('order', async () => {
      await payOrder(merchant, order);
      return 'PAID';
    });
    await check('migrate ends', async () => {
      const { stdout } = await project.mustCompose('ps', '--all', '--quiet', 'migrate');
      return `${await idleOf(stdout.trim())} ms after its last line`;
    });
    await check('admin', () => checkAdmin(project, order.order_number));
    await check('health', () => checkFrozen(project));
    await check('logs', () =>
      // `docker compose logs seed` is where deployment.md shows the keys of the demo merchant.
      checkLogs(project, canaries, { control: order.order_number, leftOut: ['seed'] }),
    );
    await check('volumes', async () => {
      await project.mustCompose('down');
      const left = (await volumes()).filter((name) => !before.includes(name));
      const anonymous = left.filter((name) => !name.startsWith('merchant-orders-check_'));
      equal(anonymous.length, 0, `down leaves ${anonymous.join(', ')}`);
      await project.mustCompose('--profile', '*', 'down', '--volumes', '--remove-orphans');
      deepEqual(await volumes(), before);
      return 'down leaves the named ones alone, and down --volumes none';
    });
  } finally {
    await project.compose('--profile', '*', 'down', '--volumes', '--timeout', '5');
  }
}
