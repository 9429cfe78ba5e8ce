/** Opens the reference, for a reader who has not heard of the network. */
export const INTRODUCTION = `
Assent lets merchants bill customers through the customers' banks, without cards. A customer is known to a merchant only by an
opaque identifier, and the customer's **bank** authorises each payment. A **merchant** bills customers; a **provider** acts for several
merchants.

1. Exchange your client id and secret for an access token (\`POST /v1/oauth/token\`), and send it with every request as
   \`Authorization: Bearer <access token>\`.
2. A bank onboards its customers (\`POST /v1/bank/customers\`). Each gets a \`lookupID\`, a phrase that can be typed by hand.
3. A merchant bills a \`lookupID\` once, which the customer must approve each time; or it asks for an agreement
   (\`POST /v1/billing/intent\`), and bills the \`paymentID\` that it receives, once (\`POST /v1/customer/bill\`) or by a recurring
   schedule (\`POST /v1/billing/recurring/create\`).
4. Banks and merchants are notified by webhooks, which are described below. A bank answers with requests of its own, such as
   \`POST /v1/billing/bank-response\`.

**Answers.** Unless stated otherwise, an answer is an object with \`statusCode\` (the HTTP status), \`success\`, \`message\` (for
people) and \`data\`. Errors have the same form, with \`success\` false and a \`code\` for programs, one of \`ErrorCode\`; those of status 400
list every problem in \`errors\`. What does
not exist and what belongs to another party are both a 404. A method that a path does not have is a 405 with \`Allow\`. If several errors
apply, the order is 401, 429, 403 (wrong role, then scope), 413, 415, 408, 400, and then those of the operation itself.

**Requests.** Unknown fields and query parameters are refused (400). Text is trimmed and normalised (Unicode NFC). Amounts are JSON
numbers in major units, with at most as many decimals as the currency has, and at most 15 significant digits. Dates are RFC 3339 with an
offset; answers use UTC.

**Idempotency.** Send an \`Idempotency-Key\` with requests that take one. If you get no answer, repeat the request with the same key and
body: it is carried out once, and you get the first answer. A bank's answers to webhooks need no key.

**Versioning.** New fields, endpoints, optional parameters and webhook types can be added to version 1; nothing is removed. The
schemas in this document are closed, so they show all that this release sends, but a client should ignore fields that it does not know.
`.trim();
