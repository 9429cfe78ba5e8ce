import type { z } from 'zod';

/** The parts of a schema's definition that hold names. */
interface Definition {
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  options?: z.ZodType[];
}

/** All names that a value of this schema may have, nested ones as `payee.lookupID`. */
export function namesIn(schema: z.ZodType | undefined): string[] {
  if (!schema) return [];
  const { shape, element, innerType, in: given, out, options = [] } = schema.def as Definition;
  const own = Object.entries(shape ?? {}).flatMap(([name, inner]) => {
    const nested = namesIn(inner);
    return nested.length > 0 ? nested.map((one) => `${name}.${one}`) : [name];
  });
  return [...own, ...[element, innerType, given, out, ...options].flatMap((inner) => namesIn(inner))];
}
