import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkRulesFile } from '../../../src/auth/rules/rule-compiler.ts';
import { RuleStore } from '../../../src/auth/rules/rule-store.ts';
import { ruleTools } from '../../../src/calls/builtin/rule-tools.ts';
import type { HubMachineIo } from '../../../src/cli/cli-io.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { HubProblems } from '../../../src/core/health.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { listAuthorizer, makeTool } from '../../calls/pipeline-fixture.ts';
import { makeDevice, makeHttpApi } from '../../http/http-fixture.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';
import { NO_DEVICE_FACTS } from '../../no-device-facts.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const rulesCheck: HubMachineIo['rulesCheck'] = async (file, known) => checkRulesFile(file, known);
const RULES = `timezone: UTC
rules:
  - { name: not too bright, effect: deny, reason: it is night, when: { agent: helper, value: { name: brightness, above: 30 } } }
  - { name: ask, effect: approve, persons: 2, when: { device: lamb, risk: medium } }
`;

/** A httpApi with the real rules of a real file, and one tool that dims a lamp. */
async function withHub<T>(run: (atmoOf: (...argv: string[]) => ReturnType<typeof atmo>, file: string) => Promise<T>): Promise<T> {
  return withDirectory(async (dir) => {
    const file = join(dir, 'rules.yaml');
    writeFileSync(file, RULES);
    chmodSync(file, 0o600);
    const setup = makeHttpApi();
    const { clock, events, registry, validator } = setup;
    const time = { now: () => clock.now(), isTrusted: () => true };
    const audit = { record: async () => {} };
    await using book = new RuleStore(
      {
        clock,
        time,
        facts: NO_DEVICE_FACTS,
        events,
        audit,
        problems: new HubProblems(),
        store: new MemoryKeyValueStore(clock),
        logger: silentLogger,
      },
      file,
    );
    await book.start();
    setup.directory.devices = [makeDevice('lamp')];
    const device = parseDeviceId('lamp');
    registry.register(
      makeTool({
        name: 'dim',
        permissions: ['device:control:lamp'],
        parameters: { type: 'object', properties: { brightness: { type: 'integer' } }, additionalProperties: false },
        effects: ({ brightness = 0 }) => [
          { permission: 'device:control:lamp', risk: 'low', target: 'lamp/1/LevelControl/MoveToLevel', device, values: { brightness } },
        ],
      }),
    );
    for (const tool of ruleTools({ rules: book, registry, validator, authorizer: listAuthorizer, devices: setup.directory }))
      registry.register(tool);
    return run((...argv) => atmo(argv, { fetch: fetchFrom(setup.httpApi), rulesCheck }), file);
  });
}

describe('atmo rules', () => {
  test('prints the rules with their warnings', () =>
    withHub(async (run) => {
      const { code, out } = await run('rules');
      expect(code).toBe(0);
      expect(out).toMatch(/LINE +RULE +EFFECT +WHEN\n3 +not too bright +deny /);
      expect(out).toContain('approve by 2');
      expect(out).toContain('line 4: the rule "ask" names the device "lamb", which there is not; did you mean lamp?');
      expect(out).toContain('Times are those of UTC');
      expect((await run('rules', '--json')).json()).toMatchObject({ rules: [{ name: 'not too bright' }, { name: 'ask' }] });
    }));
});

describe('atmo rules test', () => {
  test('exits with 0 for an allowed call and 3 for another, and prints the reason', () =>
    withHub(async (run) => {
      const allowed = await run('rules', 'test', 'dim', 'brightness=80');
      expect([allowed.code, allowed.out]).toEqual([0, expect.stringContaining('core:dim@1.0.0 at thu 00:00 is allowed')]);
      const denied = await run('rules', 'test', 'dim', 'brightness=80', '--agent', 'helper', '--at', 'fri 22:30');
      expect(denied.code).toBe(3);
      expect(denied.out).toContain('core:dim@1.0.0 at fri 22:30 is denied by "not too bright" (it is night)');
      expect(denied.out).toContain('Set the level of lamp: deny by "not too bright"');
      expect(denied.out).toContain('brightness becomes 80, which is above 30');
      expect((await run('rules', 'test', 'dim', '--params', '{"brightness": 20}', '--agent', 'helper')).code).toBe(0);
      expect((await run('rules', 'test', 'dim', 'brightness=80', '--agent', 'helper', '--json')).json()).toMatchObject({
        verdict: { kind: 'deny' },
        effects: [{ line: 3 }],
      });
    }));

  test('mistakes exit with 2', () =>
    withHub(async (run) => {
      expect((await run('rules', 'test', 'dim', 'brightness=80', '--at', 'noon')).code).toBe(2);
      expect((await run('rules', 'test', 'nothing')).code).toBe(2);
      expect((await run('rules', 'test', 'dim', 'brightness=80', '--params', '{}')).code).toBe(2);
    }));

  test('without a hub it exits with 5', async () => {
    expect((await atmo(['rules', 'test', 'dim'])).code).toBe(5);
  });
});

describe('atmo rules check', () => {
  test('prints the warnings about a file of the hub', () =>
    withHub(async (run, file) => {
      const { code, out, err } = await run('rules', 'check', file);
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain('did you mean lamp?');
      expect(out).toContain('2 rules, fine');
    }));

  test('needs no hub, and then prints what it did not check', () =>
    withDirectory(async (dir) => {
      writeFileSync(join(dir, 'rules.yaml'), RULES);
      const io = { rulesCheck, env: { ATMO_STATE_DIR: dir } };
      const usual = await atmo(['rules', 'check'], io);
      expect([usual.code, usual.out]).toEqual([0, expect.stringContaining('2 rules, fine')]);
      expect(usual.err).toContain('No hub answered');
      writeFileSync(join(dir, 'other.yaml'), 'rules:\n  - { name: a, effect: forbid }\n');
      const wrong = await atmo(['rules', 'check', join(dir, 'other.yaml')], io);
      expect([wrong.code, wrong.out]).toEqual([
        2,
        expect.stringContaining('other.yaml, line 2: rules.0.effect must be one of allow, deny, approve'),
      ]);
      const json = await atmo(['rules', 'check', join(dir, 'other.yaml'), '--json'], io);
      expect(json.json()).toMatchObject({ ok: false, problem: expect.stringContaining('line 2') });
    }));

  test('names the paths without a rules file, and a missing file', () =>
    withDirectory(async (dir) => {
      const io = { rulesCheck, env: { ATMO_STATE_DIR: dir } };
      expect(await atmo(['rules', 'check'], io)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`${dir}/rules.yaml; name the file`),
      });
      expect((await atmo(['rules', 'check', join(dir, 'none.yaml')], io)).code).toBe(2);
    }));
});
