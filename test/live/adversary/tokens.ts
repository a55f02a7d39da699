import { type Attempt, each, refused } from './attempt.ts';

/** Tokens that were forged, widened, outlived or taken from somewhere else. */
export const TOKENS: readonly Attempt[] = [
  refused('a token of an own issuer', (me) => me.send({ path: '/api/v1/tools', token: me.arms.selfMade })),
  refused('a token that names this hub and is signed by oneself', (me) => me.send({ path: '/api/v1/tools', token: me.arms.impostor })),
  refused('the own token with more permissions and the old signature', (me) =>
    me.send({ path: '/api/v1/devices', token: me.arms.rewritten }),
  ),
  refused('the own token with more permissions, signed anew', (me) => me.send({ path: '/api/v1/devices', token: me.arms.resigned })),
  refused('a child signed with a key that the parent is not bound to', (me) =>
    me.send({ path: '/api/v1/devices', token: me.arms.strangersChild }),
  ),
  refused('a child with more than its parent, signed with the right key', (me) =>
    each(me.arms.greedyChildren, (token) => me.send({ path: '/api/v1/devices', token })),
  ),
  refused('the link of one token behind that of another', (me) => me.send({ path: '/api/v1/devices', token: me.arms.spliced })),
  refused('a token cut, doubled and mirrored', (me) => each(me.arms.mangled, (token) => me.send({ path: '/api/v1/devices', token }))),
  refused('every twentieth byte of the own token changed', (me) =>
    each(me.arms.bitFlips, (token) => me.send({ path: '/api/v1/devices', token })),
  ),
  refused('a token that has expired', (me) => me.send({ path: '/api/v1/devices', token: me.arms.expired })),
  refused('a token that is not valid yet', (me) => me.send({ path: '/api/v1/devices', token: me.arms.early })),
  refused('a token for another hub, and one of another mesh', (me) =>
    each([me.arms.elsewhere, me.arms.otherMesh], (token) => me.send({ path: '/api/v1/devices', token })),
  ),
  refused('a token that was revoked', (me) => me.send({ path: '/api/v1/devices', token: me.arms.revoked })),
  refused('a token bound to a key, used without the key', (me) =>
    each<Readonly<Record<string, string>>>([{}, { 'atmo-proof': 'AAAA' }, { 'atmo-proof': me.arms.proofOfAnother }], (headers) =>
      me.send({ path: '/api/v1/devices', token: me.arms.bound, headers }),
    ),
  ),
  refused('a proof of the right key used a second time', async (me) => {
    const proof = me.arms.prove('/api/v1/jobs');
    // The first use is right and not of the attacker's record; the second is the attempt.
    await me.again().send({ path: '/api/v1/jobs', token: me.arms.bound, headers: { 'atmo-proof': proof } });
    await me.send({ path: '/api/v1/jobs', token: me.arms.bound, headers: { 'atmo-proof': proof } });
  }),
  refused('a proof for one path used for another', (me) =>
    me.send({ path: '/api/v1/devices', token: me.arms.bound, headers: { 'atmo-proof': me.arms.prove('/api/v1/tools') } }),
  ),
];
