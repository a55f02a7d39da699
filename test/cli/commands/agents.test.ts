import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { makeHttpApi } from '../../http/http-fixture.ts';
import { atmo, fetchFrom, withDirectory } from '../cli-fixture.ts';

const AUTO = {
  agent_id: 'hall-light',
  agent_type: 'automation',
  name: 'Hall light',
  status: 'active',
  parameters: { dark: 50, note: '22' },
  expires_at: '2026-01-02T00:00:00.000Z',
  runs: 3,
  last_error: { code: 'DEVICE_UNREACHABLE', message: 'no answer' },
};
const SPAWNED = { agent_id: 'hall-light', status: 'active', token: 'at1.abc', expires_at: AUTO.expires_at };
const CONFIG = { trigger: { type: 'time', at: '07:30' }, actions: [{ tool: 'matter:lamp_turn_on' }] };
const YAML = "trigger: { type: time, at: '07:30' }\nactions:\n  - tool: matter:lamp_turn_on\n";

/** A hub whose agent tools tell what they were asked. */
type Answer = JsonObject | (() => JsonObject);

function makeHub(listed: readonly JsonObject[] = [AUTO], others: Record<string, Answer> = {}) {
  const setup = makeHttpApi();
  const asked: [string, JsonObject][] = [];
  const answers: Record<string, Answer> = {
    list_agents: { agents: listed },
    spawn_agent: SPAWNED,
    kill_agent: { success: true },
    dismiss_agent: { success: true },
    adjust_threshold: { success: true, old_value: 50 },
    set_agent_enabled: { changed: true },
    renew_agent: { expires_at: AUTO.expires_at, renews_itself: true },
    ...others,
  };
  for (const [name, answer] of Object.entries(answers)) {
    const handler = async (params: JsonObject) => {
      asked.push([name, params]);
      return typeof answer === 'function' ? answer() : answer;
    };
    const namespace = name === 'check_automation' ? 'hub' : 'core';
    setup.addTool({ name, namespace, parameters: { type: 'object' }, handler });
  }
  const run = (line: string, io = {}) => atmo(line.split(' '), { fetch: fetchFrom(setup.httpApi), ...io });
  return { asked, run };
}

const WHY = {
  summary: 'It did not run at 18:02 because Kitchen sensor showed 61 lx and it needs less than 50 lx.',
  traces: [{ summary: 'It ran at 17:00.' }],
};

