import { describe, expect, test } from 'vitest';
import { GrantedTokens } from '../../../src/auth/oauth/access-tokens.ts';
import { OwnerAuthenticator } from '../../../src/auth/owner-token.ts';
import { ProofOfPossession, ReplayCache } from '../../../src/auth/tokens/proof-of-possession.ts';
import { TokenAuthenticator, TokenRefusalLog } from '../../../src/auth/tokens/token-authenticator.ts';
import { signChild, tokenBytes, tokenText } from '../../../src/auth/tokens/token-chain.ts';
import { decodeCbor, encodeCbor } from '../../../src/codec/cbor.ts';
import type { Credentials } from '../../../src/core/auth/principal.ts';
import { OWNER } from '../../../src/core/auth/principal.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { AuditIntent, AuditNote, AuditOutcome } from '../../../src/core/storage/audit-sink.ts';
import { signProof } from './sign-proof.ts';
import { keyPair, tokenServices } from './token-fixture.ts';

const OPERATION = 'POST /api/v1/tools/echo/invoke';
const OWNER_TOKEN = `at0.${'A'.repeat(43)}`;

async function doorRoom() {
  const setup = await tokenServices();
  const notes: AuditNote[] = [];
  const audit = { record: async (entry: AuditIntent | AuditOutcome | AuditNote) => void (entry.kind === 'note' && notes.push(entry)) };
  const proofs = new ProofOfPossession({ replays: new ReplayCache(setup), time: setup.time }, setup.hub.hubId);
  const refusals = new TokenRefusalLog({ audit, clock: setup.clock, logger: silentLogger });
  const owner = new OwnerAuthenticator({ matches: (credential) => credential === OWNER_TOKEN, mark: () => 'mark', generation: 0 });
  const door = new TokenAuthenticator(
    { owner, verifier: setup.verifier, proofs, refusals, granted: new GrantedTokens(), seal: setup.seal },
    { hubKey: setup.hub.publicKey },
  );
  const enter = (credentials: Omit<Credentials, 'operation'>, operation = OPERATION) => door.authenticate({ ...credentials, operation });
  const codeOf = (credentials: Omit<Credentials, 'operation'>, operation = OPERATION) =>
    enter(credentials, operation).then(
      () => 'in',
      (error: { readonly code?: string }) => error.code,
    );
  const proofFor = (token: string, agent: ReturnType<typeof keyPair>, content = '') =>
    signProof(
      { token, operation: OPERATION, content: Buffer.from(content), hubId: setup.hub.hubId, atMs: setup.clock.now() },
      agent.privateKey,
    );
  return { ...setup, notes, door, enter, codeOf, proofFor };
}

describe('who comes in', () => {
  test("the owner with the owner's token", async () => {
    const { enter, door } = await doorRoom();
    expect(await enter({ bearer: OWNER_TOKEN })).toEqual({ principal: OWNER });
    expect(door.isStillValid(OWNER)).toBe(true);
  });

  test('an agent with a token that is bound to the key of this hub, without a proof', async () => {
    const { enter, issuer } = await doorRoom();
    const { token, principal } = issuer.issue({ agentId: 'a', permissions: ['b:c'], ttlMs: 60_000 }, OWNER);
    expect(await enter({ bearer: token })).toEqual({ principal });
  });

  test('an agent with a key of its own, and a proof that also says what the content is', async () => {
    const { enter, rootToken, proofFor } = await doorRoom();
    const agent = keyPair();
    const token = rootToken({ key: agent.publicKey });
    const { principal, contentSha256 } = await enter({ bearer: token, proof: proofFor(token, agent, '{}') });
    expect([principal.id, contentSha256]).toEqual(['light-agent', '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a']);
  });

  test('a child with its own key, whose parent the hub never saw', async () => {
    const { enter, codeOf, rootToken, rootClaims, proofFor } = await doorRoom();
    const [parent, child] = [keyPair(), keyPair()];
    const claims = rootClaims({ issuer: 'light-agent', subject: 'light-agent/x', key: child.publicKey });
    const token = tokenText(signChild(tokenBytes(rootToken({ key: parent.publicKey })), claims, parent.privateKey));
    expect((await enter({ bearer: token, proof: proofFor(token, child) })).principal.id).toBe('light-agent/x');
    expect(await codeOf({ bearer: token, proof: proofFor(token, parent) })).toBe('TOKEN_INVALID');
  });
});

