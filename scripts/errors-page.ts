import path from 'node:path';
import { FAILURES, FAILURE_CODES } from '../src/domain/failures';

const INTRODUCTION = `# Error codes

Each refusal has a \`code\` for programs, beside the \`message\` for people: the envelope of a call, and
each refused item of an intent, a bill or a list of merchants. Act on the code, never on the message;
messages change.

\`\`\`json
{
  "statusCode": 409,
  "success": false,
  "code": "late_answer",
  "message": "The charge is declined already. If you debited the customer for it, reverse the debit.",
  "data": { "billingRequestId": "brq_01kafz3q9sew7r5v4t2h8m6xc8", "status": "declined" }
}
\`\`\`

- The list is closed. A new code comes with a new version of the API’s document; treat one that you do
  not know by its status.
- \`POST /v1/oauth/token\` alone has no \`code\`: its \`error\` is one of RFC 6749, section 5.2,
  or \`temporarily_unavailable\` (429, 503) or \`server_error\` (500).

Under an \`Idempotency-Key\` the codes marked “Kept” are the answer from then on: a repeat gets the same
one. After any other, the same key may be used again.

| Code | Status | Meaning |
| ---- | ------ | ------- |
`;

export const ERRORS_PAGE = path.join(__dirname, '../docs/errors.md');

export function errorsPage(): string {
  const lines = FAILURE_CODES.map((code) => {
    const { status, meaning, kept } = FAILURES[code];
    return `| \`${code}\` | ${status} | ${meaning}${kept ? ' Kept.' : ''} |`;
  });
  return `${INTRODUCTION}${lines.join('\n')}\n`;
}
