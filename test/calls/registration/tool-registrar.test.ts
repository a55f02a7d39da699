import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import { emitToolChanges } from '../../../src/tools/registry/tool-registry.ts';
import { programsFake } from '../../tools/programs/program-sandbox-fake.ts';
import { agent, codeOf, makeTool, owner } from '../pipeline-fixture.ts';
import { makeRegistrar, maker, record } from './registrar-fixture.ts';

const readHall = [{ tool: 'temperature' }];

function refusal(act: () => unknown): [string, string] {
  try {
    act();
  } catch (thrown) {
    const { code, message } = thrown as { code: string; message: string };
    return [code, message];
  }
  return ['', ''];
}

describe('registering a tool', () => {
  test('takes the record of the HTTP tool service and the public definition, and says who made it by who asks', () => {
    const { registrar } = makeRegistrar();
    const ofAgent = registrar.register(record('a', readHall, { created_by: 'system' }), maker('sensor:read:*'));
    expect([ofAgent.id, ofAgent.definition.metadata.createdBy]).toEqual(['agent:a@1.0.0', 'agent']);
    const definition = { name: 'b', description: 'Reads the hall.', metadata: { created_by: 'agent' }, steps: readHall };
    const ofOwner = registrar.register(definition, owner);
    expect([ofOwner.id, ofOwner.definition.metadata.createdBy]).toEqual(['custom:b@1.0.0', 'system']);
    expect(
      registrar.register({ tool: { ...definition, steps: undefined, name: 'c' } as unknown as JsonObject, steps: readHall }, owner).id,
    ).toBe('custom:c@1.0.0');
    expect(registrar.record('agent:a@1.0.0')).toMatchObject({ maker: 'agent-1' });
  });

  test('needs of its maker what the steps need: nobody makes for others what it may not do itself', () => {
    const { registrar } = makeRegistrar();
    const reader = maker('sensor:read:*', 'device:control:lamp');
    const dimDoor = record('x', [{ tool: 'dim', params: { device_id: 'door' } }]);
    expect(refusal(() => registrar.register(dimDoor, reader))).toEqual([
      'PERMISSION_DENIED',
      'agent-1 lacks device:control:door, which the step dim needs',
    ]);
    // A default, or the only choices there are, are the maker's own.
    const dimAny = [{ tool: 'dim', params: { device_id: { $param: 'lamp' } } }];
    const withLamp = (lamp: JsonObject) => record('p', dimAny, { input_schema: { type: 'object', properties: { lamp } } });
    for (const rule of [{ default: 'door' }, { enum: ['lamp', 'door'] }, { const: 'door' }]) {
      expect(refusal(() => registrar.register(withLamp({ type: 'string', ...rule }), reader))[1]).toContain('lacks device:control:door');
    }
    const behind = { type: 'object', properties: { lamp: { type: 'string' } }, allOf: [{ properties: { lamp: { default: 'door' } } }] };
    expect(refusal(() => registrar.register(record('p', dimAny, { input_schema: behind }), reader))[1]).toContain('device:control:door');
    registrar.register(withLamp({ type: 'string', default: 'lamp' }), reader);
    // What a result names could be anything.
    const laundered = record('y', [{ tool: 'temperature' }, { tool: 'dim', params: { device_id: { $result: '0/ok' } } }]);
    expect(refusal(() => registrar.register(laundered, reader))[0]).toBe('PERMISSION_DENIED');
    // What does not exist for it cannot be a step; administration is for nobody's tool.
    expect(refusal(() => registrar.register(record('z', [{ tool: 'mint' }]), reader))[0]).toBe('TOOL_NOT_FOUND');
    expect(refusal(() => registrar.register(record('z', [{ tool: 'mint' }]), owner))).toEqual([
      'PERMISSION_DENIED',
      expect.stringContaining('ALLOWED_TOOL_PERMS'),
    ]);
  });

  test('an agent puts nothing into a tool that would act with all rights of its caller', () => {
    const { registrar, add } = makeRegistrar();
    const acting = { execution: { side_effects: true } };
    add('spawn', { ...acting, permissions: ['agent:spawn'] });
    add('register', { ...acting, permissions: ['tool:register'] });
    for (const tool of ['spawn', 'register']) {
      expect(refusal(() => registrar.register(record('x', [{ tool }]), maker('agent:spawn')))).toEqual([
        'PERMISSION_DENIED',
        `core:${tool} acts with all rights of its caller; only a tool of the owner can call it`,
      ]);
    }
    registrar.register(record('x', [{ tool: 'spawn' }]), owner);
  });

  test.each<[string, JsonObject, string]>([
    ['a step without a tool', record('x', [{ params: {} }]), '/steps/0/tool is missing'],
    ['a sequence', record('x', [{ tool: 'core:sequence' }]), 'write its steps into this list'],
    [
      'more steps than 16',
      record(
        'x',
        Array.from({ length: 17 }, () => ({ tool: 'temperature' })),
      ),
      'at most 16 steps',
    ],
    ['a parameter that it has not', record('x', [{ tool: 'temperature', params: { a: { $param: 'b' } } }]), 'is no parameter of the tool'],
    ['a result of nothing', record('x', [], { result: 1 }), 'needs steps'],
    ['a program beside steps', record('x', readHall, { exec: { type: 'cmd', cmd: 'ls' } }), 'only one of them can run'],
    ['a shell line', record('x', [], { exec: { type: 'cmd', cmd: 'ls; rm -rf /' } }), 'one program'],
    ['a placeholder for nothing', record('x', [], { exec: { type: 'cmd', cmd: 'ls', args: ['{path}'] } }), 'holds {path}'],
    ['an unknown member', record('x', readHall, { exce: {} }), '/exce is not a known key'],
    ['an unknown type', record('x', readHall, { input_schema: { a: 'datetime' } }), 'is not a type'],
    ['no type at all', record('x', readHall, { input_schema: { a: 7 } }), '/input_schema/a has to be the word of a type'],
    ['a name of the hub', record('core:x', readHall), 'The namespace core is not for this tool'],
    ['a name of agents', record('agent:x', readHall), 'The namespace agent is not for this tool'],
    ['a text that turns around', record('x', readHall, { description: 'good\u202edab' }), 'characters that nobody sees'],
    [
      'a parameter that hides something',
      record('x', readHall, { input_schema: { type: 'object', properties: { a: { type: 'string', description: 'a\u200bb' } } } }),
      'characters that nobody sees',
    ],
    ['parameters that its step refuses', record('x', [{ tool: 'dim', params: { device_id: 'a', level: 'high' } }]), 'level'],
    [
      'a device that is not named by id in an open step',
      record('x', [{ tool: 'dim', params: { device_id: 'Hall lamp', level: { $param: 'l' } } }], { input_schema: { l: 'int' } }),
      'by id',
    ],
  ])('refuses %s', (_what, body, message) => {
    const { registrar } = makeRegistrar();
    const [code, told] = refusal(() => registrar.register(body, owner));
    expect(code).toBe('VALIDATION_ERROR');
    expect(told).toContain(message);
  });

  test('takes a newer version of a tool by its maker, and none by anybody else or of an older number', () => {
    const { registrar, registry } = makeRegistrar();
    const by = maker('sensor:read:*');
    const version = (number: string) => record(`evening@${number}`, readHall);
    for (const number of ['1.0.0', '1.1.0', '2.0.0-beta.1']) registrar.register(version(number), by);
    expect(registry.all().filter(({ definition }) => definition.name === 'evening')).toHaveLength(3);
    expect(registry.resolve('evening').definition.version).toBe('1.1.0');
    for (const [number, principal] of [
      ['1.0.5', by],
      ['1.1.0', by],
      ['3.0.0', { ...by, id: 'agent-2' }],
    ] as const) {
      expect(refusal(() => registrar.register(version(number), principal))[0]).toBe('CONFLICT');
    }
  });

  test("refuses names of devices' tools, also of devices that were removed", () => {
    const { registrar } = makeRegistrar({ isClaimed: (name) => name === 'bedroom_lamp_toggle' });
    expect(refusal(() => registrar.register(record('bedroom_lamp_toggle', readHall), owner))[0]).toBe('CONFLICT');
    registrar.register(record('bedroom_lamp_toggle_all', readHall), owner);
  });

  test('refuses names that mean a tool already, and rings', () => {
    const { registrar, registry } = makeRegistrar();
    registry.alias('lamp', 'core:dim');
    for (const name of ['dim', 'Dim', 'lamp']) {
      expect(refusal(() => registrar.register(record(name, readHall), owner))[0]).toBe('CONFLICT');
    }
    registrar.register(record('a', readHall), owner);
    registrar.register(record('b', [{ tool: 'a' }]), owner);
    registrar.remove('a', owner);
    expect(refusal(() => registrar.register(record('a', [{ tool: 'b' }]), owner))).toEqual([
      'CONFLICT',
      expect.stringContaining('custom:a would call itself'),
    ]);
    registrar.register(record('a', readHall), owner);
    for (const [name, inner] of [
      ['c', 'b'],
      ['d', 'c'],
    ] as const)
      registrar.register(record(name, [{ tool: inner }]), owner);
    expect(refusal(() => registrar.register(record('e', [{ tool: 'd' }]), owner))[1]).toContain('a row of more than 4');
  });

  test('keeps to quotas: an agent and its children share one', () => {
    const { registrar } = makeRegistrar();
    const by = maker('sensor:read:*');
    for (let number = 0; number < 32; number++)
      registrar.register(record(`t${number}`, readHall), number % 2 ? by : { ...by, id: 'agent-1/child' });
    expect(refusal(() => registrar.register(record('more', readHall), { ...by, id: 'agent-1/other' }))).toEqual([
      'CONFLICT',
      expect.stringContaining('There are 32 tools of agent-1'),
    ]);
    registrar.remove('t0', by);
    registrar.register(record('more', readHall), by);
    registrar.register(record('others', readHall), { ...by, id: 'agent-2' });
  });

  test('agents together have a quota too, which is none of the owner', () => {
    const { registrar } = makeRegistrar();
    const by = (number: number) => ({ ...maker('sensor:read:*'), id: `agent-${Math.floor(number / 32)}` });
    for (let number = 0; number < 256; number++) registrar.register(record(`t${number}`, readHall), by(number));
    expect(refusal(() => registrar.register(record('more', readHall), by(256)))).toEqual([
      'CONFLICT',
      expect.stringContaining('Agents have registered 256 tools'),
    ]);
    registrar.register(record('more', readHall), owner);
  });

  test('a record that names a program is kept and answers NOT_CONFIGURED, before anybody is asked', async () => {
    const { registrar, call } = makeRegistrar({ programs: programsFake({}, 'install bubblewrap') });
    const exec = { type: 'cmd', cmd: '/usr/bin/convert', args: ['{file}'] };
    const tool = registrar.register(record('convert', [], { exec, input_schema: { file: 'string' }, safety_level: 'high' }), owner);
    expect([tool.definition.requires.permissions, tool.isAvailable?.()]).toEqual([['proc:exec'], false]);
    expect(await call('convert', { file: 'a.png' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
    expect(codeOf(await call('convert', { file: 'a.png' }, agent('net:read')))).toBe('TOOL_NOT_FOUND');
    const docker = registrar.register(record('docker_list', [], { permissions: ['docker'], safety_level: 'low' }), owner);
    expect(docker.definition.requires.permissions).toEqual(['docker:use']);
    // Lists say why it is of no use, as its calls do, and lists for models leave it out.
    expect(docker.missingSetting?.()).toContain('neither steps nor a program');
    expect(await call('docker_list')).toMatchObject({
      error: { code: 'NOT_CONFIGURED', message: expect.stringContaining('neither steps') },
    });
  });

  test('of agents may need the network, devices and readings until the owner says otherwise, and what there was stays', () => {
    const { registrar, registry, make } = makeRegistrar({}, {});
    const programs = maker('proc:exec', 'net:read', 'sensor:read:*');
    registrar.register(record('a', readHall, { permissions: ['net:read'] }), programs);
    const wish = { permissions: ['proc:exec'] };
    expect(refusal(() => registrar.register(record('b', readHall, wish), programs))).toEqual([
      'PERMISSION_DENIED',
      expect.stringContaining('ALLOWED_TOOL_PERMS'),
    ]);
    registrar.register(record('c', readHall, wish), owner);
    const { id } = make({ allowed: ['*'] }).register(record('d', readHall, wish), programs);
    registry.unregister(id);
    for (const name of ['agent:a@1.0.0', 'custom:c@1.0.0'] as const) registry.unregister(name as typeof id);
    make({}).restore();
    expect(registry.get(id)).toBeDefined();
  });

  test('ALLOWED_TOOL_PERMS narrows what registered tools may need', () => {
    const { registrar } = makeRegistrar({}, { allowed: ['net:read', 'device:control:@area/hall', 'sensor:*'] });
    registrar.register(record('a', readHall), owner);
    expect(refusal(() => registrar.register(record('b', [{ tool: 'dim', params: { device_id: 'x' } }]), owner))[0]).toBe(
      'PERMISSION_DENIED',
    );
    registrar.register(record('c', [], { permissions: ['net:read'] }), owner);
    expect(refusal(() => registrar.register(record('d', [], { permissions: ['net:read', 'llm'] }), owner))[0]).toBe('PERMISSION_DENIED');
  });
});

describe('registered tools', () => {
  test('are there after a restart as they were, and call what is there then', async () => {
    const warned: unknown[] = [];
    const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };
    const { registrar, registry, make, call, store } = makeRegistrar({ logger });
    const steps = [{ tool: 'dim', params: { device_id: 'hall', level: { $param: 'level' } } }];
    const { id, definition } = registrar.register(record('glow', steps, { input_schema: { level: 'int' } }), maker('device:control:*'));
    registry.unregister(id);
    expect(codeOf(await call('glow', { level: 3 }))).toBe('TOOL_NOT_FOUND');
    store.set('registered_tool', 'custom:broken@1.0.0', { definition: { name: 'broken' } });
    const again = make();
    again.restore();
    expect(registry.get(id)?.definition).toEqual(definition);
    expect(again.record(id)).toMatchObject({ maker: 'agent-1', createdAtMs: expect.any(Number) });
    expect(warned).toEqual([]);
    make({ allowed: ['sensor:read'] }).restore();
    const problem = expect.stringContaining('ALLOWED_TOOL_PERMS');
    expect(warned).toEqual([['tools.not_restored', { tool: 'agent:glow@1.0.0', code: 'PERMISSION_DENIED', problem }]]);
    expect(await call('glow', { level: 3 })).toMatchObject({ status: 'success', result: { level: 3 } });
  });

  test('emit the events agi.tool.* when they come and go', () => {
    const { registrar, registry, events, heard } = makeRegistrar();
    const stop = emitToolChanges(registry, events);
    const { id } = registrar.register(record('a', readHall), maker('sensor:read:*'));
    registrar.register(record('b', readHall), owner);
    registrar.remove(id, owner);
    stop();
    expect(heard.map(({ type, subject, data }) => [type, subject, data.created_by])).toEqual([
      ['agi.tool.created', 'agent:a@1.0.0', 'agent'],
      ['agi.tool.discovered', 'custom:b@1.0.0', 'system'],
      ['agi.tool.removed', 'agent:a@1.0.0', 'agent'],
    ]);
  });

  test('can be removed by their maker, those it comes from, and the owner; nothing else can', async () => {
    const { registrar, registry, call, records } = makeRegistrar();
    const by = maker('sensor:read:*');
    const child = { ...by, id: 'agent-1/child' };
    registrar.register(record('of_child', readHall), child);
    registrar.register(record('of_agent', readHall), by);
    registrar.register(record('of_owner', readHall), owner);
    expect(refusal(() => registrar.remove('of_agent', { ...by, id: 'agent-2' }))).toEqual([
      'PERMISSION_DENIED',
      expect.stringContaining('its maker and the owner'),
    ]);
    expect(refusal(() => registrar.remove('of_agent', child))[0]).toBe('PERMISSION_DENIED');
    expect(refusal(() => registrar.remove('of_owner', by))[0]).toBe('PERMISSION_DENIED');
    expect(refusal(() => registrar.remove('temperature', owner))).toEqual([
      'PERMISSION_DENIED',
      expect.stringContaining('comes with the hub'),
    ]);
    expect(refusal(() => registrar.remove('nothing', owner))[0]).toBe('TOOL_NOT_FOUND');
    // One that may not even see what the tool needs can still take back its own.
    expect(registrar.remove('of_agent', maker())).toBe('agent:of_agent@1.0.0');
    expect(registrar.remove('of_child', by)).toBe('agent:of_child@1.0.0');
    expect(registrar.remove('of_owner', owner)).toBe('custom:of_owner@1.0.0');
    expect(codeOf(await call('of_agent'))).toBe('TOOL_NOT_FOUND');
    expect(registry.all().map(({ id }) => id)).not.toContain('agent:of_agent@1.0.0');
    expect(records.all()).toEqual([]);
  });

  test('one that needs more than the owner allows by now is not brought back', () => {
    const { registrar, registry, make, records } = makeRegistrar();
    const { id } = registrar.register(record('a', readHall), owner);
    registry.unregister(id);
    make({ allowed: ['net:read'] }).restore();
    expect([registry.get(id), records.all().length]).toEqual([undefined, 1]);
    make({ allowed: ['sensor:*'] }).restore();
    expect(registry.get(id)).toBeDefined();
  });

  test('one that cannot be kept is none', () => {
    const { registrar, registry, store } = makeRegistrar();
    store.set = () => {
      throw new Error('disk full');
    };
    expect(() => registrar.register(record('a', readHall), owner)).toThrow('disk full');
    expect(registry.has('custom:a')).toBe(false);
    expect(registrar.record('custom:a@1.0.0')).toBeUndefined();
  });

  test('one that a newer tool of the hub has taken the name of stays on the disk', () => {
    const { registrar, registry, make, records } = makeRegistrar();
    const { id } = registrar.register(record('a', readHall), owner);
    registry.unregister(id);
    registry.register(makeTool({ name: 'a', namespace: 'custom' }));
    make().restore();
    expect(registry.get(id)?.definition.metadata.tags).toEqual([]);
    expect(records.all()).toHaveLength(1);
  });
});
