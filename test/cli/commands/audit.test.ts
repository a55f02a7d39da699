import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CliIo } from '../../../src/cli/cli-io.ts';
import type { AuditNote } from '../../../src/core/storage/audit-sink.ts';
import { auditTools } from '../../../src/tools/builtin/audit-tools.ts';
import { defineTool, p } from '../../../src/tools/definition/define-tool.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { makeDevice, makeHttpApi } from '../../http/http-fixture.ts';
import { AuditFixture } from '../../storage/audit-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

/** A journal with `calls` calls behind a real httpApi; `run` is `atmo` on it. */
async function hubWith(fixture: AuditFixture, calls: number) {
  const audit = await fixture.open();
  await fixture.fill(audit, calls);
  const setup = makeHttpApi();
  for (const tool of auditTools(audit)) setup.registry.register(tool);
  const run = async (argv: readonly string[], io: Partial<Pick<CliIo, 'signal' | 'sleep' | 'fetch'>> = {}) => {
    const ran = await atmo(['audit', ...argv], { fetch: fetchFrom(setup.httpApi), ...io });
    return { ...ran, lines: () => ran.out.split(/\r?\n/).filter((line) => line !== '') };
  };
  return { audit, run, setup };
}

describe('atmo audit tail', () => {
  test('shows the newest rows, the newest last', async () => {
    await using fixture = new AuditFixture();
    const { run } = await hubWith(fixture, 3);
    const { lines } = await run(['tail', '--limit', '2']);
    expect(lines()).toEqual([
      '6  2026-01-01T00:00:00.000Z  intent  lamp-bot  matter:lamp_turn_on@1.0.0  Turn on lamp  {"level":40}  trace trace-request-3',
      '7  2026-01-01T00:00:00.000Z  outcome  lamp-bot  matter:lamp_turn_on@1.0.0  ok, 1.5 ms  trace trace-request-3',
    ]);
    expect((await run(['tail', '--agent', 'nobody'])).out).toBe('(none)\n');
  });

  test('names the effect of a call, its device and room', async () => {
    await using fixture = new AuditFixture();
    const { run, setup } = await hubWith(fixture, 1);
    setup.directory.devices = [makeDevice('lamp', { name: 'Reading lamp', area: 'Den' })];
    expect((await run(['tail'])).out).toContain('Turn on Reading lamp (Den)  {"level":40}');
  });

  test('--tool finds the calls of a tool that is gone, and those of its earlier versions, by its name alone', async () => {
    await using fixture = new AuditFixture();
    const { run, setup } = await hubWith(fixture, 2);
    const outcomes = async (tool: string) =>
      (await run(['tail', '--tool', tool])).lines().filter((line) => line.includes('outcome')).length;
    expect(await outcomes('lamp_turn_on')).toBe(2);
    expect(await outcomes('matter:lamp_turn_on')).toBe(2);
    setup.registry.register(makeTool({ name: 'lamp_turn_on', namespace: 'matter', version: '1.2.0' }));
    expect(await outcomes('lamp_turn_on')).toBe(2);
    expect(await outcomes('matter:lamp_turn_on@1.2.0')).toBe(0);
  });

  test('--follow goes on with each new row once, until it is ended', async () => {
    await using fixture = new AuditFixture();
    const { audit, run } = await hubWith(fixture, 1);
    const ended = new AbortController();
    let pauses = 0;
    const pause = async () => {
      if (++pauses === 4) ended.abort();
      else await fixture.fill(audit, pauses * 60);
    };
    const { lines } = await run(['tail', '--follow', '--json', '--limit', '1'], { signal: ended.signal, sleep: pause });
    const seqs = lines().map((line) => JSON.parse(line).seq);
    expect(seqs).toEqual(Array.from({ length: 721 }, (_, index) => index + 3));
  });

  test('--follow waits for a hub that is away, and then shows what was missed', async () => {
    await using fixture = new AuditFixture();
    const { audit, run, setup } = await hubWith(fixture, 1);
    const ended = new AbortController();
    let pauses = 0;
    const sleep = async () => {
      if (++pauses === 4) ended.abort();
      if (pauses === 2) await fixture.fill(audit, 1);
    };
    const isAway = () => pauses === 1 || pauses === 2;
    const fetch: CliIo['fetch'] = (url, init) =>
      isAway() ? Promise.reject(new TypeError('fetch failed')) : fetchFrom(setup.httpApi)(url, init);
    const { lines, err } = await run(['tail', '--follow', '--json', '--limit', '1'], { signal: ended.signal, sleep, fetch });
    expect(lines().map((line) => JSON.parse(line).seq)).toEqual([3, 4, 5]);
    expect(err).toMatch(/^No hub answers at .*; this goes on as soon as the hub answers\nthe hub answers again\n$/);
  });
});

