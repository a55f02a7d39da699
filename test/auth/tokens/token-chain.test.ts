import { createHash, sign } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { signChild, signRoot, tokenBytes, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import { encodeClaims, type TokenClaims } from '../../../src/auth/tokens/token-claims.ts';
import { type CborValue, decodeCbor, encodeCbor } from '../../../src/codec/cbor.ts';
import { signSign1, sigStructure } from '../../../src/codec/cose-sign1.ts';
import { type KeyPair, keyPair, refusalOf, tokenServices } from './token-fixture.ts';

type Room = Awaited<ReturnType<typeof tokenServices>>;
type Fields = Map<number | string, CborValue>;

const ROOT_AAD = Buffer.from('atmosphere-edge token v1');

let setup: Room;
let agent: KeyPair;
beforeAll(async () => {
  setup = await tokenServices();
  agent = keyPair();
});

const refusal = (token: string) => refusalOf(() => setup.verifier.verify(token));
const linksOf = (token: string) => decodeCbor(tokenBytes(token)) as Uint8Array[];
const chainText = (links: readonly CborValue[]) => tokenText(encodeCbor(links));

function fieldsOf(claims: TokenClaims): Fields {
  return new Map(decodeCbor(encodeClaims(claims)) as Fields);
}

/** A root that the hub itself signed, whatever it says. */
function signedRoot(fields: CborValue, aad: Uint8Array = ROOT_AAD): string {
  return chainText([signSign1({ payload: encodeCbor(fields), key: setup.hub.privateKey, externalAad: aad })]);
}

function childClaims(changes: Partial<TokenClaims> = {}): TokenClaims {
  return setup.rootClaims({ issuer: 'light-agent', subject: 'light-agent/helper', key: agent.publicKey, ...changes });
}

/** A child of a root that is bound to the agent's key, signed with that key. */
function childOf(root: Partial<TokenClaims>, child: Partial<TokenClaims> = {}, key = agent.privateKey): string {
  const parent = signRoot(setup.rootClaims({ key: agent.publicKey, ...root }), setup.hub.privateKey);
  return tokenText(signChild(parent, childClaims(child), key));
}

describe('a sound token', () => {
  test('tells who its bearer is and what it may do', () => {
    const claims = setup.rootClaims({ audience: [setup.hub.hubId], maxHops: 2, rateLimit: { calls: 10, seconds: 60 } });
    const text = tokenText(signRoot(claims, setup.hub.privateKey));
    expect(setup.verifier.verify(text).principal).toEqual({
      id: 'light-agent',
      kind: 'agent',
      permissions: ['device:control:lamp-1'],
      token: {
        id: claims.id,
        chain: [claims.id],
        text,
        expiresAtMs: claims.expiresAt * 1000,
        keys: [setup.hub.publicKey],
        allowedNodes: [setup.hub.hubId],
        maxHops: 2,
        rateLimits: [{ tokenId: claims.id, calls: 10, seconds: 60 }],
      },
    });
  });

  test('a child that its parent signed without any hub is its own principal, with the limits of both', () => {
    const rateLimit = { calls: 10, seconds: 60 };
    const { principal } = setup.verifier.verify(childOf({ rateLimit }, { rateLimit: { calls: 5, seconds: 60 } }));
    expect(principal.id).toBe('light-agent/helper');
    expect(principal.token.chain).toHaveLength(2);
    expect(principal.token.rateLimits.map(({ calls }) => calls)).toEqual([10, 5]);
  });

  test('four links are a token', () => {
    let bytes = signRoot(setup.rootClaims(), setup.hub.privateKey);
    let issuer = 'light-agent';
    for (const name of ['a', 'b', 'c']) {
      bytes = signChild(bytes, setup.rootClaims({ issuer, subject: `${issuer}/${name}` }), setup.hub.privateKey);
      issuer += `/${name}`;
    }
    expect(setup.verifier.verify(tokenText(bytes)).principal.id).toBe('light-agent/a/b/c');
  });

  test('a root and a child with an ordinary set of rights have at most 512 bytes', () => {
    const permissions = ['device:control:living-room-light', 'sensor:read:*'];
    const root = signRoot(setup.rootClaims({ permissions, maxHops: 2, rateLimit: { calls: 60, seconds: 60 } }), setup.hub.privateKey);
    const child = { maxHops: 1, rateLimit: { calls: 10, seconds: 60 }, permissions: permissions.slice(0, 1) };
    const chain = signChild(
      root,
      setup.rootClaims({ issuer: 'light-agent', subject: 'light-agent/helper', ...child }),
      setup.hub.privateKey,
    );
    expect(chain.length).toBeLessThanOrEqual(512);
    expect(tokenText(chain).length).toBeLessThanOrEqual(688);
    expect(setup.verifier.verify(tokenText(chain)).principal.id).toBe('light-agent/helper');
  });
});

describe('the text of a token', () => {
  test.each([
    ['padding', (text: string) => `${text}=`],
    ['a blank', (text: string) => ` ${text}`],
    ['a line end', (text: string) => `${text}\n`],
    ['the letters of plain base64', (text: string) => `at1.${Buffer.from(tokenBytes(text)).toString('base64')}+`],
    ['another prefix', (text: string) => text.replace('at1.', 'at2.')],
    ['no prefix', (text: string) => text.slice(4)],
    ['an upper-case prefix', (text: string) => text.replace('at1.', 'AT1.')],
    ['two prefixes', (text: string) => `at1.${text}`],
    ['nothing but the prefix', () => 'at1.'],
    ['nothing', () => ''],
  ])('%s makes it no token', (_, change) => {
    expect(refusal(change(setup.rootToken()))?.code).toBe('TOKEN_INVALID');
  });

  test('has no bits to spare: the last character has one value', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const texts = [0, 1, 2].map((length) => setup.rootToken({ subject: `agent${'x'.repeat(length)}` }));
    const accepted = texts.map((text) => [...alphabet].filter((last) => refusal(text.slice(0, -1) + last) === undefined).length);
    expect(accepted).toEqual([1, 1, 1]);
  });

  test.each([3072, 2049])('a chain of %i bytes is refused before it is looked at', (length) => {
    expect(refusal(tokenText(new Uint8Array(length)))?.message).toContain('longer than 2048 bytes');
  });

  test('a refusal repeats nothing of the token', () => {
    const text = setup.rootToken({ subject: 'talkative-agent', expiresAt: 1000 });
    const message = refusal(text)?.message ?? '';
    expect(message).toContain('expired');
    for (const secret of [text.slice(4, 40), 'talkative-agent', 'device:control']) expect(message).not.toContain(secret);
  });
});

