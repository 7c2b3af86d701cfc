import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export const contentOf = (path: string) =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

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
  targets?: { expr: string }[];
}

const { groups } = parse(contentOf('deploy/monitoring/alert-rules.yml')) as {
  groups: { rules: Rule[] }[];
};
export const rules = groups.flatMap((group) => group.rules);
export const dashboard = JSON.parse(contentOf('deploy/monitoring/grafana-dashboard.json')) as {
  templating: { list: { name: string; type: string }[] };
  panels: Panel[];
};

/** What PromQL itself is made of, as far as the files use it. */
const PROMQL = new Set(
  'absent and by changes histogram_quantile increase le max min or rate sum vector'.split(' '),
);

/** The names of metrics in an expression: what is neither PromQL, a label, a text nor a duration. */
export function metricsOf(expr: string): string[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\bby \([^)]*\)/g, '');
  return [...bare.matchAll(/\b[a-zA-Z_]\w*/g)]
    .map(([name]) => name)
    .filter((name) => !PROMQL.has(name));
}

/** Every expression of the rules and of the dashboard, and where it is from. */
export const expressions = [
  ...rules.map(({ alert, expr }) => ({ from: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ from: title, expr })),
  ),
];
