import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { BubblewrapSandbox } from '../../../src/connectors/sandbox/bubblewrap-sandbox.ts';
import { GrantedPowers } from '../../../src/connectors/sandbox/granted-powers.ts';
import { SafetyRules } from '../../../src/connectors/sandbox/safety-rules.ts';
import { makeApprovals } from '../../auth/approvals/approval-fixture.ts';
import { makeRegistrar, maker, record } from '../../calls/registration/registrar-fixture.ts';
import { sandboxSettings } from './sandbox-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
const place = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true }));

/** Stands for bwrap: it runs what it is given, without namespaces and without limits. */
writeFileSync(
  place('bwrap'),
  '#!/bin/sh\nwhile [ "$1" != /usr/bin/prlimit ]; do shift; done\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n',
);
chmodSync(place('bwrap'), 0o755);
mkdirSync(place('out'));
mkdirSync(place('state'));

const AGENT = maker('proc:exec', 'proc:power:out');
const exec = (cmd: string, ...args: readonly string[]) => ({ exec: { type: 'cmd', cmd, args: [...args], powers: ['out'] } });

function makeSandbox() {
  const powers = new GrantedPowers(
    { out: { network: false, read: [], write: [place('out')], env: {} } },
    { stateDir: place('state'), env: {} },
  );
  const settings = { ...sandboxSettings(), bubblewrap: place('bwrap'), maxConcurrent: 1 };
  return new BubblewrapSandbox({ powers, rules: new SafetyRules([]), env: {} }, settings);
}

describe('a program that people approved', () => {
  test('does not start when its script was changed while it waited for its turn', async () => {
    const approvals = await makeApprovals();
    const ann = await approvals.enrol('ann');
    const { registrar, call, events, pipeline } = makeRegistrar({ approvals: approvals.queue, programs: makeSandbox() });
    const [script, proof, fifo] = ['out/night.sh', 'out/proof', 'fifo'].map(place) as [string, string, string];
    writeFileSync(script, `echo approved > ${proof}`);
    execFileSync('/usr/bin/mkfifo', [fifo]);
    registrar.register(record('hold', [], exec('/usr/bin/cat', fifo)), AGENT);
    registrar.register(record('night', [], exec('/usr/bin/sh', script)), AGENT);
    const agree = async (tool: string) => {
      const asked = await call(tool, {}, AGENT);
      if (asked.status !== 'error') throw new Error(`${tool} was not asked about`);
      await approvals.say(approvals.viewOf(String(asked.error.details.approval_id)), ann);
    };
    for (const tool of ['hold', 'night']) await agree(tool);
    const begun = (tool: string) =>
      new Promise<void>((resolve) => {
        events.listen(({ type, subject }) => type === 'agi.tool.invoked' && subject.startsWith(`agent:${tool}@`) && resolve());
      });
    const [holdBegins, nightBegins] = [begun('hold'), begun('night')];
    const hold = call('hold', {}, AGENT);
    await holdBegins;
    const night = call('night', {}, AGENT);
    await nightBegins;
    writeFileSync(script, `echo other > ${proof}`);
    await writeFile(fifo, '');
    expect(await hold).toMatchObject({ status: 'success' });
    expect(await night).toMatchObject({
      error: { code: 'CONFLICT', message: expect.stringContaining('has changed since people approved') },
    });
    expect(existsSync(proof)).toBe(false);
    await agree('night');
    expect(await call('night', {}, AGENT)).toMatchObject({ status: 'success' });
    expect(existsSync(proof)).toBe(true);
    expect(await pipeline.drain(1_000)).toBe(true);
  });

  test('needs a new approval when a file changed that a secret argument names, which the request does not show', async () => {
    const approvals = await makeApprovals();
    const { registrar, call } = makeRegistrar({ approvals: approvals.queue, programs: makeSandbox() });
    const file = place('out/diary');
    const input = { type: 'object', properties: { path: { type: 'string', 'x-secret': true } } };
    registrar.register(record('read', [], { ...exec('/usr/bin/cat', '{path}'), input_schema: input }), AGENT);
    const ask = async () => {
      const asked = await call('read', { path: file }, AGENT);
      return asked.status === 'error' ? approvals.viewOf(String(asked.error.details.approval_id)) : undefined;
    };
    writeFileSync(file, 'first');
    const first = await ask();
    expect((await ask())?.approval_id).toBe(first?.approval_id);
    writeFileSync(file, 'second');
    const second = await ask();
    expect(second?.approval_id).not.toBe(first?.approval_id);
    expect(JSON.stringify([first, second])).not.toContain('diary');
  });
});
