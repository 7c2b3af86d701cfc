type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const NULL = { type: 'null' };
const isNull = (schema: unknown) => isObject(schema) && schema['type'] === 'null';

/** A schema that may be null: `type: [string, null]`, or `oneOf` for what has a name or fields. */
function orNull(schema: Json): Json {
  const { type } = schema;
  if (typeof type !== 'string' || type === 'object') return { oneOf: [schema, NULL] };
  const { enum: values } = schema;
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  };
}

/** The same schema without `anyOf`. */
function withoutAnyOf({ anyOf, ...rest }: Json): Json {
  if (!Array.isArray(anyOf)) return rest;
  const schemas = anyOf.filter((schema) => !isNull(schema));
  const [first] = schemas;
  const isNullable = schemas.length < anyOf.length;
  if (isNullable && schemas.length === 1 && isObject(first)) return { ...orNull(first), ...rest };
  return { oneOf: anyOf as unknown[], ...rest };
}

/**
 * Writes a document in the forms that code generators understand. `anyOf` is wrong for none of ours, and
 * oapi-codegen and ogen make a union type or an error of `anyOf [X, null]`. Examples are left as they are.
 */
export function forGenerators(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(forGenerators);
  if (!isObject(node)) return node;
  const entries = Object.entries(node).map(([name, value]) => {
    const isExample = name === 'example' || name === 'examples';
    return [name, isExample ? value : forGenerators(value)];
  });
  return withoutAnyOf(Object.fromEntries(entries) as Json);
}