describe('every field of a token', () => {
  const wrongTypes: readonly CborValue[] = [null, true, -1, 2 ** 53 - 1, '', 'x\u0000', new Uint8Array(3), [], [[]], new Map(), ['*', 7]];
  const names: readonly [string, number][] = [
    ['iss', 1],
    ['sub', 2],
    ['exp', 4],
    ['iat', 6],
    ['cti', 7],
    ['cnf', 8],
    ['permissions', -70_001],
  ];

  test.each(names)('%s has to be there', (_, key) => {
    const fields = fieldsOf(setup.rootClaims());
    fields.delete(key);
    expect(refusal(signedRoot(fields))?.code).toBe('TOKEN_INVALID');
  });

  test.each([
    ...names,
    ['aud', 3] as const,
    ['nbf', 5] as const,
    ['max_hops', -70_002] as const,
    ['rate_limit', -70_003] as const,
    ['mesh', -70_004] as const,
  ])('%s has to be of its type, also when the hub itself signed it', (name, key) => {
    const accepted = wrongTypes.filter((value) => {
      const isEmptyAudience = name === 'aud' && Array.isArray(value) && value.length === 0;
      return !isEmptyAudience && refusal(signedRoot(fieldsOf(setup.rootClaims()).set(key, value))) === undefined;
    });
    expect(accepted).toEqual([]);
  });

  test.each<[string, Fields | CborValue]>([
    ['claims that are an array', [1, 2]],
    ['claims that are text', 'claims'],
    ['no claims', new Map()],
  ])('%s are refused', (_, fields) => {
    expect(refusal(signedRoot(fields))?.code).toBe('TOKEN_INVALID');
  });

  test.each<[number | string, CborValue]>([
    [9, 'x'],
    ['sub', 'owner'],
    [-70_005, true],
    [-65_537, 1],
  ])('the unknown claim %s is refused', (key, value) => {
    expect(refusal(signedRoot(fieldsOf(setup.rootClaims()).set(key, value)))?.message).toContain('not known here');
  });

  test.each([
    ['no permissions', []],
    ['65 permissions', Array.from({ length: 65 }, (_, index) => `a:b:${index}`)],
    ['a permission twice', ['a:b', 'a:b']],
    ['a malformed permission beside a sound one', ['device:control:lamp-1', 'device:*:x']],
    ['a template', ['device:control:{device_id}']],
    ['an upper-case permission', ['Device:control']],
  ])('%s are refused', (_, permissions) => {
    expect(refusal(signedRoot(fieldsOf(setup.rootClaims()).set(-70_001, permissions)))?.code).toBe('TOKEN_INVALID');
  });

  test.each(['Owner', '', 'a b', 'light-agent/', '/x', 'a//b', 'a/b/c', '../a', 'a'.repeat(65), 'é'])(
    'the agent id %j is refused for a root',
    (subject) => {
      expect(refusal(signedRoot(fieldsOf(setup.rootClaims()).set(2, subject)))?.code).toBe('TOKEN_INVALID');
    },
  );

  test.each<[string, CborValue]>([
    [
      'a symmetric key',
      new Map<number, CborValue>([
        [1, 4],
        [-1, 6],
        [-2, new Uint8Array(32)],
      ]),
    ],
    [
      'a key of another curve',
      new Map<number, CborValue>([
        [1, 1],
        [-1, 4],
        [-2, new Uint8Array(32)],
      ]),
    ],
    [
      '31 bytes',
      new Map<number, CborValue>([
        [1, 1],
        [-1, 6],
        [-2, new Uint8Array(31)],
      ]),
    ],
    [
      '33 bytes',
      new Map<number, CborValue>([
        [1, 1],
        [-1, 6],
        [-2, new Uint8Array(33)],
      ]),
    ],
    [
      'a private key beside it',
      new Map<number, CborValue>([
        [1, 1],
        [-1, 6],
        [-2, new Uint8Array(32)],
        [-4, new Uint8Array(32)],
      ]),
    ],
  ])('%s is no key to be bound to', (_, key) => {
    expect(refusal(signedRoot(fieldsOf(setup.rootClaims()).set(8, new Map([[1, key]]))))?.code).toBe('TOKEN_INVALID');
  });
});

