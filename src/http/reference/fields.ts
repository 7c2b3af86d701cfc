import type { ComponentChildren } from 'preact';
import { Fragment, h } from 'preact';
import type { Parameter, Schema } from './document.ts';
import { componentOf } from './document.ts';
import { renderMarkdown } from './markdown.ts';

/** One line of a table of fields. */
interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description?: string | undefined;
}

/** Markdown of one paragraph or more, as elements. */
export function prose(text: string) {
  return h('div', { class: 'prose', dangerouslySetInnerHTML: { __html: renderMarkdown(text) } });
}

/** The schema beside null, where a value may be null. */
function withoutNull({ anyOf, ...rest }: Schema): { schema: Schema; isNullable: boolean } {
  const others = anyOf?.filter(({ type }) => type !== 'null') ?? [];
  const [only] = others;
  if (!anyOf || others.length === anyOf.length || !only) {
    return { schema: anyOf ? { anyOf, ...rest } : rest, isNullable: false };
  }
  return { schema: { ...only, ...rest }, isNullable: true };
}

/** What a value is, in words; a component is a link to where it is described. */
export function typeOf(whole: Schema): ComponentChildren {
  const { schema, isNullable } = withoutNull(whole);
  const orNull = isNullable ? ' or null' : '';
  const component = componentOf(schema);
  if (component !== undefined) {
    return h(Fragment, null, h('a', { href: `#object-${component}` }, component), orNull);
  }
  if (schema.items) return h(Fragment, null, 'list of ', typeOf(schema.items), orNull);
  if (schema.const !== undefined) return h('code', null, JSON.stringify(schema.const));
  const types = typeof schema.type === 'string' ? schema.type : schema.type?.join(' or ');
  return `${schema.format ?? types ?? 'any'}${orNull}`;
}

function rangeOf(low: number | undefined, high: number | undefined, unit: string): string[] {
  if (low !== undefined && high !== undefined) return [`${low} to ${high}${unit}`];
  if (low !== undefined) return [`at least ${low}${unit}`];
  return high === undefined ? [] : [`at most ${high}${unit}`];
}

/** The rules that a value keeps, in words. */
function rulesOf(whole: Schema): string {
  const { schema } = withoutNull(whole);
  const rules = [
    ...(schema.enum ? [schema.enum.map(String).join(', ')] : []),
    ...rangeOf(schema.minimum, schema.maximum, ''),
    ...rangeOf(schema.minLength, schema.maxLength, ' characters'),
    ...(schema.default === undefined ? [] : [`${String(schema.default)} if absent`]),
  ];
  return rules.join('; ');
}

/** Fields of an object and of the objects in it, these with the path to them: `buyer.email`. */
function fieldsIn({ properties = {}, required = [] }: Schema, path = ''): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const field = { name: path + name, schema, isRequired: required.includes(name) };
    const inner = withoutNull(schema).schema;
    const listed = inner.items ? withoutNull(inner.items).schema : undefined;
    return [
      { ...field, description: schema.description },
      ...fieldsIn(inner, `${path}${name}.`),
      ...(listed ? fieldsIn(listed, `${path}${name}[].`) : []),
    ];
  });
}

function fieldRow({ name, schema, isRequired, description }: Field, sent: boolean) {
  const rules = rulesOf(schema);
  return h(
    'tr',
    null,
    h(
      'th',
      { scope: 'row' },
      h('code', null, name),
      sent && isRequired && ' ',
      sent && isRequired && h('em', null, 'required'),
    ),
    h(
      'td',
      null,
      h('span', { class: 'type' }, typeOf(schema)),
      rules !== '' && h('span', { class: 'rules' }, rules),
      description !== undefined && prose(description),
    ),
  );
}

/**
 * A table of fields.
 *
 * @param sent whether it is sent to us: then it matters which ones are required
 */
function table(caption: string, fields: readonly Field[], sent: boolean) {
  if (fields.length === 0) return null;
  return h(
    'table',
    { class: 'fields' },
    h('caption', null, caption),
    h(
      'tbody',
      null,
      fields.map((field) => fieldRow(field, sent)),
    ),
  );
}

/** The fields of an object. */
export function objectTable(caption: string, schema: Schema, sent: boolean) {
  return table(caption, fieldsIn(schema), sent);
}

/** The parameters of an operation, or the headers of a webhook. */
export function parameterTable(caption: string, parameters: readonly Parameter[], sent = true) {
  const fields = parameters.map(({ name, schema, required = false, description }) => ({
    name,
    schema,
    isRequired: required,
    description: description ?? schema.description,
  }));
  return table(caption, fields, sent);
}
