import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { findArm64Parts } from '../../scripts/gpio-proof/arm64-parts.ts';
import { checksOf, type Findings } from '../../scripts/gpio-proof/findings.ts';

const execute = promisify(execFile);
const LIMIT_MS = 280_000;
const isWanted = process.env.ATMO_QEMU === '1';

test('lines of a real kernel of 64-bit ARM do what the hub asks of them', { timeout: LIMIT_MS }, async ({ skip }) => {
  if (!isWanted && !findArm64Parts()) return skip('no virtual board: node scripts/gpio-proof.ts --fetch, or ATMO_QEMU=1');
  const options = ['scripts/gpio-proof.ts', '--json', ...(isWanted ? ['--fetch'] : [])];
  const { stdout } = await execute(process.execPath, options, { timeout: LIMIT_MS, maxBuffer: 1024 * 1024 });
  const findings: Findings = JSON.parse(stdout);
  expect(checksOf(findings).filter(({ holds }) => !holds)).toEqual([]);
});
