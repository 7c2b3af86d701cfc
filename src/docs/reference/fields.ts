import { Marked } from 'marked';
import type { ComponentChildren } from 'preact';
import { Fragment, h } from 'preact';
import type { Parameter, Schema } from '../openapi/document.ts';
import { componentOf } from '../openapi/document.ts';

/** One row of a table of fields. */
interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description?: string | undefined;
}

const marked = new Marked();

/** Renders Markdown as HTML. The text must be trusted: raw HTML in it is kept. */
export function prose(text: string) {
  const html = marked.parse(text, { async: false });
  return h('div', { class: 'prose', dangerouslySetInnerHTML: { __html: html } });
}

/** Splits a nullable schema into the schema without null and the fact that null is allowed. */
function withoutNull(whole: Schema): { schema: Schema; isNullable: boolean } {
  const { oneOf, type, ...rest } = whole;
  if (typeof type === 'object') {
    const only = type.find((one) => one !== 'null') ?? 'any';
    const values = rest.enum && { enum: rest.enum.filter((value) => value !== null) };
    return { schema: { ...rest, ...values, type: only }, isNullable: type.includes('null') };
  }
  const others = oneOf?.filter((one) => one.type !== 'null') ?? [];
  const [only] = others;
  if (!oneOf || others.length === oneOf.length || !only) {
    return { schema: whole, isNullable: false };
  }
  return { schema: { ...only, ...rest }, isNullable: true };
}

/** Describes the type of a value; a component becomes a link to its section. */
export function typeOf(whole: Schema): ComponentChildren {
  const { schema, isNullable } = withoutNull(whole);
  const orNull = isNullable ? ' or null' : '';
  const component = componentOf(schema);
  if (component !== undefined) {
    return h(Fragment, null, h('a', { href: `#object-${component}` }, component), orNull);
  }
  if (schema.items) return h(Fragment, null, 'list of ', typeOf(schema.items), orNull);
  if (schema.const !== undefined) return h('code', null, JSON.stringify(schema.const));
  // `double` says how large a number is, not what it is.
  const format = schema.format === 'double' ? undefined : schema.format;
  return `${format ?? schema.type?.toString() ?? 'any'}${orNull}`;
}

function rangeOf(low: number | undefined, high: number | undefined, unit: string): string[] {
  if (low !== undefined && high !== undefined) return [`${low} to ${high}${unit}`];
  if (low !== undefined) return [`at least ${low}${unit}`];
  return high === undefined ? [] : [`at most ${high}${unit}`];
}

/** Describes the constraints of a value. */
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

/** The fields of an object and of nested objects, these with their path: `buyer.email`. */
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

/** Who sends the fields of a table. Of those that a client sends, the required ones are marked. */
type Sender = 'client' | 'service';

function fieldRow({ name, schema, isRequired, description }: Field, sender: Sender) {
  const rules = rulesOf(schema);
  const isMarked = isRequired && sender === 'client';
  return h(
    'tr',
    null,
    h('th', { scope: 'row' }, h('code', null, name)),
    ' ',
    h(
      'td',
      null,
      h('span', { class: 'type' }, typeOf(schema)),
      isMarked && [' ', h('em', null, 'required')],
      rules !== '' && h('span', { class: 'rules' }, rules),
      description !== undefined && prose(description),
    ),
  );
}

function table(caption: string, fields: readonly Field[], sender: Sender) {
  if (fields.length === 0) return null;
  return h(
    'table',
    { class: 'fields' },
    h('caption', null, caption),
    h(
      'tbody',
      null,
      fields.map((field) => fieldRow(field, sender)),
    ),
  );
}

/** The table of an object's fields. */
export function objectTable(caption: string, schema: Schema, sender: Sender) {
  return table(caption, fieldsIn(schema), sender);
}

/** The table of an operation's parameters, or of a webhook's headers. */
export function parameterTable(caption: string, parameters: readonly Parameter[], sender: Sender) {
  const fields = parameters.map(({ name, schema, required = false, description }) => ({
    name,
    schema,
    isRequired: required,
    description: description ?? schema.description,
  }));
  return table(caption, fields, sender);
}
