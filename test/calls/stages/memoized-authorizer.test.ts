import { describe, expect, test } from 'vitest';
import { memoizedAuthorizer } from '../../../src/calls/stages/authorization.ts';
import type { Authorizer } from '../../../src/core/auth/principal.ts';
import { agent } from '../pipeline-fixture.ts';

describe('what a caller may try', () => {
  test('is asked once in a turn and anew in the next', async () => {
    const asked: string[] = [];
    let isGranted = true;
    const authorizer: Authorizer = {
      authorize: () => ({ allowed: true }),
      canSee: () => true,
      elsewhere: () => authorizer,
      mayTry: (principal, permission) => {
        asked.push(`${principal.id} ${permission}`);
        return isGranted;
      },
    };
    const remembered = memoizedAuthorizer(authorizer);
    const [one, other] = [agent('a:b'), { ...agent('a:b'), id: 'other' }];
    for (const principal of [one, one, other]) expect(remembered.mayTry(principal, 'a:b')).toBe(true);
    expect(asked).toEqual([`${one.id} a:b`, 'other a:b']);
    await Promise.resolve();
    isGranted = false;
    expect(remembered.mayTry(one, 'a:b')).toBe(false);
  });
});