describe('signatures', () => {
  test.each([
    ['another key', () => tokenText(signRoot(setup.rootClaims(), agent.privateKey))],
    ['the key that it is bound to', () => tokenText(signRoot(setup.rootClaims({ key: agent.publicKey }), agent.privateKey))],
    ['a hub that is not trusted', () => tokenText(signRoot(setup.rootClaims({ issuer: 'hub-0123456789abcdef' }), agent.privateKey))],
    ['an agent in place of a hub', () => tokenText(signRoot(setup.rootClaims({ issuer: 'light-agent' }), agent.privateKey))],
    ['the hub, for another use', () => signedRoot(fieldsOf(setup.rootClaims()), Buffer.from('atmosphere-edge approval v1'))],
    ['the hub, for no use', () => signedRoot(fieldsOf(setup.rootClaims()), new Uint8Array())],
  ])('of %s do not make a token', (_, make) => {
    expect(refusal(make())?.code).toBe('TOKEN_INVALID');
  });

  test.each<[string, (parts: CborValue[]) => CborValue]>([
    ['another algorithm', (parts) => [Uint8Array.of(0xa1, 0x01, 0x26), ...parts.slice(1)]],
    ['the algorithm in the unprotected header', (parts) => [new Uint8Array(), new Map([[1, -8]]), ...parts.slice(2)]],
    ['a second protected header', (parts) => [Uint8Array.of(0xa2, 0x01, 0x27, 0x04, 0x41, 0x00), ...parts.slice(1)]],
    ['a key id in the unprotected header', (parts) => [parts[0] ?? null, new Map([[4, Uint8Array.of(1)]]), ...parts.slice(2)]],
    ['no payload', (parts) => [parts[0] ?? null, parts[1] ?? null, null, parts[3] ?? null]],
    ['a shorter signature', (parts) => [...parts.slice(0, 3), (parts[3] as Uint8Array).slice(1)]],
    ['no signature', (parts) => parts.slice(0, 3)],
    ['a fifth part', (parts) => [...parts, 0]],
    ['parts in another order', (parts) => [parts[0] ?? null, parts[1] ?? null, parts[3] ?? null, parts[2] ?? null]],
  ])('with %s do not make a token', (_, change) => {
    const parts = decodeCbor(linksOf(setup.rootToken())[0] ?? new Uint8Array()) as CborValue[];
    expect(refusal(chainText([encodeCbor(change(parts))]))?.code).toBe('TOKEN_INVALID');
  });

  test('a protected header that names another algorithm is refused even when it was signed', () => {
    const header = Uint8Array.of(0xa1, 0x01, 0x32);
    const payload = encodeClaims(setup.rootClaims());
    const signature = Uint8Array.from(sign(null, sigStructure(header, ROOT_AAD, payload), setup.hub.privateKey));
    expect(refusal(chainText([encodeCbor([header, new Map(), payload, signature])]))?.message).toContain('EdDSA');
  });

  test('S plus the group order, which fits the equation too, is refused', () => {
    const parts = decodeCbor(linksOf(setup.rootToken())[0] ?? new Uint8Array()) as CborValue[];
    const signature = Uint8Array.from(parts[3] as Uint8Array);
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    let scalar = order + signature.slice(32).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
    for (let index = 32; index < 64; index++) {
      signature[index] = Number(scalar & 255n);
      scalar >>= 8n;
    }
    expect(refusal(chainText([encodeCbor([...parts.slice(0, 3), signature])]))?.code).toBe('TOKEN_INVALID');
  });
});