describe('atmo agent', () => {
  test('why says why an automation did not run, and with --all what happened around it', async () => {
    const { asked, run } = makeHub([AUTO], { explain_automation: WHY });
    expect((await run('agent why hall-light --at 18:02')).out).toBe(`${WHY.summary}\n`);
    expect(asked).toEqual([['explain_automation', { agent_id: 'hall-light', at: '18:02' }]]);
    expect((await run('agent why hall-light --all')).out).toBe(`${WHY.summary}\n  It ran at 17:00.\n`);
  });

  test('why ends with the line that undoes a run, once the run has ended', async () => {
    const ran = { ...WHY, outcome: 'ran', cause: 'done', trace_id: 'ab12', summary: 'It ran at 18:02.' };
    const why = async (answer: JsonObject) => (await makeHub([AUTO], { explain_automation: answer }).run('agent why hall-light')).out;
    expect(await why(ran)).toBe('It ran at 18:02.\nTo undo this run: sudo atmo undo ab12\n');
    expect(await why({ ...ran, cause: 'waits_for_answer' })).toBe('It ran at 18:02.\n');
  });

  test('spawn takes what the automation does from a JSON or YAML file, or from stdin', async () => {
    await withDirectory(async (dir) => {
      const { asked, run } = makeHub();
      writeFileSync(join(dir, 'a.json'), JSON.stringify(CONFIG));
      writeFileSync(join(dir, 'a.yaml'), YAML);
      for (const file of ['a.json', 'a.yaml']) {
        const { code, out } = await run(`agent spawn hall --config ${join(dir, file)} --allow device:control:lamp --allow sensor:read:x`);
        expect([code, out]).toEqual([0, 'agent hall-light is active until 2026-01-02T00:00:00.000Z\n']);
      }
      await run('agent spawn hall --config - --allow device:control:lamp sensor:read:x --ttl 30d', { stdin: YAML });
      const permissions = ['device:control:lamp', 'sensor:read:x'];
      const params = { agent_type: 'automation', name: 'hall', permissions, config: CONFIG };
      expect(asked.map(([, asking]) => asking)).toEqual([params, params, { ...params, ttl_seconds: 2_592_000 }]);
    });
  });

  test('check says what was found in a draft and what to do, and spawn says it of the automation that it made', async () => {
    const conflict = { severity: 'warning', sentence: '"draft" never runs', fix: 'Change the condition' };
    const told = 'warning: "draft" never runs\n  Change the condition\n';
    const { asked, run } = makeHub([AUTO], {
      check_automation: { conflicts: [conflict] },
      spawn_agent: { ...SPAWNED, conflicts: [conflict] },
    });
    expect((await run('agent check - --allow device:control:lamp --name hall', { stdin: YAML })).out).toBe(told);
    expect(asked).toEqual([['check_automation', { config: CONFIG, permissions: ['device:control:lamp'], name: 'hall' }]]);
    expect((await run('agent spawn hall --config - --allow device:control:lamp', { stdin: YAML })).out).toContain(told);
    const { run: again } = makeHub([AUTO], { check_automation: { conflicts: [] } });
    expect((await again('agent check - --allow device:control:lamp', { stdin: YAML })).out).toBe('nothing found\n');
  });

  test('replay says when an automation or a draft would have run, and what is not known', async () => {
    const { asked, run } = makeHub([AUTO], {
      replay_automation: {
        runs: 2,
        nights: 1,
        since: '2026-01-01T00:00:00.000Z',
        incomplete: [{ kind: 'no_readings', id: 'hall/temperature', text: 'No reading of Hall temperature was kept' }],
        list: [{ at: '2026-01-02T01:30:00.000Z', trigger: { type: 'time', at: '01:30' }, would: ['Turn on Lamp', 'Turn off Plug'] }],
      },
    });
    expect((await run('agent replay hall-light --days 7')).out).toBe(
      [
        'since 2026-01-01T00:00:00.000Z it would have run 2 times, 1 of them between 1 and 5 at night',
        'not known: No reading of Hall temperature was kept',
        '2026-01-02T01:30:00.000Z  time 01:30  Turn on Lamp; Turn off Plug\n',
      ].join('\n'),
    );
    await run('agent replay - --allow device:control:lamp sensor:read:x', { stdin: YAML });
    expect(asked.map(([, params]) => params)).toEqual([
      { agent_id: 'hall-light', days: 7 },
      { config: CONFIG, permissions: ['device:control:lamp', 'sensor:read:x'] },
    ]);
  });

  test.each([
    [true, 'hall-light is enabled now\n'],
    [false, 'hall-light was enabled already\n'],
  ])('enable says what became of it: changed %s', async (changed, told) => {
    const { run } = makeHub([AUTO], { set_agent_enabled: { changed } });
    expect((await run('agent enable hall-light')).out).toBe(told);
  });

  test('spawn --external prints the token alone, so that $(atmo agent spawn …) works', async () => {
    const { asked, run } = makeHub();
    const { out, err } = await run('agent spawn bob --external --allow device:control:lamp');
    expect(out).toBe('at1.abc\n');
    expect(err).toContain('until 2026-01-02');
    expect(asked[0]?.[1]).toEqual({ agent_type: 'external', name: 'bob', permissions: ['device:control:lamp'] });
  });

  test('spawn says what is missing or cannot be read, before the hub is asked', async () => {
    const { asked, run } = makeHub();
    for (const [line, message] of [
      ['agent spawn hall --allow a:b', '--config is missing'],
      ['agent spawn hall --config -', '--allow is missing'],
      ['agent spawn hall --config /no/such --allow a:b', 'There is no file /no/such'],
      ['agent spawn hall --config - --allow a:b --ttl soon', '--ttl'],
    ] as const) {
      const { code, err } = await run(line, { stdin: YAML });
      expect([code, err]).toEqual([2, expect.stringContaining(message)]);
    }
    const { code, err } = await run('agent spawn hall --config - --allow a:b', { stdin: 'trigger: [\n' });
    expect([code, err]).toEqual([2, expect.stringMatching(/line \d/)]);
    expect(asked).toEqual([]);
  });

  test('set sends the value in the type that the parameter has', async () => {
    const { asked, run } = makeHub();
    for (const words of ['dark 42.5', 'note 22', 'unknown true', 'unknown warm']) await run(`agent set hall-light ${words}`);
    const values = asked.filter(([tool]) => tool === 'adjust_threshold').map(([, { param, value }]) => [param, value]);
    expect(values).toEqual([
      ['dark', 42.5],
      ['note', '22'],
      ['unknown', true],
      ['unknown', 'warm'],
    ]);
  });

  test('kill and dismiss name the agent and the reason', async () => {
    const { asked, run } = makeHub();
    expect((await run('agent kill hall-light --reason over')).code).toBe(0);
    await run('agent dismiss helper');
    expect(asked).toEqual([
      ['kill_agent', { agent_id: 'hall-light', reason: 'over' }],
      ['dismiss_agent', { child: 'helper' }],
    ]);
  });

  test('disable, enable and renew say what holds from now on', async () => {
    const { asked, run } = makeHub();
    expect((await run('agent disable hall-light')).out).toBe('hall-light is disabled now\n');
    expect((await run('agent enable hall-light')).out).toBe('hall-light is enabled now\n');
    expect((await run('agent renew hall-light --ttl 30d')).out).toBe('hall-light lives without an end\n');
    expect(asked).toEqual([
      ['set_agent_enabled', { agent_id: 'hall-light', enabled: false }],
      ['set_agent_enabled', { agent_id: 'hall-light', enabled: true }],
      ['renew_agent', { agent_id: 'hall-light', ttl_seconds: 2_592_000 }],
    ]);
  });

  test('edit, versions, rollback and show speak of the versions of an automation', async () => {
    const edited = { version: 2, is_changed: true, hash: 'ab', conflicts: [] };
    const versions = [
      {
        version: 2,
        at: AUTO.expires_at,
        by: 'owner',
        note: 'warmer',
        is_current: true,
        diff: [{ path: '/config/trigger/at', before: 1, after: 2 }],
      },
      { version: 1, at: AUTO.expires_at, by: 'owner', is_current: false, diff: [] },
    ];
    const { asked, run } = makeHub([AUTO], {
      edit_automation: edited,
      roll_back_automation: { ...edited, is_changed: false },
      list_automation_versions: { versions },
      show_automation: { version: 2, hash: 'ab', config: CONFIG, permissions: ['a:b'] },
    });
    expect((await run('agent edit hall-light --config - --note warmer', { stdin: YAML })).out).toBe('hall-light has version 2 now\n');
    expect((await run('agent rollback hall-light 1')).out).toContain('did this before, in version 2: nothing changed');
    expect((await run('agent versions hall-light')).out).toMatch(/2 \(now\).*owner.*warmer.*\/config\/trigger\/at/);
    expect(JSON.parse((await run('agent show hall-light --version 2')).out)).toEqual(CONFIG);
    expect(asked).toEqual([
      ['edit_automation', { agent_id: 'hall-light', config: CONFIG, note: 'warmer' }],
      ['roll_back_automation', { agent_id: 'hall-light', version: 1 }],
      ['list_automation_versions', { agent_id: 'hall-light' }],
      ['show_automation', { agent_id: 'hall-light', version: 2 }],
    ]);
    for (const line of ['agent rollback hall-light newest', 'agent edit hall-light']) expect((await run(line)).code).toBe(2);
  });

  test('proposals shows what each does apart from what its agent says, and accept sends the hash that was shown', async () => {
    const hash = 'ab'.repeat(32);
    const proposal = {
      proposal_id: '3f2a',
      name: 'Cool evening',
      sentence: 'Trust me',
      by: 'assistant',
      state: 'open',
      hash,
      words: ['When Hall rises above 25', 'Turn on Fan by matter:fan_on'],
      permissions: ['device:control:fan'],
      named: [{ kind: 'device', id: 'fan', name: 'Tower fan' }],
      beyond: ['admin:rules'],
      conflicts: [{ severity: 'warning', sentence: 'Two fight', fix: 'End one' }],
    };
    const { asked, run } = makeHub([AUTO], {
      propose_automation: { proposal_id: '3f2a', hash, ends_at: AUTO.expires_at, conflicts: [] },
      list_automation_proposals: { proposals: [proposal] },
      accept_automation: { agent_id: 'cool-evening', version: 1 },
      decline_automation: { success: true },
    });
    expect((await run('agent propose Cool --config - --allow a:b --sentence fine --replaces auto', { stdin: YAML })).out).toContain(
      '3f2a waits',
    );
    const { out } = await run('agent proposals');
    expect(out).toContain(
      'assistant says: "Trust me"\n  When Hall rises above 25\n  Turn on Fan by matter:fan_on\n  may: device:control:fan ("Tower fan")\n',
    );
    expect(out).toContain('you cannot accept it, since you lack admin:rules');
    expect(out).toContain(`\n  accept: sudo atmo agent accept 3f2a ${hash}\n`);
    expect((await run(`agent accept 3f2a ${hash}`)).out).toBe('cool-evening does this now, in version 1\n');
    expect((await run('agent decline 3f2a --reason warm')).out).toBe('proposal 3f2a was declined\n');
    expect(asked).toEqual([
      ['propose_automation', { name: 'Cool', config: CONFIG, permissions: ['a:b'], sentence: 'fine', replaces: 'auto' }],
      ['list_automation_proposals', {}],
      ['accept_automation', { proposal_id: '3f2a', hash }],
      ['decline_automation', { proposal_id: '3f2a', reason: 'warm' }],
    ]);
  });

  test('proposals --past says what those that wait would have done, or why that is not known', async () => {
    const common = { name: 'Cool', by: 'assistant', hash: 'ab', words: [], permissions: ['device:control:fan'], beyond: [], conflicts: [] };
    const proposal = { ...common, proposal_id: '3f2a', state: 'open', config: CONFIG };
    const listed = { list_automation_proposals: { proposals: [proposal, { ...proposal, proposal_id: '4b', state: 'declined' }] } };
    const list = Array.from({ length: 9 }, (_, index) => ({ at: `at-${index}`, trigger: { type: 'time' }, would: ['Turn on Fan'] }));
    const { asked, run } = makeHub([AUTO], { ...listed, replay_automation: { runs: 9, nights: 0, since: 'then', incomplete: [], list } });
    const { out } = await run('agent proposals --past');
    expect(out).toContain(
      '\n  past month: since then it would have run 9 times, 0 of them between 1 and 5 at night\n    at-0  time  Turn on Fan\n',
    );
    expect(out).not.toContain('at-6');
    expect(asked).toEqual([
      ['list_automation_proposals', {}],
      ['replay_automation', { config: CONFIG, permissions: ['device:control:fan'] }],
    ]);
    expect((await run('agent proposals')).out).not.toContain('past month');
    const without = makeHub([AUTO], listed);
    expect((await without.run('agent proposals --past')).out).toMatch(/past month: not known: [A-Z_]+: /);
  });

  test('proposals --past waits as long as the hub says before the next replay, and not forever', async () => {
    const proposal = { name: 'Cool', by: 'assistant', hash: 'ab', proposal_id: '3f2a', state: 'open', config: CONFIG };
    const outOf = async (refusals: number) => {
      let left = refusals;
      const busy = (): JsonObject => {
        if (left-- > 0) throw new AtmoError('RATE_LIMITED', 'The next call is possible later', { retry_after_ms: 10_000 });
        return { runs: 9, nights: 0, since: 'then', incomplete: [], list: [] };
      };
      const slept: number[] = [];
      const sleep = async (ms: number) => void slept.push(ms);
      const { run } = makeHub([AUTO], { list_automation_proposals: { proposals: [proposal] }, replay_automation: busy });
      return { out: (await run('agent proposals --past', { sleep })).out, slept };
    };
    expect(await outOf(2)).toEqual({ out: expect.stringContaining('it would have run 9 times'), slept: [10_000, 10_000] });
    expect((await outOf(99)).out).toContain('past month: not known: RATE_LIMITED');
  });

  test('list shows each with its state, parameters and last error', async () => {
    const { run } = makeHub();
    expect((await run('agents')).out).toMatch(/hall-light +automation +active +3 .*dark=50, note=22.*DEVICE_UNREACHABLE: no answer/);
    expect((await run('agents --json')).json()).toEqual({ agents: [AUTO] });
    const other = makeHub([{ ...AUTO, agent_type: 'external', kind: 'researcher' }]);
    expect((await other.run('agents')).out).toMatch(/hall-light +external \(researcher\) +active/);
  });
});
