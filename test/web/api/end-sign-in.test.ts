import { expect, test } from 'vitest';
import { endSignIn } from '../../../src/web/api/end-sign-in.ts';
import { HubError } from '../../../src/web/api/hub-client.ts';
import { makeSigningKey } from '../../../src/web/api/signing-key.ts';

const signIn = async () => ({ id: 'a'.repeat(32), title: 'Ann', issuedAt: '', expiresAt: '', key: await makeSigningKey() });

test('signing out ends the sign-in on the hub, within a bounded time', async () => {
  const asked: [string, AbortSignal | undefined][] = [];
  const hub = {
    delete: async <Answer>(path: string, { signal }: { signal?: AbortSignal } = {}) => {
      asked.push([path, signal]);
      return {} as Answer;
    },
  };
  expect(await endSignIn(hub, { signIn: await signIn() })).toBe(true);
  expect(asked).toEqual([[`/api/v1/sign-ins/${'a'.repeat(32)}`, expect.any(AbortSignal)]]);
  expect(await endSignIn(hub, {})).toBe(true);
  expect(asked).toHaveLength(1);
});

test.each([
  ['HUB_UNREACHABLE', false],
  ['PERMISSION_DENIED', false],
  ['NOT_FOUND', true],
] as const)('a hub that answers %s has ended the sign-in: %s', async (code, hasEnded) => {
  const hub = { delete: () => Promise.reject(new HubError(code, 'no')) };
  expect(await endSignIn(hub, { signIn: await signIn() })).toBe(hasEnded);
});