describe('who stays out', () => {
  test('whoever brings nothing, or what is no token', async () => {
    const { codeOf } = await doorRoom();
    expect(await codeOf({})).toBe('UNAUTHENTICATED');
    expect(await codeOf({ bearer: '' })).toBe('UNAUTHENTICATED');
    for (const bearer of ['at1.', 'at1.AAAA', 'at0.guess', 'x', 'AT1.AAAA', `${OWNER_TOKEN} `])
      expect(await codeOf({ bearer })).toBe('TOKEN_INVALID');
  });

  test('whoever brings a bound token without a proof, or the proof of another', async () => {
    const { codeOf, rootToken, proofFor } = await doorRoom();
    const token = rootToken({ key: keyPair().publicKey });
    expect(await codeOf({ bearer: token })).toBe('UNAUTHENTICATED');
    expect(await codeOf({ bearer: token, proof: '' })).toBe('TOKEN_INVALID');
    expect(await codeOf({ bearer: token, proof: proofFor(token, keyPair()) })).toBe('TOKEN_INVALID');
  });

  test('whoever repeats a recorded request, or turns it into another', async () => {
    const { codeOf, rootToken, proofFor } = await doorRoom();
    const agent = keyPair();
    const token = rootToken({ key: agent.publicKey });
    const proof = proofFor(token, agent);
    expect(await codeOf({ bearer: token, proof }, 'POST /api/v1/tools/unlock/invoke')).toBe('TOKEN_INVALID');
    expect([await codeOf({ bearer: token, proof }), await codeOf({ bearer: token, proof })]).toEqual(['in', 'TOKEN_INVALID']);
  });

  test('a key of small order proves nothing, even in a token that the hub signed', async () => {
    const { codeOf, rootToken, proofFor } = await doorRoom();
    const token = rootToken({ key: Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url') });
    expect(await codeOf({ bearer: token, proof: proofFor(token, keyPair()) })).toBe('TOKEN_INVALID');
  });

  test('an agent whose token expired or was revoked, from that moment on', async () => {
    const { codeOf, door, issuer, clock } = await doorRoom();
    const first = issuer.issue({ agentId: 'a', permissions: ['b:c'], ttlMs: 60_000 }, OWNER);
    const second = issuer.issue({ agentId: 'b', permissions: ['b:c'], ttlMs: 600_000 }, OWNER);
    issuer.revoke(second.principal.token?.id ?? '');
    expect([await codeOf({ bearer: first.token }), await codeOf({ bearer: second.token })]).toEqual(['in', 'TOKEN_INVALID']);
    clock.advance(120_000);
    expect(await codeOf({ bearer: first.token })).toBe('TOKEN_EXPIRED');
    expect([first, second].map(({ principal }) => door.isStillValid(principal))).toEqual([false, false]);
  });
});

describe('a text that the hub did not give out', () => {
  const links = (token: string) => decodeCbor(tokenBytes(token)) as Uint8Array[];

  test('opens nothing: a child that is cut back to the token of its parent', async () => {
    const { issuer, codeOf } = await doorRoom();
    const parent = issuer.issue({ agentId: 'big', permissions: ['*'], ttlMs: 60_000 }, OWNER);
    const { token } = issuer.issue({ agentId: 'small', permissions: ['b:c'], ttlMs: 60_000 }, parent.principal);
    const cut = tokenText(encodeCbor(links(token).slice(0, 1)));
    const seal = token.slice(token.lastIndexOf('.'));
    expect(await codeOf({ bearer: token })).toBe('in');
    for (const bearer of [cut, `${cut}${seal}`, `${cut}.`, `${token}.`, `${token}A`])
      expect(await codeOf({ bearer })).toBe('TOKEN_INVALID');
  });

  test('opens nothing: the chain that other hubs see with a call', async () => {
    const { issuer, enter, codeOf } = await doorRoom();
    const { token } = issuer.issue({ agentId: 'a', permissions: ['b:c'], ttlMs: 60_000 }, OWNER);
    const { principal } = await enter({ bearer: token });
    expect(token.startsWith(`${principal.token?.text}.`)).toBe(true);
    expect(await codeOf({ bearer: principal.token?.text ?? '' })).toBe('TOKEN_INVALID');
  });

  test('counts where an agent signed it for the key of this hub, with a proof by the key that signed it', async () => {
    const { enter, codeOf, rootToken, rootClaims, hub, proofFor } = await doorRoom();
    const agent = keyPair();
    const claims = rootClaims({ issuer: 'light-agent', subject: 'light-agent/x', key: hub.publicKey });
    const bearer = tokenText(signChild(tokenBytes(rootToken({ key: agent.publicKey })), claims, agent.privateKey));
    expect((await enter({ bearer, proof: proofFor(bearer, agent) })).principal.id).toBe('light-agent/x');
    expect(await codeOf({ bearer })).toBe('UNAUTHENTICATED');
    expect(await codeOf({ bearer, proof: proofFor(bearer, keyPair()) })).toBe('TOKEN_INVALID');
  });

  test('opens nothing: a sealed child that is cut back to the token that an agent signed itself', async () => {
    const { issuer, enter, codeOf, rootToken, rootClaims, hub, proofFor } = await doorRoom();
    const [agent, small] = [keyPair(), keyPair()];
    const claims = rootClaims({ issuer: 'light-agent', subject: 'light-agent/x', key: hub.publicKey });
    const own = tokenText(signChild(tokenBytes(rootToken({ key: agent.publicKey })), claims, agent.privateKey));
    const { principal } = await enter({ bearer: own, proof: proofFor(own, agent) });
    for (const key of [undefined, small.publicKey]) {
      const child = issuer.issue(
        { agentId: 'small', permissions: ['device:control:lamp-1'], ttlMs: 60_000, ...(key && { key }) },
        principal,
      );
      const proof = key ? { proof: proofFor(child.token, small) } : {};
      expect(await codeOf({ bearer: child.token, ...proof })).toBe('in');
      const seal = child.token.slice(child.token.lastIndexOf('.'));
      for (let left = 1; left < links(child.token).length; left++) {
        const cut = tokenText(encodeCbor(links(child.token).slice(0, left)));
        for (const bearer of [cut, `${cut}${seal}`])
          expect([await codeOf({ bearer }), await codeOf({ bearer, proof: proofFor(cut, small) })]).not.toContain('in');
      }
    }
  });

  test('opens nothing: one that another hub bound to the key of this one, which every hub that sees a call could use', async () => {
    const { issuer, codeOf, rootToken, rootClaims, hub, proofFor } = await doorRoom();
    const other = keyPair();
    const claims = rootClaims({ issuer: 'light-agent', subject: 'light-agent/x', key: hub.publicKey });
    const bearer = tokenText(signChild(tokenBytes(rootToken({ key: other.publicKey })), claims, other.privateKey));
    expect(await codeOf({ bearer })).not.toBe('in');
    expect(await codeOf({ bearer, proof: proofFor(bearer, keyPair()) })).not.toBe('in');
    expect(issuer.inspect(bearer)).toMatchObject({ isBearer: false });
  });
});

describe('refusals in the journal', () => {
  test('say who it was where the signatures held, and nothing where they did not', async () => {
    const { codeOf, notes, rootToken, nowSeconds, rootClaims } = await doorRoom();
    const { id } = rootClaims();
    const expired = rootToken({ id, expiresAt: nowSeconds() - 100, issuedAt: nowSeconds() - 200 });
    await codeOf({ bearer: expired });
    await codeOf({ bearer: `${expired.slice(0, -8)}AAAAAAAA` });
    await codeOf({});
    expect(notes.map(({ event, principalId, data }) => ({ event, principalId, data }))).toEqual([
      { event: 'token.refused', principalId: 'light-agent', data: { code: 'TOKEN_EXPIRED', operation: OPERATION, token_id: id } },
      { event: 'token.refused', principalId: undefined, data: { code: 'TOKEN_INVALID', operation: OPERATION } },
      { event: 'token.refused', principalId: undefined, data: { code: 'UNAUTHENTICATED', operation: OPERATION } },
    ]);
    expect(JSON.stringify(notes)).not.toContain(expired.slice(4, 30));
  });

  test('tell who could not prove to hold the key', async () => {
    const { codeOf, notes, rootToken, proofFor } = await doorRoom();
    const token = rootToken({ key: keyPair().publicKey });
    await codeOf({ bearer: token });
    await codeOf({ bearer: token, proof: proofFor(token, keyPair()) });
    expect(notes.map(({ principalId }) => principalId)).toEqual(['light-agent', 'light-agent']);
  });

  test('keep no secret that came in the path', async () => {
    const { codeOf, notes, rootToken } = await doorRoom();
    const token = rootToken();
    await codeOf({}, `GET /api/v1/tools/${token}`);
    await codeOf({}, `GET /api/v1/tools?token=${token}`);
    await codeOf({}, `GET /${'x'.repeat(5_000)}`);
    expect(JSON.stringify(notes)).not.toContain(token.slice(4, 30));
    expect(JSON.stringify(notes).length).toBeLessThan(1_000);
  });

  test('are at most ten in a second; the next one tells how many more there were', async () => {
    const { codeOf, notes, clock } = await doorRoom();
    for (let count = 0; count < 1_000; count++) expect(await codeOf({ bearer: 'at1.guess' })).toBe('TOKEN_INVALID');
    expect(notes).toHaveLength(10);
    clock.advance(1_000);
    await codeOf({ bearer: 'at1.guess' });
    expect(notes.at(-1)?.data).toMatchObject({ unwritten_before: 990 });
    await codeOf({ bearer: 'at1.guess' });
    expect(notes.at(-1)?.data).not.toHaveProperty('unwritten_before');
  });

  test('that cannot be written leave the refusal as it is', async () => {
    const setup = await doorRoom();
    const audit = { record: async () => Promise.reject(new Error('disk full')) };
    const notes = new TokenRefusalLog({ audit, clock: setup.clock, logger: silentLogger });
    const owner = new OwnerAuthenticator({ matches: () => false, mark: () => 'mark', generation: 0 });
    const proofs = new ProofOfPossession({ replays: new ReplayCache(setup), time: setup.time }, setup.hub.hubId);
    const door = new TokenAuthenticator(
      { owner, verifier: setup.verifier, proofs, refusals: notes, granted: new GrantedTokens(), seal: setup.seal },
      { hubKey: setup.hub.publicKey },
    );
    await expect(door.authenticate({ bearer: 'at0.x', operation: OPERATION })).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
  });
});
