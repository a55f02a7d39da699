import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { gateBase, whyNoBase } from '../../scripts/bench/gate/base-program.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const isShallow = execFileSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: ROOT, encoding: 'utf8' }).trim() === 'true';

describe('the commit that the gate compares with', () => {
  test('is named by its whole id', () => {
    expect(gateBase().commit).toMatch(/^[0-9a-f]{40}$/);
  });

  test.skipIf(isShallow)('is in the history of the tree', () => {
    expect(whyNoBase(gateBase().commit)).toBeUndefined();
    const isAncestor = () => execFileSync('git', ['merge-base', '--is-ancestor', gateBase().commit, 'HEAD'], { cwd: ROOT });
    expect(isAncestor).not.toThrow();
  });

  test('is asked for where the clone lacks it', () => {
    expect(whyNoBase('0'.repeat(40))).toMatch(/^the commit 0{12} that .*base\.json names is not here: in a shallow clone, run git fetch/);
  });
});
