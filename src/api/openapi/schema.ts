import { z } from 'zod';

/**
 * From zod schemas to the JSON Schema 2020-12 of OpenAPI 3.1. Beside zod's own `description` and
 * `id` (which makes a schema a component), these keys of `.meta` are read here:
 *
 * - `example`: one value, in the form of the wire; those of objects are put together from their
 *   fields'
 * - `examples: []`: the field is left out of the examples of its object
 * - `wire`: what goes over the wire where the schema reads it from something else, as JSON Schema
 *   or as another schema
 * - `title`: what tells an object from the others of a choice; `names.ts` makes its name of it
 */

export interface JsonSchema extends Record<string, unknown> {
  $ref?: string;
  title?: string;
  examples?: unknown[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
}

export interface OpenApiOperation {
  operationId: string;
  tags: string[];
  /** By scheme the scopes that it needs. */
  security: Record<string, string[]>[];
  requestBody?: { required: boolean } & Pick<OpenApiResponse, 'content'>;
  responses: Record<string, OpenApiResponse>;
  [key: string]: unknown;
}

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, JsonSchema>;
  content?: Record<string, { schema: JsonSchema; example?: unknown }>;
}

/** By path and method. */
export type OpenApiPaths = Record<string, Record<string, OpenApiOperation>>;

/** `input` for what is sent to us, before defaults and transforms; `output` for what we send. */
type Direction = 'input' | 'output';

export const COMPONENTS = '#/components/schemas/';

/** Turns schemas into JSON Schema, and gathers those that have an id. */
export class Schemas {
  readonly components: Record<string, JsonSchema> = {};

  convert(schema: z.ZodType, io: Direction): JsonSchema {
    const {
      $schema: _,
      $defs,
      ...json
    } = z.toJSONSchema(schema, {
      io,
      // A date says by `wire` what it is in JSON.
      unrepresentable: 'any',
      override: ({ jsonSchema }) => this.annotate(jsonSchema as JsonSchema, io),
    }) as JsonSchema & { $defs?: Record<string, JsonSchema> };
    for (const [id, { id: _id, ...definition }] of Object.entries($defs ?? {})) {
      this.components[id] = pointToComponents(definition);
    }
    return pointToComponents(json);
  }

  /** The schema with an example, as OpenAPI's media types have both. */
  media(schema: z.ZodType, io: Direction): { schema: JsonSchema; example: unknown } {
    const json = this.convert(schema, io);
    return { schema: json, example: this.exampleOf(json) };
  }

  /** @throws Error where a value has no example, and none follows from its schema */
  exampleOf(schema: JsonSchema, path = ''): unknown {
    const { $ref, examples, properties, items, anyOf } = schema;
    if (examples) return examples[0];
    if ('const' in schema) return schema['const'];
    if ('default' in schema) return schema['default'];
    if (Array.isArray(schema['enum'])) return schema['enum'][0] as unknown;
    if ($ref) return this.exampleOf(this.components[$ref.slice(COMPONENTS.length)] ?? {}, $ref);
    if (properties) {
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([, { examples: given }]) => !Array.isArray(given) || given.length > 0)
          .map(([key, value]) => [key, this.exampleOf(value, `${path}.${key}`)]),
      );
    }
    if (items) return [this.exampleOf(items, `${path}[]`)];
    if (anyOf?.[0]) return this.exampleOf(anyOf[0], path);
    if (schema['type'] === 'boolean') return false;
    throw new Error(`${path} needs an example`);
  }

  private annotate(json: JsonSchema, io: Direction): void {
    const { wire, example } = json;
    if (wire !== undefined) {
      const { description, id } = json;
      for (const key of Object.keys(json)) delete json[key];
      Object.assign(json, wire instanceof z.ZodType ? this.convert(wire, io) : wire);
      if (description !== undefined) json['description'] = description;
      if (id !== undefined) json['id'] = id;
    }
    // Go's float32 has too few digits for money. The mark also keeps a number apart in a choice:
    // zod makes one list of plain types, which generators cannot read.
    if (json['type'] === 'number') json['x-go-type'] = 'float64';
    if (example !== undefined) {
      delete json['example'];
      json['examples'] = [example];
    }
  }
}

function pointToComponents(json: JsonSchema): JsonSchema {
  return JSON.parse(
    JSON.stringify(json).replaceAll('"$ref":"#/$defs/', `"$ref":"${COMPONENTS}`),
  ) as JsonSchema;
}
