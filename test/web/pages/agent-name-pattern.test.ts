import { expect, test } from 'vitest';
import { AGENT_NAME } from '../../../src/core/auth/principal.ts';
import { AGENT_NAME_PATTERN } from '../../../src/web/pages/tokens.ts';

test('the pattern of the field accepts the same agent names as the hub', () => {
  const asBrowser = new RegExp(`^(?:${AGENT_NAME_PATTERN})$`, 'v');
  for (const name of ['kitchen-helper', 'a', 'a.b_c-9', '-a', 'A', '', 'a/b', `a${'b'.repeat(64)}`]) {
    expect(asBrowser.test(name), name).toBe(AGENT_NAME.test(name));
  }
});
