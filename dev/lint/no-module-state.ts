import type { RuleTester } from 'oxlint/plugins-dev';

type Rule = Extract<Parameters<RuleTester['run']>[1], { create: unknown }>;
type Context = Parameters<Rule['create']>[0];
type Scope = Context['sourceCode']['scopeManager']['scopes'][number];
type Identifier = Scope['references'][number]['identifier'];
type Node = NonNullable<Identifier['parent']>;

/** Methods that change an array, a Map or a Set. */
const CHANGES = new Set(
  'add clear copyWithin delete fill pop push reverse set shift sort splice unshift'.split(' '),
);

/** Whether a variable is changed where it is named: `x.a = 1`, `x.a++`, `delete x.a`, `x.a.push(1)`. */
function isChanged(identifier: Identifier): boolean {
  let node = identifier as Node;
  let { parent } = node;
  let method: string | undefined;
  while (parent?.type === 'MemberExpression' && parent.object === node) {
    method = parent.property.type === 'Identifier' ? parent.property.name : undefined;
    node = parent;
    ({ parent } = node);
  }
  if (parent === null || node === identifier) return false;
  if (parent.type === 'AssignmentExpression') return parent.left === node;
  if (parent.type === 'UnaryExpression') return parent.operator === 'delete';
  if (parent.type === 'CallExpression')
    return parent.callee === node && method !== undefined && CHANGES.has(method);
  return parent.type === 'UpdateExpression';
}

/**
 * The modules of a workflow are evaluated once for all orders of a worker, so what a module keeps would
 * pass from one order to another and differ when an order is replayed: docs/adr/0016.
 */
export const noModuleState: Rule = {
  create: ({ report, sourceCode }) => ({
    'Program:exit'() {
      const scope = sourceCode.scopeManager.scopes.find(({ type }) => type === 'module');
      for (const { name, defs, references } of scope?.variables ?? []) {
        const message = `${name} is state of a module, which all orders of a worker share`;
        for (const { node, parent } of defs)
          if (parent?.type === 'VariableDeclaration' && parent.kind !== 'const')
            report({ node, message });
        for (const { identifier } of references)
          if (isChanged(identifier)) report({ node: identifier, message });
      }
    },
  }),
};

export default { meta: { name: 'local' }, rules: { 'no-module-state': noModuleState } };
