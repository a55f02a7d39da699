import { expect, test } from 'vitest';
import { consentSubject, signInStatement } from '../../../src/core/auth/people.ts';
import { ANN, browser } from '../people/people-fixture.ts';
import { oauthLab } from './oauth-fixture.ts';

/** A request that Ann has opened, with what she was shown. */
async function opened() {
  const lab = await oauthLab();
  const token = await lab.signedInToken(ANN);
  const id = String((await lab.open(lab.query(await lab.register()), token)).json.request_id);
  const choice = lab.choice();
  const { permissions } = (await lab.json(`/api/v1/oauth/requests/${id}/preview`, { choice }, token)).json as {
    permissions: readonly string[];
  };
  const send = (proof: object) => lab.json(`/api/v1/oauth/requests/${id}/allow`, { choice, permissions, ...proof }, token);
  return { lab, token, id, permissions, send };
}

test('a stolen token alone allows nothing: the browser of the sign-in has to sign the request with the permissions that were shown', async () => {
  const { lab, token, id, permissions, send } = await opened();
  const thief = browser();
  const challenge = lab.people.challenge();
  const byThief = { proof: { challenge, signature: thief.sign(signInStatement('consent', consentSubject(id, permissions), challenge)) } };
  const wrong = [
    {},
    byThief,
    lab.agreement('0'.repeat(32), permissions, token),
    lab.agreement(id, permissions.slice(1), token),
    lab.agreement(id, [...permissions, 'device:control:@type/lock'], token),
  ];
  for (const proof of wrong) expect((await send(proof)).json.code).toBe('PERMISSION_DENIED');
  for (const proof of [{ proof: {} }, { proof: { challenge: 'c' } }, { proof: { challenge: 'c'.repeat(257), signature: 's' } }])
    expect((await send(proof)).status).toBe(400);
  expect((await send(lab.agreement(id, permissions, token))).json.redirect_to).toMatch(/[?&]code=/);
});

test('a signature serves one consent', async () => {
  const { lab, token, send, id, permissions } = await opened();
  const used = lab.agreement(id, permissions, token);
  expect((await send(used)).status).toBe(200);
  const other = String((await lab.open(lab.query(await lab.register()), token)).json.request_id);
  const body = { choice: lab.choice(), permissions, ...used };
  expect((await lab.json(`/api/v1/oauth/requests/${other}/allow`, body, token)).json.code).toBe('PERMISSION_DENIED');
});

test('the owner who came with a link has no sign-in, and signs nothing', async () => {
  const lab = await oauthLab();
  const id = String((await lab.open(lab.query(await lab.register()))).json.request_id);
  expect((await lab.allow(id)).json.redirect_to).toMatch(/[?&]code=/);
});
