import { createHash, createSign, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';

/** An authenticator in this process: ES256, one passkey, without attestation. */
export class Authenticator {
  readonly id = randomBytes(16).toString('base64url');
  counter = 0;
  private readonly key: KeyObject;
  private readonly point: { x: string; y: string };
  private userHandle = '';

  /** @param origin of the page that asks it; a browser names no other */
  constructor(readonly origin: string) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    this.key = privateKey;
    this.point = { x, y };
  }

  /** Makes the passkey. @param faults of an authenticator that does not do as it is asked */
  make(
    options: { challenge: string; rp: { id?: string }; user: { id: string } },
    faults: { unverified?: boolean; attested?: boolean } = {},
  ) {
    this.userHandle = options.user.id;
    const id = Buffer.from(this.id, 'base64url');
    const cose = map([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(this.point.x, 'base64url')],
      [-3, Buffer.from(this.point.y, 'base64url')],
    ]);
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cose]);
    const data = this.data(options.rp.id ?? '', faults.unverified ? 0x41 : 0x45, credential);
    const clientDataJSON = this.clientData('webauthn.create', options.challenge);
    const statement: [Cbor, Cbor][] = [
      ['alg', -7],
      ['sig', this.signature(data, clientDataJSON)],
    ];
    const attestation = map([
      ['fmt', faults.attested ? 'packed' : 'none'],
      ['attStmt', new Map(faults.attested ? statement : [])],
      ['authData', data],
    ]);
    return this.shown({ clientDataJSON, attestationObject: attestation.toString('base64url') });
  }

  /** Signs a challenge. */
  sign(options: { challenge: string; rpId?: string }, faults: { unverified?: boolean } = {}) {
    const data = this.data(options.rpId ?? '', faults.unverified ? 0x01 : 0x05);
    const clientDataJSON = this.clientData('webauthn.get', options.challenge);
    return this.shown({
      clientDataJSON,
      authenticatorData: data.toString('base64url'),
      signature: this.signature(data, clientDataJSON).toString('base64url'),
      userHandle: this.userHandle,
    });
  }

  private signature(data: Buffer, clientDataJSON: string): Buffer {
    const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();
    return createSign('sha256')
      .update(Buffer.concat([data, hash]))
      .sign(this.key);
  }

  private shown<Response extends object>(response: Response) {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response };
  }

  private clientData(type: string, challenge: string): string {
    const data = { type, challenge, origin: this.origin, crossOrigin: false };
    return Buffer.from(JSON.stringify(data)).toString('base64url');
  }

  private data(rpId: string, flags: number, credential = Buffer.alloc(0)): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([
      createHash('sha256').update(rpId).digest(),
      Buffer.from([flags]),
      counter,
      credential,
    ]);
  }
}

/** CBOR, as far as an attestation needs it. */
type Cbor = number | string | Buffer | Map<Cbor, Cbor>;

const map = (entries: [Cbor, Cbor][]) => encoded(new Map(entries));

function encoded(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  return Buffer.concat([head(5, value.size), ...[...value].flat().map(encoded)]);
}

/** In the shortest form, as the library measures a key by encoding it again. */
function head(major: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(major << 5) | size]);
  if (size < 256) return Buffer.from([(major << 5) | 24, size]);
  return Buffer.from([(major << 5) | 25, size >> 8, size & 255]);
}
