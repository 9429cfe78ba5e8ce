/** Opens the reference, for a reader who has not heard of the network. */
export const INTRODUCTION = `
Money moves on a customer's identity rather than on a card: the customer's **bank** authorises each payment, and the
**merchant** learns no more than an opaque id. **Providers** act for merchants.

1. Exchange your client id and secret for an access token at \`POST /v1/oauth/token\`, and send it as \`Authorization: Bearer …\`.
2. A bank brings its customers in (\`POST /v1/bank/customers\`); each gets a \`lookupID\`, a phrase that people can type.
3. A merchant either bills once by \`lookupID\`, which the customer approves each time, or asks for an agreement
   (\`POST /v1/billing/intent\`) and gets a \`paymentID\` to bill by, at once or by a recurring schedule.
4. Banks and merchants hear of everything by webhook, and answer or catch up through this API.

**Envelope.** Unless an operation says otherwise, an answer is \`{statusCode, success, message, data}\`. \`message\` is for people.
Refusals have the same form with \`success\` false; a 400 lists every problem in \`errors\`. What belongs to
somebody else is a 404 that looks like that of something that does not exist. A path that
there is, asked with another method, is a 405 with \`Allow\`. Other refusals are decided in the order 401, 429, 403 (role), 413, 415,
400, and then what the operation finds.

**Requests.** An unknown field or parameter is a 400. Text is trimmed and brought to Unicode NFC. Amounts are in
major units, with at most the decimals of their currency and 15 significant digits. Moments are RFC 3339 with an offset.

**Repeats.** Where \`Idempotency-Key\` is offered, send one, and the same again when an answer was lost: nothing happens twice.
A bank's answers need none: the same answer again is a 200 by itself.

**Compatibility.** Within version 1, fields, endpoints, optional parameters and webhook types are added, and nothing is
taken away. The schemas below are closed, so that they tell everything that this release sends; a client should still ignore
what it does not know.
`.trim();
