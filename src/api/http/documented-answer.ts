import type { z } from 'zod';
import type { Answer } from './answer';
import type { Download } from './download';
import type { Operation } from '../openapi/operation';

/*
 * Handlers answer with what the document says, with no less and with no more. All of this is for
 * the compiler: nothing is looked at when an answer is sent.
 */

/** The successful answers that an operation documents. */
export type DocumentedAnswer<Answers extends Operation['answers']> = Extract<
  {
    [Status in keyof Answers]: Naming<Status, keyof Answers, Parts<Answers[Status]>>;
  }[keyof Answers],
  Answer | Download
>;

/** Where an operation has several statuses, its answer says which. */
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
 * The paths of the fields that `Given` has and `Wanted` has not; never where there are none. The
 * compiler by itself refuses such a field only in a literal that stands in the very place. Rows of
 * the database come from elsewhere.
 */
export type Excess<Given, Wanted, Path extends string = ''> = Given extends unknown
  ? OfOne<Given, Wanted, Path>
  : never;

/** Of several forms that are wanted, what is given must keep to one. */
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