describe('atmo audit verify', () => {
  test('is 0 for an intact journal, 1 for another, and against a head', async () => {
    await using fixture = new AuditFixture();
    const { audit, run } = await hubWith(fixture, 3);
    const { seq, hash } = audit.head();
    expect(await run(['verify'])).toMatchObject({ code: 0, out: expect.stringContaining('intact: 7 rows') });
    expect((await run(['verify', '--head', `${seq}:${hash}`])).code).toBe(0);
    const other = await run(['verify', '--head', `${seq}:${'0'.repeat(64)}`]);
    expect(other).toMatchObject({ code: 1, out: expect.stringContaining(`NOT INTACT at row ${seq}`) });
    expect(await run(['verify', '--head', 'latest'])).toMatchObject({ code: 2, err: expect.stringContaining('VALIDATION_ERROR') });
  });
});

describe('atmo audit export', () => {
  test('as JSON lines has every row in order and the head at the end, page by page', async () => {
    await using fixture = new AuditFixture();
    const { audit, run } = await hubWith(fixture, 450);
    const head = audit.head();
    const rows = (await run(['export'])).lines().map((line) => JSON.parse(line));
    expect(rows.slice(0, -1).map(({ seq }) => seq)).toEqual(Array.from({ length: 901 }, (_, index) => index + 1));
    expect(rows.at(-1)).toEqual({ head });
  });

  test('as CSV quotes what has to be and runs no formulas', async () => {
    await using fixture = new AuditFixture();
    const { audit, run } = await hubWith(fixture, 0);
    const note: AuditNote = { ...fixture.note('rules.loaded', { text: 'a "b",\nc' }), principalId: '=HYPERLINK("x")' };
    await audit.record(note);
    const { seq, hash } = audit.head();
    const lines = (await run(['export', '--format', 'csv'])).out.split('\r\n');
    expect(lines[0]).toBe('seq,at,kind,hub,agent,token,chain,tool,request,trace,error,content,hash');
    expect(lines[2]).toContain(`,"'=HYPERLINK(""x"")",,,,,,,"{""data"":{""text"":""a \\""b\\"",\\nc""},""event"":""rules.loaded""}",`);
    expect(lines[3]).toMatch(`# head ${seq}:${hash} of hub-0123456789abcdef`);
  });

  test('goes to a new file that only its user can read, never over another', async () => {
    await using fixture = new AuditFixture();
    const { run } = await hubWith(fixture, 2);
    await withDirectory(async (dir) => {
      const file = join(dir, 'journal.jsonl');
      expect(await run(['export', '--output', file])).toMatchObject({ code: 0, out: '' });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(6);
      expect((await run(['export', '--output', file])).err).toContain('CONFLICT');
      expect(existsSync(file)).toBe(true);
    });
  });

  test('has only rows of the given time', async () => {
    await using fixture = new AuditFixture();
    const { audit, run } = await hubWith(fixture, 2);
    fixture.journal.clock.advance(60_000);
    await audit.record(fixture.note('later'));
    const rows = (await run(['export', '--since', '2026-01-01T00:00:30Z'])).lines().map((line) => JSON.parse(line));
    expect(rows).toMatchObject([{ content: { event: 'later' } }, { head: { seq: 6 } }]);
  });
});

test('atmo audit head prints the text that verify --head takes', async () => {
  await using fixture = new AuditFixture();
  const { audit, run } = await hubWith(fixture, 1);
  const { seq, hash } = audit.head();
  const { out } = await run(['head']);
  expect(out).toMatch(new RegExp(`^${seq}:${hash}  \\S+  \\S+\\n$`));
  expect((await run(['verify', '--head', out])).code).toBe(0);
});

test('atmo audit replay asks for the calls and is 1 when any differs', async () => {
  await using fixture = new AuditFixture();
  const { run, setup } = await hubWith(fixture, 0);
  const asked: unknown[] = [];
  const text = (description: string) => p.string({ description }).optional();
  const replay = defineTool(
    {
      ...{ namespace: 'hub', name: 'replay_audit', title: 'Replay', description: 'Replays calls', category: 'managing' },
      ...{ hasSideEffects: false, permissions: ['admin:audit'] },
      parameters: { request: text('One call'), since: text('From here'), limit: p.integer({ description: 'At most' }).optional() },
    },
    async (params) => {
      asked.push(params);
      const calls = [
        { request: 'r1', tool: 'core:echo@1.0.0', at: '2026-01-01T00:00:00Z', verdict: 'differs', recorded_hash: 'ab'.repeat(32) },
      ];
      if (params.request === 'r2') return { calls: [], differing: 0 };
      return { calls, differing: params.request === undefined ? 1 : 0 };
    },
  );
  setup.registry.register(replay);
  expect(await run(['replay', '--since', '2026-01-01T00:00:00Z', '--limit', '5'])).toMatchObject({ code: 1 });
  const { code, out } = await run(['replay', 'r1']);
  expect([code, out]).toEqual([0, expect.stringMatching(/^REQUEST.*\nr1 .*core:echo@1\.0\.0 +differs +abababababababab\n$/)]);
  expect(asked).toEqual([{ since: '2026-01-01T00:00:00Z', limit: 5 }, { request: 'r1' }]);
  expect(await run(['replay', 'r2'])).toMatchObject({ code: 2, err: expect.stringMatching(/VALIDATION_ERROR.*"r2"/) });
});