describe('a chain', () => {
  test.each<[string, (links: Uint8Array[]) => CborValue]>([
    ['without links', () => []],
    ['with its links in another order', (links) => [...links].reverse()],
    ['without its root', (links) => links.slice(1)],
    ['with a link twice', (links) => [...links, ...links.slice(1)]],
    ['with its root twice', (links) => [...links.slice(0, 1), ...links]],
    ['with a link that is not bytes', (links) => [...links, 'x']],
    ['with an empty link', (links) => [...links, new Uint8Array()]],
    ['inside another array', (links) => [links]],
    ['as a map', (links) => new Map(links.map((link, index) => [index, link]))],
    ['with five links', (links) => Array.from({ length: 5 }, () => links[0] ?? null)],
  ])('%s is refused', (_, change) => {
    expect(refusal(tokenText(encodeCbor(change(linksOf(childOf({}))))))?.code).toBe('TOKEN_INVALID');
  });

  test.each([
    ['a longer head', (bytes: Uint8Array) => Uint8Array.of(0x98, (bytes[0] ?? 0) & 31, ...bytes.slice(1))],
    ['no announced length', (bytes: Uint8Array) => Uint8Array.of(0x9f, ...bytes.slice(1), 0xff)],
    ['a tag', (bytes: Uint8Array) => Uint8Array.of(0xd2, ...bytes)],
    ['a byte more', (bytes: Uint8Array) => Uint8Array.of(...bytes, 0)],
  ])('encoded with %s is refused', (_, change) => {
    expect(refusal(tokenText(change(tokenBytes(childOf({})))))?.code).toBe('TOKEN_INVALID');
  });

  test('a fifth link is refused though each has signed the next', () => {
    let bytes = signRoot(setup.rootClaims(), setup.hub.privateKey);
    const links = linksOf(tokenText(bytes));
    for (const name of ['a', 'b', 'c', 'd']) {
      const claims = setup.rootClaims({ issuer: 'light-agent', subject: `light-agent/${name}` });
      const externalAad = createHash('sha256')
        .update(links.at(-1) ?? bytes)
        .digest();
      links.push(signSign1({ payload: encodeClaims(claims), key: setup.hub.privateKey, externalAad }));
      bytes = encodeCbor(links);
    }
    expect(refusal(tokenText(bytes))?.message).toContain('1 to 4');
  });

  test.each<[string, Partial<TokenClaims>, Partial<TokenClaims>]>([
    ['more permissions', {}, { permissions: ['device:control:lamp-1', 'device:control:lock-1'] }],
    ['a wider permission', {}, { permissions: ['device:control:*'] }],
    ['a broader action', {}, { permissions: ['device:control'] }],
    ['everything', {}, { permissions: ['*'] }],
    ['administration', { permissions: ['*'] }, { permissions: ['admin:*'] }],
    ['a later end', {}, { expiresAt: 2 ** 40 }],
    ['an earlier beginning', { notBefore: 1000 }, { notBefore: 999 }],
    ['no beginning', { notBefore: 1000 }, {}],
    ['any hub where the parent names some', { audience: ['hub-a'] }, {}],
    ['another hub', { audience: ['hub-a'] }, { audience: ['hub-a', 'hub-b'] }],
    ['more hops', { maxHops: 1 }, { maxHops: 2 }],
    ['no bound of hops', { maxHops: 1 }, {}],
    ['no rate', { rateLimit: { calls: 5, seconds: 60 } }, {}],
    ['a higher rate', { rateLimit: { calls: 5, seconds: 60 } }, { rateLimit: { calls: 5, seconds: 59 } }],
    ['more at once', { rateLimit: { calls: 5, seconds: 60 } }, { rateLimit: { calls: 6, seconds: 600 } }],
    ['another mesh', { meshId: 'mesh-a' }, { meshId: 'mesh-b' }],
    ['no mesh', { meshId: 'mesh-a' }, {}],
    ['its parent as its name', {}, { subject: 'light-agent' }],
    ["a stranger's name", {}, { subject: 'other-agent/helper' }],
    ['a name of two levels', {}, { subject: 'light-agent/a/b' }],
    ['another issuer', {}, { issuer: 'other-agent' }],
    ["the hub's id as its issuer", {}, { issuer: 'hub-0123456789abcdef' }],
  ])('a child with %s is refused', (_, parent, child) => {
    expect(refusal(childOf(parent, child))?.code).toBe('TOKEN_INVALID');
  });

  test.each<[string, Partial<TokenClaims>, Partial<TokenClaims>]>([
    ['a path of an action', { permissions: ['sensor:read:*'] }, { permissions: ['sensor:read:hall/*'] }],
    ['an earlier end', {}, { expiresAt: 1_767_226_000 }],
    ['fewer hops', { maxHops: 3 }, { maxHops: 0 }],
    ['a slower rate', { rateLimit: { calls: 5, seconds: 60 } }, { rateLimit: { calls: 5, seconds: 61 } }],
  ])('a child with %s is taken', (_, parent, child) => {
    expect(refusal(childOf(parent, child))).toBeUndefined();
  });

  test('a child signed by anybody but the holder of the parent is refused', () => {
    expect(refusal(childOf({}, {}, keyPair().privateKey))?.code).toBe('TOKEN_INVALID');
    expect(refusal(childOf({}, {}, setup.hub.privateKey))?.code).toBe('TOKEN_INVALID');
  });

  test('a child cannot be moved below another token of the same holder', () => {
    const [, child = new Uint8Array()] = linksOf(childOf({}));
    const [other = new Uint8Array()] = linksOf(tokenText(signRoot(setup.rootClaims({ key: agent.publicKey }), setup.hub.privateKey)));
    expect(refusal(chainText([other, child]))?.message).toContain('signature');
  });

  test('two links with one id are refused: ending one has to end it alone', () => {
    const id = 'ab'.repeat(16);
    expect(refusal(childOf({ id }, { id }))?.code).toBe('TOKEN_INVALID');
  });

  test.each([
    ['the neutral element', `01${'00'.repeat(31)}`],
    ['a point of order 2', `ec${'ff'.repeat(30)}7f`],
    ['a point of order 4', '00'.repeat(32)],
    ['a point of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ['another point of order 8', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
    ['zero in a second encoding', `ed${'ff'.repeat(30)}7f`],
    ['one in a second encoding', `ee${'ff'.repeat(30)}7f`],
    ['no point at all', `02${'00'.repeat(31)}`],
  ])('%s as the key of a parent signs nothing', (_, hex) => {
    const key = Buffer.from(hex, 'hex').toString('base64url');
    // For a key of order 1 the neutral element and zero are a signature of any message.
    const parent = signRoot(setup.rootClaims({ key }), setup.hub.privateKey);
    const forged = Buffer.from(`01${'00'.repeat(63)}`, 'hex');
    const link = encodeCbor([Uint8Array.of(0xa1, 0x01, 0x27), new Map(), encodeClaims(childClaims()), Uint8Array.from(forged)]);
    expect(refusal(chainText([...linksOf(tokenText(parent)), link]))?.code).toBe('TOKEN_INVALID');
  });
});
