import { describe, expect, test } from 'vitest';
import { oauthLab } from '../../auth/oauth/oauth-fixture.ts';
import { ANN, TIM } from '../../auth/people/people-fixture.ts';
import { makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom } from '../cli-fixture.ts';

/** A hub where Ann and Tim have each given an application access, with `atmo` as one of them or as the owner. */
async function makeHome() {
  const lab = await oauthLab();
  const tokens = { ann: await lab.signedInToken(ANN), tim: await lab.signedInToken(TIM) };
  const ofAnn = await lab.connected({ token: tokens.ann });
  await lab.connected({ token: tokens.tim });
  const fetch = fetchFrom(lab.httpApi);
  const as = (person: keyof typeof tokens, ...argv: string[]) => atmo(argv, { fetch, env: { ATMO_TOKEN: tokens[person] } });
  const asOwner = (...argv: string[]) => atmo(argv, { fetch });
  return { lab, ofAnn, as, asOwner };
}

describe('applications', () => {
  test('are listed with who they are, what they may, until when and their last use: the own ones, and all of them for the owner', async () => {
    const { lab, ofAnn, as, asOwner } = await makeHome();
    await lab.get('/mcp', ofAnn.access);
    const own = (await as('ann', 'applications')).out;
    expect(own).toMatch(/^ID +APPLICATION +HOST +PERSON +AGENT +UNTIL +LAST USE +MAY\n/);
    expect(own).toMatch(/\n[0-9a-f]{32} +Claude AI +chat\.example +ann +ann\/claude-ai +\S+Z +\S+Z +.*device:control:/);
    expect(own).not.toContain('tim');
    const all = (await asOwner('applications', '--json')).json().applications;
    expect(all.map(({ person }: { person: string }) => person).sort()).toEqual(['ann', 'tim']);
  });

  test('end at once by the beginning of their id, and nobody ends one of somebody else', async () => {
    const { lab, ofAnn, as, asOwner } = await makeHome();
    const [{ id }] = (await as('ann', 'applications', '--json')).json().applications;
    expect(await as('tim', 'applications', 'end', id)).toMatchObject({ code: 2, err: expect.stringContaining('No access begins with') });
    expect(lab.grants.list()).toHaveLength(2);
    const ended = await asOwner('applications', 'end', id.slice(0, 8));
    expect(ended).toMatchObject({ code: 0, out: 'Claude AI (ann/claude-ai) has no access any more; its tokens have ended\n' });
    expect((await lab.get('/mcp', ofAnn.access)).status).toBe(401);
    expect((await as('ann', 'applications')).out).toBe('(none)\n');
  });

  test('of a hub without OAuth are refused with what to set', async () => {
    const { httpApi } = makeHttpApi({ oauth: undefined });
    const { code, err } = await atmo(['applications'], { fetch: fetchFrom(httpApi) });
    expect([code, err]).toEqual([expect.any(Number), expect.stringContaining('http.oauth is false in its configuration')]);
    expect(code).not.toBe(0);
  });
});
