import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXPORT_FORMATS } from '../../src/cli/commands/audit.ts';
import { AuditFixture } from '../storage/audit-fixture.ts';

const page = readFileSync(new URL('../../docs/audit.md', import.meta.url), 'utf8');
const directory = mkdtempSync(join(tmpdir(), 'audit-page-'));
const program = join(directory, 'check.mjs');
const whole = join(directory, 'journal.jsonl');

/** What the program on the page says of an export. */
function check(lines: readonly string[]): string {
  const file = join(directory, 'export.jsonl');
  writeFileSync(file, lines.join(''));
  return execFileSync(process.execPath, [program, file], { encoding: 'utf8', stdio: 'pipe' });
}

const linesOf = (text: string): string[] => text.split(/(?<=\n)/);

beforeAll(async () => {
  writeFileSync(program, /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  await using fixture = new AuditFixture();
  const store = await fixture.open();
  const odd = { note: 'ü \u202e "quoted" \n', amounts: [1e21, 0.1, -0], Z: null, a: { é: true } };
  for (const params of [{}, odd, { z: 1, a: 2 }]) for (const entry of fixture.call({ params })) await store.record(entry);
  const format = EXPORT_FORMATS.get('jsonl') ?? expect.fail('there is such a format');
  const rows = store.read({ limit: 100 }).toReversed();
  writeFileSync(whole, [format.begin, ...rows.map((row) => format.row({ ...row })), format.end({ ...store.head() })].join(''));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the program on docs/audit.md', () => {
  test('finds a whole export intact, and a part of one', () => {
    const lines = linesOf(readFileSync(whole, 'utf8'));
    expect(check(lines)).toMatch(/^intact up to 7:[0-9a-f]{64}\n$/);
    expect(check(lines.slice(3))).toMatch(/^intact up to 7:/);
  });

  test('names the first row that was changed, moved or taken out', () => {
    const lines = linesOf(readFileSync(whole, 'utf8'));
    const changed = lines.with(3, (lines[3] ?? '').replace('lamp-bot', 'lamp-not'));
    expect(() => check(changed)).toThrow('row 4 does not fit');
    expect(() => check(lines.toSpliced(2, 1))).toThrow('row 4 does not fit');
    expect(() => check(lines.toSpliced(6, 1))).toThrow('does not end with 7:');
  });
});
