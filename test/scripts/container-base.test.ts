import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { renewBase } from '../../scripts/package/container-base.ts';
import { withDirectory } from '../cli/cli-fixture.ts';

/** In the place of apt-get: says which indexes it has, and downloads an empty package for each name. */
const APT = (labels: string) => `#!/bin/sh
for word; do
  case $word in
    indextargets) printf '%s\\n' ${labels}; exit;;
    download) names=1;;
    [a-z]*) [ -n "$names" ] && : > "$word"_2_arm64.deb;;
  esac
done
exit 0
`;

/** Renews a base of before with an apt that has these indexes. Returns what is in the folder then. */
function renewed(dir: string, labels: string): readonly string[] {
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin/apt-get'), APT(labels), { mode: 0o755 });
  vi.stubEnv('PATH', `${join(dir, 'bin')}:${process.env.PATH}`);
  mkdirSync(join(dir, 'cache/arm64'), { recursive: true });
  writeFileSync(join(dir, 'cache/arm64/bash_1_arm64.deb'), '');
  renewBase('arm64', join(dir, 'cache'));
  return readdirSync(join(dir, 'cache/arm64'));
}

afterEach(() => vi.unstubAllEnvs());

describe('the Debian below the hub in an image', () => {
  test('is replaced whole by the packages of today', () =>
    withDirectory(async (dir) => {
      const files = renewed(dir, 'Debian Debian-Security');
      expect(files).toEqual(expect.arrayContaining(['bash_2_arm64.deb', 'libc6_2_arm64.deb']));
      expect(files.filter((name) => name.includes('_1_'))).toEqual([]);
      expect(readdirSync(join(dir, 'cache'))).toEqual(['arm64']);
    }));

  test('stays as it is where apt got no security updates', () =>
    withDirectory(async (dir) => {
      expect(() => renewed(dir, 'Debian')).toThrow(
        expect.objectContaining({ code: 'NOT_FOUND', message: expect.stringContaining('bookworm-security') }),
      );
      expect(readdirSync(join(dir, 'cache/arm64'))).toEqual(['bash_1_arm64.deb']);
      expect(readdirSync(join(dir, 'cache'))).toEqual(['arm64']);
    }));
});
