import { describe, expect, test } from 'vitest';
import { ALERT_KINDS } from '../../src/alerts/kinds.ts';
import { contentOf, dashboard, rules } from './monitoring-files.ts';

const runbook = contentOf('docs/runbook/alerts.md');

const sections = new Map(
  runbook
    .split(/^### /m)
    .slice(1)
    .map((section) => [/^\w+/.exec(section)?.[0].toLowerCase() ?? '', section]),
);

describe('the files of deploy/monitoring', () => {
  test('every rule leads to a section of the runbook that says what to do', () => {
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

  test('every kind of alert has a section, and every section belongs to a rule or a kind', () => {
    const known = [...rules.map(({ alert }) => alert.toLowerCase()), ...Object.keys(ALERT_KINDS)];
    expect([...sections.keys()].toSorted()).toEqual(known.toSorted());
    for (const kind of Object.keys(ALERT_KINDS)) {
      expect(sections.get(kind), kind).toMatch(/\*\*Meaning\.\*\* [^]*\*\*Repair\.\*\* /);
    }
  });

  test('the page of what fails names every rule and every kind of alert, and no other', () => {
    const page = contentOf('docs/failure-modes.md');
    const named = page.match(/\b[A-Z][a-z]+([A-Z][a-z]+)+\b/g) ?? [];
    const known = rules.map(({ alert }) => alert);
    expect([...new Set(named)].toSorted()).toEqual(known.toSorted());
    for (const kind of Object.keys(ALERT_KINDS)) expect(page, kind).toContain(`\`${kind}\``);
  });

  test('the links of the runbook lead to its own sections', () => {
    for (const [, anchor = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) {
      expect([...sections.keys()], anchor).toContain(anchor);
    }
  });

  test('every panel of the dashboard uses the data source that is chosen, and none overlaps', () => {
    expect(dashboard.templating.list.map(({ name, type }) => `${name} ${type}`)).toContain(
      'datasource datasource',
    );
    const panels = dashboard.panels.filter(({ type }) => type !== 'row');
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const taken = new Set<string>();
    for (const { title, datasource, targets = [], gridPos } of panels) {
      expect(datasource?.uid, title).toBe('${datasource}');
      expect(targets.length, title).toBeGreaterThan(0);
      // A query without one of its own has that of its panel.
      for (const target of targets) expect(target, title).not.toHaveProperty('datasource');
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x} ${y}`), title).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});
