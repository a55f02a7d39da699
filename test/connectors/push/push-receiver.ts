import { createDecipheriv, createECDH, createPublicKey, generateKeyPairSync, hkdfSync, randomBytes, verify } from 'node:crypto';

const RECORD_HEADER_BYTES = 21;

/** A browser that can be subscribed: its keys, and what it reads in a message (RFC 8291, RFC 8188). Written without the hub's library. */
export function receiver() {
  const keys = createECDH('prime256v1');
  keys.generateKeys();
  const auth = randomBytes(16);
  const read = (body: Uint8Array): Record<string, unknown> => {
    const bytes = Buffer.from(body);
    const salt = bytes.subarray(0, 16);
    const senderLength = bytes[20] ?? 0;
    const sender = bytes.subarray(RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + senderLength);
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), sender]);
    const secret = Buffer.from(hkdfSync('sha256', keys.computeSecret(sender), auth, info, 32));
    const derived = (name: string, length: number) => Buffer.from(hkdfSync('sha256', secret, salt, `Content-Encoding: ${name}\0`, length));
    const sealed = bytes.subarray(RECORD_HEADER_BYTES + senderLength);
    const cipher = createDecipheriv('aes-128-gcm', derived('aes128gcm', 16), derived('nonce', 12)).setAuthTag(sealed.subarray(-16));
    const padded = Buffer.concat([cipher.update(sealed.subarray(0, -16)), cipher.final()]);
    return JSON.parse(padded.subarray(0, padded.lastIndexOf(2)).toString()) as Record<string, unknown>;
  };
  return { keys: { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') }, read };
}

/** Returns a key pair of P-256 for VAPID: an uncompressed point and 32 bytes, in base64url. */
export function vapidKeys(): { readonly publicKey: string; readonly privateKey: string } {
  const { x = '', y = '', d = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.of(4), ...[x, y].map((part) => Buffer.from(part, 'base64url'))]);
  return { publicKey: point.toString('base64url'), privateKey: d };
}

/** Returns the claims of a VAPID header (RFC 8292 §3) if its key has signed them and is this one. */
export function vapidClaims(authorization: string, publicKey: string): Record<string, unknown> | undefined {
  const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(authorization) ?? [];
  const [head = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const [x = '', y = ''] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const signer = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: signer, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  return isSigned && key === publicKey ? JSON.parse(Buffer.from(claims, 'base64url').toString()) : undefined;
}
