import { describe, expect, test } from 'vitest';
import { lintDefinition, permissionProblems } from '../../../src/tools/definition/definition-lint.ts';
import { normalizeDefinition } from '../../../src/tools/definition/public-definition.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makePipeline, makeTool } from '../../calls/pipeline-fixture.ts';

const problems = (permissions: readonly string[], names: readonly string[] = ['device_id'], more: object = {}) =>
  permissionProblems(
    normalizeDefinition({
      name: 'probe',
      description: 'Probe',
      parameters: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string', description: name }])) },
      permissions,
      execution: { side_effects: false },
      ...more,
    }),
  );

describe('what a tool requires', () => {
  test.each([['device:control:{device_id}'], ['storage:read:config/{device_id}'], ['storage:read:{device_id}/{device_id}']])(
    '%s is fine',
    (permission) => {
      expect(problems([permission])).toEqual([]);
    },
  );

  test.each([
    ['device:*', 'wildcard'],
    ['device:control:*', 'wildcard'],
    ['storage:read:config/*', 'wildcard'],
    ['Device:control:{device_id}', 'never be a valid'],
    ['device:control:{device_id}:x', 'whole part'],
    ['device', 'not of the form'],
    ['device:control:a:b', 'not of the form'],
    ['device:control:@type/light', 'not of the form'],
    ['device:control:../x', 'not of the form'],
    ['{device_id}:control', 'whole part'],
    ['device:{device_id}', 'whole part'],
    ['device:control:x{device_id}', 'whole part'],
    ['device:control:{device_id}{device_id}', 'whole part'],
    ['device:control:{device_id}}', 'whole part'],
    ['device:control:{device-id}', 'whole part'],
    ['device:control:{other}', 'no parameter'],
    ['device:control:../{device_id}', 'never be a valid'],
  ])('%s is refused', (permission, reason) => {
    expect(problems([permission, 'device:control:{device_id}'])).toEqual([expect.stringContaining(reason)]);
  });

  test('is something where it acts or is dangerous', () => {
    expect(problems([], [])).toEqual([]);
    expect(problems([], [], { execution: { side_effects: true } })).toEqual([
      expect.stringContaining('A tool with side effects has to require a permission: name one'),
    ]);
    expect(problems([], [], { dangerous: true })).toEqual(['A dangerous tool has to require a permission']);
  });

  test.each(['device_id', 'sensor_id', 'agent_id', 'database', 'path', 'key'])('is for the one %s that it is about', (name) => {
    expect(problems([], [name])).toEqual([expect.stringContaining(`{${name}}`)]);
    expect(problems(['storage:read'], [name])).toHaveLength(1);
    expect(problems([`storage:read:{${name}}`], [name])).toEqual([]);
  });

  test('may be for the hub as a whole, or for one device whose key is pressed, but never for a device by parameter', () => {
    expect(problems(['admin:token'], ['agent_id'])).toEqual([]);
    expect(problems(['device:control:tv'], ['key'])).toEqual([]);
    expect(problems(['admin:hub'], ['device_id'])).toHaveLength(1);
    expect(problems(['device:control:tv'], ['device_id'])).toHaveLength(1);
  });
});

describe('what a tool declares', () => {
  const findings = (execution: object, isolation?: 'process' | 'script') =>
    lintDefinition(makeTool({ permissions: ['a:b'], execution }).definition, new SchemaValidator(), isolation).map(
      ({ pointer }) => pointer,
    );

  test('cannot be deterministic and act', () => {
    expect(findings({ side_effects: true, determinism: 'deterministic' })).toEqual(['/execution/determinism']);
    expect(findings({ side_effects: true, determinism: 'bounded' })).toEqual([]);
    expect(findings({ determinism: 'deterministic' })).toEqual([]);
  });

  test('has to be there, also for a tool that no parser has seen', () => {
    const { definition } = makeTool({});
    const broken = { ...definition, execution: { isIdempotent: true } } as unknown as typeof definition;
    const pointers = lintDefinition(broken, new SchemaValidator()).map(({ pointer }) => pointer);
    expect(pointers).toEqual(['/execution/side_effects', '/execution/determinism', '/execution/timeout_ms']);
    expect(findings({ timeout_ms: 86_400_001 })).toEqual(['/execution/timeout_ms']);
  });

  test('as a bound on memory can be kept only in a process of its own, on fuel only by an interpreter', () => {
    expect(findings({ max_memory_bytes: 1 })).toEqual(['/execution/max_memory_bytes']);
    expect(findings({ max_memory_bytes: 1 }, 'process')).toEqual([]);
    expect(findings({ max_fuel: 1 }, 'process')).toEqual(['/execution/max_fuel']);
    expect(findings({ max_fuel: 1, max_memory_bytes: 1 }, 'script')).toEqual([]);
  });

  test('is checked when the tool is registered', () => {
    const { registry } = makePipeline();
    const execution = { max_memory_bytes: 1_000_000 };
    expect(() => registry.register(makeTool({ execution }))).toThrow(/process of its own/);
    registry.register(makeTool({ execution, isolation: 'process' }));
    expect(() => registry.register(makeTool({ name: 'wild', permissions: ['device:*'] }))).toThrow(/wildcard/);
  });
});
