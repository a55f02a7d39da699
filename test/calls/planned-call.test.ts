import { describe, expect, test } from 'vitest';
import { sequenceTool } from '../../src/calls/composition/steps.ts';
import { canonicalJson } from '../../src/codec/canonical-json.ts';
import { sha256Hex } from '../../src/codec/hashes.ts';
import type { ApprovalWaits } from '../../src/core/auth/approvals.ts';
import type { CallToJudge } from '../../src/core/auth/principal.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { SECRET_MASK } from '../../src/tools/schema/secrets.ts';
import { makeApprovals, type Person } from '../auth/approvals/approval-fixture.ts';
import { programsFake } from '../tools/programs/program-sandbox-fake.ts';
import { codeOf, makeTool, owner } from './pipeline-fixture.ts';
import { makeRegistrar, maker, ON_DEVICE, record } from './registration/registrar-fixture.ts';

const AGENT = maker('device:control:*', 'sensor:read:*', 'proc:exec', 'proc:power:out', 'proc:power:media', 'sequence:run');
const night = (args: readonly string[], powers = ['out']) =>
  record('night', [], { exec: { type: 'cmd', cmd: 'backup', args: [...args], powers } });
const approveComposed = {
  judge: ({ toolId }: CallToJudge) =>
    /:(evening|sequence)@/.test(toolId) ? ({ kind: 'approve', rule: 'ask me', persons: 1 } as const) : ({ kind: 'allow' } as const),
};

const HOUR_MS = 3_600_000;
const LONG_WAITS: ApprovalWaits = { devices: HOUR_MS, programs: HOUR_MS, administration: HOUR_MS, other: HOUR_MS };
const HEAT = { permission: 'device:control:oven', risk: 'dangerous', target: 'oven/1/OvenCavityOperationalState/Start' } as const;

/** A registrar behind real approvals, and a person who agrees. */
async function makeHome(waits?: ApprovalWaits) {
  const approvals = await makeApprovals(undefined, undefined, undefined, waits);
  const programs = programsFake({ stdout: '{}' });
  const setup = makeRegistrar({ approvals: approvals.queue, programs, rules: approveComposed });
  const ann = await approvals.enrol('ann');
  const waiting = async (tool: string, params: JsonObject = {}) => {
    const answer = await setup.call(tool, params, AGENT);
    if (answer.status !== 'error' || answer.error.code !== 'APPROVAL_REQUIRED') throw new Error(JSON.stringify(answer));
    return approvals.viewOf(String(answer.error.details.approval_id));
  };
  const agree = async (tool: string, params: JsonObject = {}, person: Person = ann) => approvals.say(await waiting(tool, params), person);
  const replace = (body: JsonObject) => {
    setup.registrar.remove(String(body.id), AGENT);
    setup.registrar.register(body, AGENT);
  };
  return { ...setup, programs, approvals, waiting, agree, replace };
}

