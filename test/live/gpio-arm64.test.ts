import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { checksOf, type Findings } from '../../scripts/gpio-proof/findings.ts';

const execute = promisify(execFile);
const LIMIT_MS = 280_000;
/** The virtual board takes one to three minutes, and 250 MB the first time. */
const isWanted = process.env.ATMO_QEMU === '1';
const title = `lines of a real kernel of 64-bit ARM do what the hub asks of them${isWanted ? '' : ' (needs minutes: ATMO_QEMU=1)'}`;

test.runIf(isWanted)(title, { timeout: LIMIT_MS }, async () => {
  const { stdout } = await execute(process.execPath, ['scripts/gpio-proof.ts', '--json', '--fetch'], {
    timeout: LIMIT_MS,
    maxBuffer: 1024 * 1024,
  });
  const findings: Findings = JSON.parse(stdout);
  expect(checksOf(findings).filter(({ holds }) => !holds)).toEqual([]);
});
