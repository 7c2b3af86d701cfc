import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { parse } from 'yaml';
import { ALERT_KINDS } from '../../src/alerts/kinds.ts';
import { proveLedger } from '../../src/ledger/proofs.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { startApiProcess } from '../support/api-process.ts';
import { serviceTest } from '../support/service-test.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { samplesOf } from './scraping.ts';

const contentOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { uid: string };
  targets?: { expr: string; datasource: { uid: string } }[];
}

const { groups } = parse(contentOf('deploy/monitoring/alert-rules.yml')) as {
  groups: { rules: Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(contentOf('deploy/monitoring/grafana-dashboard.json')) as {
  templating: { list: { name: string; type: string }[] };
  panels: Panel[];
};
const runbook = contentOf('docs/runbook/alerts.md');

/** The sections of the runbook, by their anchors. */
const sections = new Map(
  runbook
    .split(/^### /m)
    .slice(1)
    .map((section) => [/^\w+/.exec(section)?.[0].toLowerCase() ?? '', section]),
);

/** What PromQL itself is made of, as far as the files use it. */
const PROMQL = new Set(
  'absent and by changes histogram_quantile increase le max min or rate sum vector'.split(' '),
);

/** The names of metrics in an expression: what is neither PromQL, a label, a text nor a duration. */
function metricsOf(expr: string): string[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\bby \([^)]*\)/g, '');
  return [...bare.matchAll(/\b[a-zA-Z_]\w*/g)]
    .map(([name]) => name)
    .filter((name) => !PROMQL.has(name));
}

const expressions = [
  ...rules.map(({ alert, expr }) => ({ from: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ from: title, expr })),
  ),
];

describe('the files of deploy/monitoring', () => {
  plainTest('every rule leads to a section of the runbook that says what to do', () => {
    expect(rules.length).toBeGreaterThan(20);
    for (const { alert, labels, annotations } of rules) {
      expect(['critical', 'warning'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).not.toBe('');
      const [page, anchor = ''] = annotations.runbook_url.split('#');
      expect(page, alert).toBe('docs/runbook/alerts.md');
      // The rules about the service's own alerts lead to the section of the kind.
      if (anchor === '{{ $labels.kind }}')
        expect(alert).toMatch(/^(OpenAlert|SurplusNotRefunded)$/);
      else expect(anchor, alert).toBe(alert.toLowerCase());
      const section = sections.get(alert.toLowerCase());
      expect(section, alert).toContain('**Meaning.**');
      expect(section?.replaceAll('\n', ' '), alert).toMatch(
        /\*\*Repair\.\*\* |Look and repair\*\* /,
      );
    }
  });

  plainTest(
    'every kind of alert has a section, and every section belongs to a rule or a kind',
    () => {
      const known = [...rules.map(({ alert }) => alert.toLowerCase()), ...Object.keys(ALERT_KINDS)];
      expect([...sections.keys()].toSorted()).toEqual(known.toSorted());
      for (const kind of Object.keys(ALERT_KINDS)) {
        expect(sections.get(kind), kind).toMatch(/\*\*Meaning\.\*\* [^]*\*\*Repair\.\*\* /);
      }
    },
  );

  plainTest('the links of the runbook lead to its own sections', () => {
    for (const [, anchor = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) {
      expect([...sections.keys()], anchor).toContain(anchor);
    }
  });

  plainTest(
    'every panel of the dashboard uses the data source that is chosen, and none overlaps',
    () => {
      expect(dashboard.templating.list.map(({ name, type }) => `${name} ${type}`)).toContain(
        'datasource datasource',
      );
      const panels = dashboard.panels.filter(({ type }) => type !== 'row');
      expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
      const taken = new Set<string>();
      for (const { title, datasource, targets = [], gridPos } of panels) {
        expect(datasource?.uid, title).toBe('${datasource}');
        expect(targets.length, title).toBeGreaterThan(0);
        for (const target of targets) expect(target.datasource.uid, title).toBe('${datasource}');
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
            expect(taken.has(`${x} ${y}`), title).toBe(false);
            taken.add(`${x} ${y}`);
          }
        }
      }
    },
  );
});

const test = serviceTest({ time: 'real', worker: false });

test('every metric of the dashboard and of the rules is served by an API or a worker', async ({
  service,
  merchant,
}) => {
  const ports = { api: await freePort(), worker: await freePort() };
  const api = await startApiProcess(service, { METRICS_PORT: String(ports.api) });
  onTestFinished(() => api.stop());
  const settings = { METRICS_PORT: String(ports.worker) };
  const worker = await startWorkerProcess(service, { settings });
  onTestFinished(() => worker.kill());

  // An order whose funds are released, which is an activity, a proof, and a failure: the SDK counts
  // failures from the first one on.
  const client = api.as(merchant.keys);
  const order = await client.create();
  await client.help(order, 'pay');
  await client.post(`/orders/${order.order_number}/deliver`);
  await client.help(order, 'advance', { seconds: 24 * 3600 });
  await proveLedger(service.deps);
  const { workflow } = service.temporal.client;
  const workflowId = 'of-no-type';
  const failing = await workflow.start('noSuchType', { taskQueue: 'orders', workflowId });
  onTestFinished(async () => void (await failing.terminate()));

  const served = async () => {
    const texts = await Promise.all(
      Object.values(ports).map(async (port) =>
        (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
      ),
    );
    return new Set(texts.flatMap(samplesOf).map(({ name }) => name));
  };
  const missing = async () => {
    const names = await served();
    return expressions.flatMap(({ from, expr }) =>
      metricsOf(expr)
        .filter((name) => !names.has(name))
        .map((name) => `${from}: ${name}`),
    );
  };
  await expect.poll(missing, { timeout: 60_000, interval: 500 }).toEqual([]);
});
