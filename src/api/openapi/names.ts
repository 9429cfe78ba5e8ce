import { COMPONENTS, type JsonSchema, type OpenApiPaths } from './schema';

/**
 * Generators make a class of each object. So an object, or a choice of objects, is a component. Its
 * name is its title: its operation with `Body`, `Result` or `Refusal409`, and the way to it, as in
 * `BillCustomersResultItemAccepted`.
 */

/** `billing.request` → `BillingRequest`. */
export const pascalCase = (name: string) =>
  name.replaceAll(/(?:^|[._ ])(\w)/g, (_, first: string) => first.toUpperCase());

/** @throws Error where two schemas have one name */
export function nameSchemas(
  paths: OpenApiPaths,
  webhooks: OpenApiPaths,
  components: Record<string, JsonSchema>,
): void {
  // Go's generator leaves out a component that webhooks alone have, and then misses it.
  const inPlace = bodiesOf(webhooks).map(([name, { schema }]) => [name, schema] as const);
  for (const [name, schema] of [...Object.entries(components), ...inPlace])
    nameParts(Object.assign(schema, { title: name }), name);
  for (const [name, media] of bodiesOf(paths)) media.schema = named(media.schema, name);

  function nameParts(schema: JsonSchema, name: string): void {
    const { properties = {}, items, anyOf } = schema;
    for (const [key, one] of Object.entries(properties)) properties[key] = named(one, name + pascalCase(key));
    if (items) schema.items = named(items, `${name}Item`);
    // Beside `null`, a list of words has a class, too.
    if (anyOf)
      schema.anyOf = anyOf.map((one) => named(one, name + pascalCase(one.title ?? ''), 'enum' in one));
  }

  function named(schema: JsonSchema, name: string, hasClass = false): JsonSchema {
    nameParts(schema, name);
    if (!hasClass && !('properties' in schema) && !isChoice(schema)) return schema;
    schema.title = name;
    if (JSON.stringify((components[name] ??= schema)) !== JSON.stringify(schema))
      throw new Error(`two schemas are named ${name}`);
    return { $ref: COMPONENTS + name };
  }
}

function isChoice({ anyOf = [] }: JsonSchema): boolean {
  const choices = anyOf.filter(({ type }) => type !== 'null');
  return choices.length > 1 && choices.some((one) => '$ref' in one);
}

function bodiesOf(paths: OpenApiPaths) {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return operations.flatMap(({ operationId, requestBody, responses }) => {
    const answers = Object.entries(responses).map(
      ([status, { content }], n) =>
        [Number(status) >= 400 ? `Refusal${status}` : `Result${n > 0 ? status : ''}`, content] as const,
    );
    return [['Body', requestBody?.content] as const, ...answers].flatMap(([suffix, content = {}]) =>
      Object.values(content).map((media) => [pascalCase(operationId) + suffix, media] as const),
    );
  });
}