describe('an approval', () => {
  test('holds no secret of a step whose tool nobody has now, and no hash by which it could be guessed', async () => {
    const { waiting, registry, pipeline } = await makeHome();
    registry.register(sequenceTool(() => pipeline));
    const steps = (pin: string) => ({ steps: [{ tool: 'matter:door_unlok', params: { pin_code: pin, device_id: 'hall' } }] });
    const [step] = (await waiting('sequence', steps('471147'))).runs?.steps ?? [];
    expect(step?.params).toEqual({ pin_code: SECRET_MASK, device_id: 'hall' });
    expect(step?.arguments).not.toBe(sha256Hex(canonicalJson({ pin_code: '471147', device_id: 'hall' })));
    const [other] = (await waiting('sequence', steps('471148'))).runs?.steps ?? [];
    expect(other?.arguments).not.toBe(step?.arguments);
  });

  test('of a program is not one of another program that an agent puts in its place', async () => {
    const { registrar, programs, agree, replace, waiting, call } = await makeHome();
    registrar.register(night(['photos']), AGENT);
    await agree('night');
    replace(night(['everything']));
    expect((await waiting('night')).runs?.program?.args).toEqual(['everything']);
    expect(programs.orders).toEqual([]);
    replace(night(['photos']));
    expect(codeOf(await call('night', {}, AGENT))).toBe('success');
    expect(programs.orders).toMatchObject([{ args: ['photos'] }]);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ['its powers', night(['photos']), night(['photos'], ['out', 'media'])],
    ['its title', { ...night(['photos']), name: 'Night' }, { ...night(['photos']), name: 'Day' }],
    ['what it says of itself', night(['photos']), { ...night(['photos']), description: 'Does another thing.' }],
  ])('of a tool asks anew when %s changed', async (_what, before, after) => {
    const { registrar, agree, replace, waiting } = await makeHome();
    registrar.register(before, AGENT);
    const { approval_id: first } = await agree('night');
    replace(after);
    expect((await waiting('night')).approval_id).not.toBe(first);
  });

  test('of a tool with steps is one of these steps, and of the tools behind their names', async () => {
    const { registrar, agree, replace, waiting, call } = await makeHome();
    const evening = (level: number) => record('evening', [{ tool: 'agent:dimmer' }, { tool: 'dim', params: { device_id: 'hall', level } }]);
    const dimmer = (level: number) => record('dimmer', [{ tool: 'dim', params: { device_id: 'kitchen', level } }]);
    registrar.register(dimmer(5), AGENT);
    registrar.register(evening(5), AGENT);
    const { approval_id: first } = await agree('evening');
    replace(evening(100));
    expect((await waiting('evening')).approval_id).not.toBe(first);
    replace(evening(5));
    replace(dimmer(100));
    expect((await waiting('evening')).approval_id).not.toBe(first);
    replace(dimmer(5));
    expect(codeOf(await call('evening', {}, AGENT))).toBe('success');
  });

  test('of a sequence is one of the tools that its steps name', async () => {
    const { registrar, registry, agree, replace, waiting } = await makeHome();
    registry.register(
      sequenceTool(() => {
        throw new Error('no step runs');
      }),
    );
    registrar.register(night(['photos'], ['media']), AGENT);
    const steps = { steps: [{ tool: 'night' }] };
    const { approval_id: first } = await agree('sequence', steps);
    replace(night(['everything'], ['media']));
    const second = await waiting('sequence', steps);
    expect(second.approval_id).not.toBe(first);
    expect(second.runs?.steps).toMatchObject([{ tool: 'agent:night@1.0.0', program: { program: 'backup', args: ['everything'] } }]);
  });

  test('covers no step that somebody replaces while an earlier one runs', async () => {
    const { registrar, registry, agree, replace, call, programs } = await makeHome();
    registrar.register(night(['photos'], ['media']), AGENT);
    const swap = makeTool({
      name: 'slow',
      permissions: ['device:control:door'],
      execution: { side_effects: true },
      handler: async () => {
        replace(night(['everything'], ['media']));
        return {};
      },
    });
    registry.register(swap);
    registrar.register(record('evening', [{ tool: 'slow' }, { tool: 'agent:night' }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({
      error: { message: expect.stringContaining('not the step that people approved') },
    });
    expect(programs.orders).toEqual([]);
  });

  test('covers no step of a step either, also where results of earlier steps fill its arguments', async () => {
    const { registrar, registry, agree, replace, call, programs } = await makeHome();
    registrar.register(night(['photos'], ['media']), AGENT);
    const input = { type: 'object', properties: { note: { type: 'string' } } };
    registrar.register(record('wrap', [{ tool: 'agent:night' }], { input_schema: input }), AGENT);
    let next = ['photos'];
    registry.register(
      makeTool({
        name: 'slow',
        permissions: ['device:control:door'],
        execution: { side_effects: true },
        handler: async () => {
          replace(night(next, ['media']));
          return { note: 'done' };
        },
      }),
    );
    const steps = [{ tool: 'slow' }, { tool: 'agent:wrap', params: { note: { $result: '0/note' } } }];
    registrar.register(record('evening', steps), AGENT);
    await agree('evening');
    expect(codeOf(await call('evening', {}, AGENT))).toBe('success');
    expect(programs.orders).toHaveLength(1);
    await agree('evening');
    next = ['everything'];
    expect(await call('evening', {}, AGENT)).toMatchObject({
      error: { message: expect.stringContaining('not the step that people approved') },
    });
    expect(programs.orders).toHaveLength(1);
  });

  test('of long arguments is one of all that stands in them, also behind what people are shown', async () => {
    const { registrar, agree, replace, waiting } = await makeHome();
    const long = (end: string) => `${'# a comment\n'.repeat(8_000)}${end}`;
    const evening = (end: string) => record('evening', [{ tool: 'agent:night', params: { stdin: long(end) } }]);
    const input = { type: 'object', properties: { stdin: { type: 'string' } } };
    registrar.register(
      record('night', [], { exec: { type: 'cmd', cmd: 'python3', args: ['-'], powers: ['media'] }, input_schema: input }),
      AGENT,
    );
    registrar.register(evening('print(1)'), AGENT);
    const first = await agree('evening');
    replace(evening('print(2)'));
    const second = await waiting('evening');
    expect(second.runs?.steps?.map(({ params }) => params)).toEqual(first.runs?.steps?.map(({ params }) => params));
    expect(second.approval_id).not.toBe(first.approval_id);
  });

  test.each<[string, JsonObject, JsonObject]>([
    [
      'the parameter that its program reads',
      { exec: { type: 'cmd', cmd: 'sh', stdin: 'first' } },
      { exec: { type: 'cmd', cmd: 'sh', stdin: 'second' } },
    ],
    ['what it answers of its steps', { result: { $result: '0/temperature' } }, { result: { $result: '0' } }],
  ])('asks anew when %s changed', async (_what, before, after) => {
    const { registrar, agree, replace, waiting } = await makeHome();
    const text = { type: 'string' };
    const evening = (extra: JsonObject) =>
      record('evening', 'exec' in extra ? [] : [{ tool: 'temperature' }], {
        input_schema: { type: 'object', properties: { first: text, second: text } },
        ...extra,
      });
    registrar.register(evening(before), AGENT);
    const params = { first: 'echo one', second: 'echo two' };
    const { approval_id: first } = await agree('evening', params);
    replace(evening(after));
    expect((await waiting('evening', params)).approval_id).not.toBe(first);
  });

  test('covers a step with its arguments alone, in the form that its tool gives them, and once', async () => {
    const { registry, registrar, agree, call, pipeline, ran } = await makeHome();
    const hall = { device_id: 'Hall Lamp', level: 5 };
    const probe = makeTool({
      name: 'slow',
      permissions: ['device:control:door'],
      execution: { side_effects: true },
      handler: async (_, within) => {
        const dim = async (params: JsonObject) => codeOf(await pipeline.call({ principal: AGENT, tool: 'dim', params, within }));
        return [await dim({ ...hall, level: 100 }), await dim(hall), await dim(hall)];
      },
    });
    registry.register({ ...probe, innerCalls: () => [{ tool: 'dim', params: hall }] });
    registrar.register(record('evening', [{ tool: 'slow' }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ result: ['CONFLICT', 'success', 'CONFLICT'] });
    expect(ran).toMatchObject([{ tool: 'dim', params: { device_id: 'hall-lamp', level: 5 } }]);
  });

  test('that is not for a step costs that step no second plan when people are asked about it', async () => {
    const { registrar, registry, agree, call } = await makeHome();
    let plans = 0;
    const handler = async () => {
      plans = 0;
      return { place: 'hall' };
    };
    registry.register(makeTool({ name: 'where', permissions: ['sensor:read:hall/place'], handler }));
    const requires = { permissions: ['device:control:gate'], multi_party: 1 };
    const gate = makeTool({ name: 'gate', requires, parameters: { type: 'object', properties: { note: { type: 'string' } } } });
    const innerCalls = () => {
      plans += 1;
      return [];
    };
    registry.register({ ...gate, innerCalls });
    registrar.register(record('look', [{ tool: 'where' }, { tool: 'gate', params: { note: { $result: '0/place' } } }]), AGENT);
    registrar.register(record('evening', [{ tool: 'agent:look' }]), AGENT);
    await agree('evening');
    expect(codeOf(await call('evening', {}, AGENT))).toBe('APPROVAL_REQUIRED');
    const asStep = plans;
    plans = 0;
    expect(codeOf(await call('gate', { note: 'hall' }, AGENT))).toBe('APPROVAL_REQUIRED');
    expect(asStep).toBe(plans);
  });

  test('shows the program with its arguments and what its powers allow, and no secret of the call', async () => {
    const { registrar, approvals, waiting } = await makeHome();
    const input = { type: 'object', properties: { to: { type: 'string' }, key: { type: 'string', 'x-secret': true } } };
    const exec = { type: 'cmd', cmd: 'send', args: ['--key={key}', '{to}'], powers: ['out'] };
    registrar.register(record('night', [], { exec, input_schema: input }), AGENT);
    const view = await waiting('night', { to: 'my friend', key: 'hunter2-secret' });
    expect(view.runs?.program).toMatchObject({ kind: 'cmd', program: 'send', args: ['--key=[secret]', 'my friend'] });
    expect(JSON.stringify([view, approvals.notes])).not.toContain('hunter2');
    const other = await waiting('night', { to: 'my friend', key: 'another-secret' });
    expect(other.approval_id).not.toBe(view.approval_id);
  });

  test('is for a dangerous step too, which people saw with its arguments, and says so in the journal', async () => {
    const { registrar, agree, call, waiting, ran, audited } = await makeHome();
    registrar.register(record('wrap', [{ tool: 'unlock' }]), AGENT);
    registrar.register(record('evening', [{ tool: 'dim', params: { device_id: 'hall', level: 5 } }, { tool: 'agent:wrap' }]), AGENT);
    const { approval_id: id } = await agree('evening');
    expect(codeOf(await call('evening', {}, AGENT))).toBe('success');
    expect(ran.map(({ tool }) => tool)).toEqual(['dim', 'unlock']);
    const intents = audited.filter((entry) => entry.kind === 'intent' && entry.toolId.includes(':unlock@'));
    expect(intents).toMatchObject([{ decision: { approvalId: id, approvedBy: ['ann'] } }]);
    // Neither another call of the step nor another call of the tool can use it.
    expect(codeOf(await call('unlock', {}, AGENT))).toBe('APPROVAL_REQUIRED');
    expect((await waiting('evening')).approval_id).not.toBe(id);
  });

  test('is for no dangerous step with arguments that nobody saw, and for none that needs more persons', async () => {
    const { registrar, registry, add, agree, call, ran } = await makeHome();
    add('where', { permissions: ['sensor:read:hall/place'] }, { place: 'hall' });
    add('door', { parameters: ON_DEVICE, permissions: ['device:control:{device_id}'], dangerous: true });
    registry.register(makeTool({ name: 'gate', requires: { permissions: ['device:control:gate'], multi_party: 2 } }));
    registrar.register(record('look', [{ tool: 'where' }, { tool: 'door', params: { device_id: { $result: '0/place' } } }]), AGENT);
    registrar.register(record('evening', [{ tool: 'agent:look' }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    registrar.remove('evening', AGENT);
    registrar.register(record('evening', [{ tool: 'gate' }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { needed: 2 } } });
    expect(ran.map(({ tool }) => tool)).toEqual(['where']);
  });

  test('is for no dangerous step of a step whose arguments nobody saw, at any depth, whatever other step they saw', async () => {
    const { registrar, add, agree, call, ran } = await makeHome();
    add('where', { permissions: ['sensor:read:hall/place'] }, { place: 'hall' });
    add('door', { parameters: ON_DEVICE, permissions: ['device:control:{device_id}'], dangerous: true });
    const given = { device_id: { $param: 'device_id' } };
    const found = { device_id: { $result: '0/place' } };
    const look = (id: string, tool: string) =>
      registrar.register(record(id, [{ tool, params: given }], { input_schema: ON_DEVICE }), AGENT);
    look('look', 'door');
    look('gaze', 'agent:look');
    registrar.register(record('evening', [{ tool: 'where' }, { tool: 'agent:look', params: found }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    registrar.remove('evening', AGENT);
    registrar.register(record('evening', [{ tool: 'where' }, { tool: 'agent:gaze', params: found }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    expect(ran.map(({ tool }) => tool)).toEqual(['where', 'where']);
    registrar.remove('evening', AGENT);
    const seen = { tool: 'door', params: { device_id: 'hall' } };
    registrar.register(record('evening', [{ tool: 'where' }, seen, { tool: 'agent:look', params: found }]), AGENT);
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    expect(ran.map(({ tool }) => tool)).toEqual(['where', 'where', 'where', 'door']);
  });

  test('waits no longer than one of a lock, if results fill the arguments of a dangerous step', async () => {
    const { registrar, add, waiting } = await makeHome(LONG_WAITS);
    add('where', { permissions: ['sensor:read:hall/place'] }, { place: 'hall' });
    add('door', { parameters: ON_DEVICE, permissions: ['device:control:{device_id}'], dangerous: true });
    registrar.register(record('evening', [{ tool: 'where' }]), AGENT);
    expect(await waiting('evening')).toMatchObject({ waits_for_s: 3_600 });
    registrar.remove('evening', AGENT);
    registrar.register(record('evening', [{ tool: 'where' }, { tool: 'door', params: { device_id: { $result: '0/place' } } }]), AGENT);
    expect(await waiting('evening')).toMatchObject({ waits_for_s: 600 });
  });

  test.each<[string, (home: Awaited<ReturnType<typeof makeHome>>) => unknown]>([
    ['the time to use it is over', ({ approvals }) => approvals.clock.advance(11 * 60_000)],
    [
      'who gave it is no adult any more',
      ({ approvals }) => approvals.store.set('people', 'ann', { title: 'Ann', role: 'child', rooms: ['hall'] }),
    ],
    [
      'the key that gave it was removed',
      async ({ approvals }) => {
        await approvals.enrol('ben');
        const key = approvals.approvers.list().find(({ person }) => person === 'ann');
        await approvals.approvers.remove(key?.keyId ?? '');
      },
    ],
  ])('is for no dangerous step any more when %s', async (_what, meanwhile) => {
    const home = await makeHome();
    const { registrar, registry, agree, call, ran } = home;
    let pass: (home: Awaited<ReturnType<typeof makeHome>>) => unknown = () => {};
    registry.register(
      makeTool({
        name: 'slow',
        permissions: ['sensor:read:hall/place'],
        handler: async () => {
          await pass(home);
          return {};
        },
      }),
    );
    registrar.register(record('wrap', [{ tool: 'unlock' }]), AGENT);
    registrar.register(record('evening', [{ tool: 'slow' }, { tool: 'agent:wrap' }]), AGENT);
    await agree('evening');
    expect(codeOf(await call('evening', {}, AGENT))).toBe('success');
    expect(ran).toHaveLength(1);
    pass = meanwhile;
    await agree('evening');
    expect(await call('evening', {}, AGENT)).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    expect(ran).toHaveLength(1);
  });

  test('for an hour is for the dangerous steps of each call, until somebody removes it', async () => {
    const { registrar, add, approvals, waiting, call, ran } = await makeHome();
    add('oven', { execution: { side_effects: true }, effects: () => [HEAT], permissions: ['device:control:oven'], dangerous: true });
    registrar.register(record('evening', [{ tool: 'oven' }]), AGENT);
    const ben = await approvals.enrol('ben');
    const { approval_id: id } = await approvals.say(await waiting('evening'), ben, 'approve_for_hour');
    expect(codeOf(await call('evening', {}, AGENT))).toBe('success');
    approvals.clock.advance(30 * 60_000);
    expect(codeOf(await call('evening', {}, AGENT))).toBe('success');
    expect(ran).toHaveLength(2);
    await approvals.standing.remove(id, owner);
    expect(codeOf(await call('evening', {}, AGENT))).toBe('APPROVAL_REQUIRED');
  });

  test('lets a job that waited for it run a dangerous step', async () => {
    const { registrar, pipeline, jobs, approvals, ran } = await makeHome();
    registrar.register(record('evening', [{ tool: 'unlock' }], { safety_level: 'high' }), AGENT);
    const ben = await approvals.enrol('ben');
    const request = { principal: AGENT, tool: 'evening', params: {} };
    const started = await pipeline.callAsync({ ...request, waitsForApproval: true });
    if (started.kind !== 'job') throw new Error(JSON.stringify(started));
    const { job_id: id, approval_id: approval = '' } = started.job;
    await approvals.say(approvals.viewOf(approval), ben);
    await pipeline.resumeJob({ ...request, waitsForApproval: true }, jobs.resume(id));
    expect(jobs.get(id, AGENT)).toMatchObject({ status: 'succeeded' });
    expect(ran).toMatchObject([{ tool: 'unlock', by: AGENT.id }]);
  });
});
