import type { z } from 'zod';
import type { Answer } from './answer';
import type { Download } from './download';
import type { Operation } from './operation';

/* A handler's answer has what the document says, no less and no more. Only the compiler checks it. */

export type DocumentedAnswer<Answers extends Operation['answers']> = Extract<
  {
    [Status in keyof Answers]: Naming<Status, keyof Answers, Parts<Answers[Status]>>;
  }[keyof Answers],
  Answer | Download
>;

/** An operation with several statuses names the status in its answer. */
type Naming<Status, All, One> = [All] extends [Status] ? One : One & { status: Status };

type Parts<One> =
  | (One extends { csv: 'only' }
      ? never
      : One extends { items: infer Schema extends z.ZodType }
        ? { items: z.output<Schema>[] }
        : One extends { data: infer Schema extends z.ZodType }
          ? { message: string; data: z.output<Schema>; dataWithoutSecrets?: z.output<Schema> }
          : { message: string })
  | (One extends { csv: string } ? Download : never);

/**
 * The paths of the fields that `Given` has and `Wanted` has not; never where there are none. By
 * itself the compiler refuses such a field in a literal, but not in a row of the database.
 */
export type Excess<Given, Wanted, Path extends string = ''> = Given extends unknown
  ? OfOne<Given, Wanted, Path>
  : never;

/** An answer keeps to one of several documented forms. */
type OfOne<Given, Wanted, Path extends string, Found = Each<Given, Wanted, Path>> = true extends Found
  ? never
  : Found;

type Each<Given, Wanted, Path extends string> = Wanted extends unknown
  ? Given extends Wanted
    ? [Beyond<Given, Wanted, Path>] extends [never]
      ? true
      : Beyond<Given, Wanted, Path>
    : never
  : never;

type Beyond<Given, Wanted, Path extends string> = Given extends readonly (infer One)[]
  ? Wanted extends readonly (infer Other)[]
    ? Excess<One, Other, `${Path}[]`>
    : never
  : Given extends Date
    ? never
    : Given extends object
      ? {
          [Field in keyof Given]-?: Field extends keyof Wanted
            ? Excess<Given[Field], Wanted[Field], `${Path}.${Field & string}`>
            : Given[Field] extends undefined
              ? never
              : `${Path}.${Field & string}`;
        }[keyof Given]
      : never;
