import { describe, expect, test } from 'vitest';
import { sequenceTool } from '../../../src/calls/composition/steps.ts';
import type { CallRouter } from '../../../src/calls/pipeline-context.ts';
import type { Preflight } from '../../../src/calls/request-and-answer.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { isDestructive } from '../../../src/tools/definition/tool-definition.ts';
import { makePeer, RemoteToolsFake, toolOf } from '../../tools/registry/remote-tools-fake.ts';
import { approvalsSaying } from '../approvals-fake.ts';
import { agent, codeOf, makeTool, owner } from '../pipeline-fixture.ts';
import { makeRegistrar, maker, record } from '../registration/registrar-fixture.ts';

const dimHall = { tool: 'dim', params: { device_id: 'Hall lamp', level: 5 } };

describe('a composed tool', () => {
  test('calls its steps with its own parameters, fixed ones and results of earlier steps, and answers what it says', async () => {
    const { registrar, call, ran } = makeRegistrar();
    const steps = [
      { tool: 'temperature' },
      { tool: 'dim', params: { device_id: { $param: 'lamp' }, level: { $result: '0/temperature' } } },
    ];
    registrar.register(
      record('warm_glow', steps, {
        input_schema: { lamp: 'string' },
        result: { set: { $result: '1/level' }, lamp: { $param: 'lamp' } },
      }),
      owner,
    );
    expect(await call('warm_glow', { lamp: 'desk' })).toMatchObject({ status: 'success', result: { set: 21, lamp: 'desk' } });
    expect(ran.map(({ tool, params }) => [tool, params])).toEqual([
      ['temperature', {}],
      ['dim', { device_id: 'desk', level: 21 }],
    ]);
    expect(codeOf(await call('warm_glow', {}))).toBe('VALIDATION_ERROR');
  });

  test('with one step answers its result: another name with fixed parameters', async () => {
    const { registrar, call } = makeRegistrar();
    registrar.register(record('dim_hall', [dimHall]), owner);
    expect(await call('dim_hall')).toMatchObject({ result: { device_id: 'hall-lamp', level: 5 } });
  });

  test('knows its steps after their tools got other names', async () => {
    const { registrar, registry, call } = makeRegistrar();
    const tool = registry.resolve('temperature');
    registrar.register(record('how_warm', [{ tool: 'temperature' }]), owner);
    registry.unregister(tool.id);
    const definition = { ...tool.definition, name: 'hall_temperature', execution: { ...tool.definition.execution, hasSideEffects: true } };
    const [away, acts] = [{ isAvailable: () => false }, {}].map((extra) => ({ ...tool, ...extra, definition, aliases: ['temperature'] }));
    for (const renamed of [away, acts]) if (renamed) registry.register(renamed, { replace: true });
    expect(codeOf(await call('how_warm'))).toBe('CONFLICT');
    if (away) registry.register(away, { replace: true });
    expect(registry.resolve('how_warm').isAvailable?.()).toBe(false);
  });

  test('needs what its steps need, and keeps devices by their ids', () => {
    const { registrar } = makeRegistrar();
    const steps = [dimHall, { tool: 'temperature' }, { tool: 'dim', params: { device_id: { $param: 'lamp' } } }];
    const { definition } = registrar.register(record('all', steps, { input_schema: { lamp: 'string' } }), owner);
    expect(definition.requires.permissions).toEqual(['device:control:hall-lamp', 'sensor:read:hall/temperature', 'device:control:{lamp}']);
    expect(definition.description).toBe('Does what a test wants. Calls core:dim, then core:temperature, then core:dim.');
    const laundered = [{ tool: 'echo_like' }, { tool: 'dim', params: { device_id: { $result: '0/ok' } } }];
    const setup = makeRegistrar();
    setup.add('echo_like', {});
    expect(setup.registrar.register(record('any', laundered), owner).definition.requires.permissions).toEqual(['device:control']);
  });

  test('is permitted for a device that its caller names in other words', async () => {
    const { registrar, call, ran } = makeRegistrar();
    const steps = [{ tool: 'dim', params: { device_id: { $param: 'lamp' } } }];
    registrar.register(record('glow', steps, { input_schema: { lamp: 'string' } }), owner);
    const caller = maker('device:control:hall-lamp');
    expect(await call('glow', { lamp: 'Hall lamp' }, caller)).toMatchObject({ status: 'success' });
    expect(ran.map(({ params }) => params)).toEqual([{ device_id: 'hall-lamp' }]);
    expect(codeOf(await call('glow', { lamp: 'Attic lamp' }, caller))).toBe('PERMISSION_DENIED');
  });

  test('can end something for good if one of its steps can', () => {
    const { registrar, add } = makeRegistrar();
    add('delete_note', { execution: { side_effects: true }, permissions: ['note:write'] });
    const isDestructiveWith = (...steps: readonly string[]) =>
      isDestructive(
        registrar.register(
          record(
            `by_${steps.length}`,
            steps.map((tool) => ({ tool, params: tool === 'dim' ? dimHall.params : {} })),
          ),
          owner,
        ).definition,
      );
    expect([isDestructiveWith('dim'), isDestructiveWith('dim', 'delete_note')]).toEqual([false, true]);
  });

  test('names its first eight steps in its description, and counts the rest', () => {
    const { registrar } = makeRegistrar();
    const steps = (count: number) => Array.from({ length: count }, () => ({ tool: 'temperature' }));
    const descriptionOf = (id: string, count: number) => registrar.register(record(id, steps(count)), owner).definition.description;
    const eight = Array.from({ length: 8 }, () => 'core:temperature').join(', then ');
    expect(descriptionOf('eight', 8)).toBe(`Does what a test wants. Calls ${eight}.`);
    expect(descriptionOf('ten', 10)).toBe(`Does what a test wants. Calls ${eight}, and 2 more.`);
  });

  test('answers something secret if the step whose result it answers does', () => {
    const { registrar, add } = makeRegistrar();
    add('secret', { returns: { type: 'object', properties: { code: { type: 'string', 'x-secret': true } } } });
    const isSecret = (id: string, steps: readonly string[], result?: object) =>
      registrar.register(
        record(
          id,
          steps.map((tool) => ({ tool })),
          { ...(result && { result: { ...result } }) },
        ),
        owner,
      ).definition.returns['x-secret'] === true;
    expect(isSecret('last', ['temperature', 'secret'])).toBe(true);
    expect(isSecret('first', ['secret', 'temperature'])).toBe(false);
    expect(isSecret('named', ['secret', 'temperature'], { code: { $result: '0/code' } })).toBe(true);
    expect(isSecret('other', ['temperature', 'secret'], { warm: { $result: '0/temperature' } })).toBe(false);
  });

  test('needs the capabilities of its steps where these run, and not on its own hub', async () => {
    const lamp = toolOf(['hub-b'], { namespace: 'matter', name: 'far_lamp_on', requires: { capabilities: ['matter_bridge'] } });
    const forwarded: string[] = [];
    const router: CallRouter = {
      forward: async (hub, { tool }) => {
        forwarded.push(`${tool.id} on ${hub}`);
        return { result: { on: true }, nodeId: hub, hops: 1 };
      },
    };
    const mesh = { peers: () => [makePeer('hub-b', { capabilities: ['matter_bridge'] })] };
    const { registrar, registry, call, pipeline } = makeRegistrar({ remote: new RemoteToolsFake([lamp]), router, mesh });
    registrar.register(record('evening', [{ tool: 'far_lamp_on' }]), owner);
    expect(pipeline.obstacleTo(registry.resolve('evening'))).toBeUndefined();
    expect(await call('evening')).toMatchObject({ status: 'success', result: { on: true } });
    expect(forwarded).toEqual(['matter:far_lamp_on@1.0.0 on hub-b']);
  });

  test('is not registered with a step that no hub can run, and keeps the needs that its maker gave it', () => {
    const { registrar, add } = makeRegistrar();
    add('paint', { requires: { gpu: true } });
    add('watch_stars', { requires: { capabilities: ['telescope'] } });
    for (const step of ['paint', 'watch_stars'])
      expect(() => registrar.register(record('both', [{ tool: step }]), owner)).toThrow(
        expect.objectContaining({ code: 'NO_CAPABLE_NODE' }),
      );
    const { definition } = registrar.register(
      { name: 'weather', description: 'Does what a test wants.', requires: { network: true }, steps: [{ tool: 'temperature' }] },
      owner,
    );
    expect(definition.requires.network).toBe(true);
  });

  test('each step is a call of who calls, with its rights and in its name', async () => {
    const { registrar, call, ran, audited } = makeRegistrar();
    registrar.register(record('dim_hall', [dimHall]), maker('device:control:hall-lamp'));
    const weak = { ...agent('sensor:read:hall/temperature'), id: 'weak' };
    const strong = { ...agent('device:control:hall-lamp'), id: 'strong' };
    expect(codeOf(await call('dim_hall', {}, weak))).toBe('TOOL_NOT_FOUND');
    expect(codeOf(await call('dim_hall', {}, strong))).toBe('success');
    expect(ran).toEqual([{ tool: 'dim', by: 'strong', params: { device_id: 'hall-lamp', level: 5 } }]);
    expect(audited.filter(({ kind }) => kind === 'intent').map(({ toolId, principal }) => [toolId, principal.id])).toEqual([
      ['agent:dim_hall@1.0.0', 'strong'],
      ['core:dim@1.0.0', 'strong'],
    ]);
  });

  test('what it passes on as a secret or answers of one is nowhere in the journal, whatever it is called', async () => {
    const { registrar, call, add, audited } = makeRegistrar();
    const secret = { type: 'string', 'x-secret': true, description: 'Digits' };
    const sealed = { type: 'object', properties: { issued: { ...secret } } };
    add('open_safe', { parameters: { type: 'object', properties: { digits: secret } }, returns: sealed }, { issued: 'key-81' });
    const steps = [{ tool: 'open_safe', params: { digits: { $param: 'birthday' } } }];
    registrar.register(
      record('open', steps, { input_schema: { birthday: 'string', day: 'string' }, result: { now: { $result: '0/issued' } } }),
      owner,
    );
    const answer = await call('open', { birthday: '190571', day: 'monday' });
    expect(answer).toMatchObject({ status: 'success', result: { now: 'key-81' } });
    const journal = JSON.stringify(audited);
    expect(journal).toContain('monday');
    expect(journal).not.toContain('190571');
    expect(journal).not.toContain('key-81');
  });

  test('parameters that a caller sends are never read as references', async () => {
    const { registrar, call, ran } = makeRegistrar();
    const steps = [{ tool: 'temperature' }, { tool: 'dim', params: { device_id: 'hall', level: { $param: 'level' } } }];
    registrar.register(record('dim_by', steps, { input_schema: { level: 'any' } }), owner);
    expect(codeOf(await call('dim_by', { level: { $result: '0/temperature' } }))).toBe('VALIDATION_ERROR');
    expect(ran.map(({ tool }) => tool)).not.toContain('dim');
  });

  test('a dangerous step waits for people as the call that it is, before anything runs', async () => {
    const pending = {
      state: 'pending',
      approvalId: 'ap-1',
      expiresAt: '2026-01-01T00:10:00Z',
      waitsForS: 600,
      needed: 1,
      given: 0,
      summary: 'kitchen wants it',
      willDo: [],
    } as const;
    const { registrar, call, ran } = makeRegistrar({ approvals: approvalsSaying(pending) });
    const { definition } = registrar.register(record('come_home', [dimHall, { tool: 'unlock' }], { safety_level: 'high' }), owner);
    expect(definition.metadata).toMatchObject({ isDangerous: false, tags: ['composed', 'needs_approval'] });
    const answer = await call('come_home');
    expect(answer).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { step: 1, approval_id: 'ap-1' } } });
    expect(ran).toEqual([]);
  });

  test('a dangerous step deep inside is judged before anything runs, whatever stands around it', async () => {
    const pending = {
      state: 'pending',
      approvalId: 'ap-1',
      expiresAt: '2026-01-01T00:10:00Z',
      waitsForS: 600,
      needed: 1,
      given: 0,
      summary: 'kitchen wants it',
      willDo: [],
    } as const;
    const { registrar, registry, call, ran, pipeline } = makeRegistrar({ approvals: approvalsSaying(pending) });
    registry.register(sequenceTool(() => pipeline));
    registrar.register(record('open_up', [{ tool: 'temperature' }, { tool: 'unlock' }], { safety_level: 'high' }), owner);
    registrar.register(record('arrive', [dimHall, { tool: 'open_up' }], { safety_level: 'high' }), owner);
    registrar.register(record('come_home', [dimHall, { tool: 'arrive' }], { safety_level: 'high' }), owner);
    const answer = await call('come_home');
    expect(answer).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { step: 1, approval_id: 'ap-1' } } });
    const steps = [{ tool: 'dim', params: { device_id: 'hall' } }, { tool: 'come_home' }];
    expect(await call('sequence', { steps })).toMatchObject({ error: { code: 'APPROVAL_REQUIRED', details: { step: 1 } } });
    expect(ran).toEqual([]);
    const verdict = await pipeline.preflight({ principal: owner, tool: 'sequence', params: { steps } });
    expect(verdict).toMatchObject({ allowed: false, error: { code: 'APPROVAL_REQUIRED' } });
  });

  test('what the inner calls would do counts as what the whole would do, and no tree of calls is judged for ever', async () => {
    const { registrar, pipeline } = makeRegistrar();
    registrar.register(record('twice', [dimHall, dimHall]), owner);
    registrar.register(record('again', [{ tool: 'twice' }, { tool: 'twice' }]), owner);
    const effectsOf = (verdict: Preflight) => (verdict.allowed ? verdict.effects.map(({ permission }) => permission) : verdict.error);
    const verdict = await pipeline.preflight({ principal: owner, tool: 'again', params: {} });
    expect(effectsOf(verdict)).toEqual(Array(7).fill('device:control:hall-lamp'));
    registrar.register(record('wide', Array(16).fill({ tool: 'temperature' })), owner);
    registrar.register(record('wider', Array(16).fill({ tool: 'wide' })), owner);
    expect(effectsOf(await pipeline.preflight({ principal: owner, tool: 'wider', params: {} }))).toMatchObject({
      code: 'RESOURCE_EXCEEDED',
    });
  });

  test('a step that fails ends it, and says what ran before', async () => {
    const { registrar, registry, call, ran } = makeRegistrar();
    registry.register(
      makeTool({
        name: 'away',
        handler: async () => {
          throw new AtmoError('DEVICE_UNREACHABLE', 'It is away');
        },
      }),
    );
    registrar.register(record('read_first', [{ tool: 'temperature' }, { tool: 'away' }, dimHall]), owner);
    registrar.register(record('act_first', [dimHall, { tool: 'away' }]), owner);
    expect(await call('read_first')).toMatchObject({
      error: {
        code: 'DEVICE_UNREACHABLE',
        message: expect.stringContaining('Step 2 of 3 '),
        retryable: true,
        details: { step: 1, completed: 1 },
      },
    });
    // To try this one again as it is would dim the lamp twice.
    expect(await call('act_first')).toMatchObject({
      error: { code: 'OUTCOME_UNKNOWN', retryable: false, details: { code: 'DEVICE_UNREACHABLE' } },
    });
    expect(ran.map(({ tool }) => tool)).toEqual(['temperature', 'dim']);
  });

  test.each(['CANCELLED', 'TIMEOUT'] as const)(
    'a step that ends with %s behind one that acted leaves the outcome unknown',
    async (code) => {
      const { registrar, registry, call } = makeRegistrar();
      const handler = () => Promise.reject(new AtmoError(code, 'The hub is stopping'));
      registry.register(makeTool({ name: 'cut', handler }));
      registrar.register(record('act_first', [dimHall, { tool: 'cut' }]), owner);
      registrar.register(record('read_first', [{ tool: 'temperature' }, { tool: 'cut' }]), owner);
      expect(await call('act_first')).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN', details: { completed: 1, code } } });
      expect(await call('read_first')).toMatchObject({ error: { code } });
    },
  );

  test('is unavailable while a device of its steps is', () => {
    const { registrar, registry } = makeRegistrar();
    let isThere = false;
    registry.register(makeTool({ name: 'lamp', isAvailable: () => isThere }));
    const tool = registrar.register(record('via_lamp', [{ tool: 'lamp' }]), owner);
    expect(tool.isAvailable?.()).toBe(false);
    isThere = true;
    expect(tool.isAvailable?.()).toBe(true);
  });

  test('tools that come to call each other in a ring end by themselves', async () => {
    const { registrar, registry, call } = makeRegistrar();
    const inner = makeTool({ name: 'inner' });
    registry.register(inner);
    registrar.register(record('outer', [{ tool: 'inner' }]), owner);
    registry.unregister(inner.id);
    // As a plug-in could: a ring that the registrar knows of is refused.
    const codes: string[] = [];
    registry.register({
      ...makeTool({ name: 'inner' }),
      handler: async (_params, { principal }) => {
        codes.push(codeOf(await call('outer', {}, principal)));
        return {};
      },
    });
    expect(codeOf(await call('outer'))).toBe('success');
    expect(codes).toEqual(['RESOURCE_EXCEEDED', 'success', 'success', 'success']);
  });
});
