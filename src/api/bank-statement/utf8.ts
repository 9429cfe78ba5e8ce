import { invalidRequest } from '../http/validation';

/**
 * What is not UTF-8 is refused. Read on regardless, each broken letter would become the same
 * character, and two ids that differ in one letter would be one.
 */
export class Utf8Reader {
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });

  /** @throws Failure invalid_request */
  read(chunk: Buffer): string {
    return decoded(() => this.decoder.decode(chunk, { stream: true }));
  }

  /** @throws Failure invalid_request where a letter is left half */
  end(): string {
    return decoded(() => this.decoder.decode());
  }
}

const NOT_UTF_8 = 'ERR_ENCODING_INVALID_ENCODED_DATA';

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== NOT_UTF_8) throw cause;
    throw invalidRequest([{ path: 'body', message: 'must be in UTF-8' }]);
  }
}
