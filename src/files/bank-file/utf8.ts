import { invalidRequest } from '../../domain/failures';

const NOT_UTF_8 = 'ERR_ENCODING_INVALID_ENCODED_DATA';

/**
 * The file's text, decoded as it arrives. Bytes that are not UTF-8 are refused: replacement
 * characters would make two different ids equal.
 *
 * @throws Failure invalid_request
 */
export async function* textsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== NOT_UTF_8) throw cause;
    throw invalidRequest([{ path: 'body', message: 'must be in UTF-8' }]);
  }
}
