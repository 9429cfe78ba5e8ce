import { createPublicKey, type JsonWebKey } from 'node:crypto';
import type { RequestHandler } from 'express';
import { decode, verify } from 'jsonwebtoken';

/** The check of the access tokens of the engine at this URL, by the keys that it publishes. */
export async function accessTokenCheck(apiUrl: string): Promise<RequestHandler> {
  const published = await fetch(`${apiUrl}/.well-known/jwks.json`);
  const { keys } = (await published.json()) as { keys: (JsonWebKey & { kid: string })[] };
  const verifiers = new Map(keys.map((key) => [key.kid, createPublicKey({ key, format: 'jwk' })]));

  return (req, res, next) => {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? [];
    const verifier = verifiers.get(decode(token, { complete: true })?.header.kid ?? '');
    if (!verifier) {
      res.status(401).json({ statusCode: 401, success: false, message: 'The access token is not valid' });
      return;
    }
    verify(token, verifier, {
      algorithms: ['ES256'],
      audience: 'assent',
      issuer: 'assent',
      clockTolerance: 5,
    });
    next();
  };
}
