import { describe, expect, test } from 'vitest';
import { toAtmoError } from '../../../src/core/errors.ts';
import type { HubId } from '../../../src/core/ids.ts';
import { type RegisteredTool, unconfigured } from '../../../src/tools/definition/tool-definition.ts';
import { ToolDirectory } from '../../../src/tools/registry/tool-directory.ts';
import { ToolRegistry } from '../../../src/tools/registry/tool-registry.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { makeTool, NO_OTHERS } from '../../calls/pipeline-fixture.ts';
import { makePeer, RemoteToolsFake, toolOf } from './remote-tools-fake.ts';

function know(own: readonly RegisteredTool[], others: readonly RegisteredTool[]) {
  const registry = new ToolRegistry({ validator: new SchemaValidator() });
  for (const tool of own) registry.register(tool);
  const mesh = { peers: () => [makePeer('hub-2', { name: 'attic' }), makePeer('hub-3')] };
  const known = new ToolDirectory({ registry, self: { id: 'hub-1', name: 'cellar' }, remote: new RemoteToolsFake(others), mesh });
  return { registry, known };
}

function errorOf(run: () => unknown) {
  try {
    run();
  } catch (thrown) {
    return toAtmoError(thrown);
  }
  return undefined;
}

describe('a name', () => {
  test('means the tool of this hub before that of any other, in whatever version the others have it', () => {
    const { known } = know([makeTool({ namespace: 'lab' })], [toolOf(['hub-2'], { namespace: 'lab', version: '9.0.0' })]);
    expect(known.resolve('lab:probe').id).toBe('lab:probe@1.0.0');
    expect(known.resolve('probe').hubs).toBeUndefined();
    expect(known.resolve('lab:probe@9.0.0').hubs?.()).toEqual(['hub-2']);
  });

  test('that is bare is not made ambiguous by another namespace of another hub, not even by core', () => {
    const { known } = know([makeTool({ namespace: 'lab' })], [toolOf(['hub-2'], { namespace: 'core' })]);
    expect(known.resolve('probe').id).toBe('lab:probe@1.0.0');
  });

  test('that this hub lacks means the tool of another', () => {
    const { known } = know([], [toolOf(['hub-2'], { name: 'see' })]);
    expect(known.resolve('see').hubs?.()).toEqual(['hub-2']);
  });

  test('is looked for on the hubs that the caller names alone, by id or name', () => {
    const { known } = know([makeTool({ namespace: 'lab' })], [toolOf(['hub-2'], { namespace: 'lab' })]);
    expect(known.resolve('probe', { onlyNodes: ['hub-2'] }).hubs?.()).toEqual(['hub-2']);
    expect(known.resolve('probe', { onlyNodes: ['cellar', 'hub-2'] }).hubs).toBeUndefined();
    expect(errorOf(() => known.resolve('probe', { onlyNodes: ['hub-3'] }))?.code).toBe('TOOL_NOT_FOUND');
    const other = know([], [toolOf(['hub-2'], { namespace: 'lab' })]).known;
    expect(errorOf(() => other.resolve('probe', { onlyNodes: ['hub-1'] }))?.code).toBe('TOOL_NOT_FOUND');
  });

  test('on a hub that is not there, is two, or is away is told as that, not as a missing tool', () => {
    const { registry } = know([makeTool({ namespace: 'lab' })], []);
    const peers = [makePeer('hub-2', { name: 'pi' }), makePeer('hub-3', { name: 'shed', isReachable: false }), makePeer('hub-4')];
    const mesh = { peers: () => peers };
    const remote = new RemoteToolsFake([toolOf(['hub-4'], { namespace: 'lab', name: 'probes' })]);
    const known = new ToolDirectory({ registry, self: { id: 'hub-1', name: 'pi' }, remote, mesh });
    const problemOn = (...onlyNodes: string[]) => errorOf(() => known.resolve('probe', { onlyNodes }));
    expect(problemOn('attic')).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('"attic"') });
    expect(problemOn('pi')).toMatchObject({ code: 'VALIDATION_ERROR', details: { hubs: ['hub-1', 'hub-2'] } });
    expect(problemOn('hub-1')).toBeUndefined();
    expect(problemOn('shed')).toMatchObject({ code: 'NODE_UNAVAILABLE', details: { node_id: 'hub-3' } });
    expect(problemOn('hub-4')).toMatchObject({
      code: 'TOOL_NOT_FOUND',
      message: 'There is no tool "probe" on hub-4; did you mean probes?',
    });
    expect(errorOf(() => known.list({ node: 'pi' }))?.code).toBe('VALIDATION_ERROR');
  });

  test('that nobody has gets suggestions from all hubs, of tools that the caller may know of', () => {
    const { known } = know([makeTool({ namespace: 'lab', name: 'measure' })], [toolOf(['hub-2'], { namespace: 'lab', name: 'measures' })]);
    expect(errorOf(() => known.resolve('measurer'))?.details.suggestions).toEqual(['measure', 'measures']);
    const isListed = (tool: RegisteredTool) => !tool.hubs;
    expect(errorOf(() => known.resolve('measurer', { isListed }))?.details.suggestions).toEqual(['measure']);
    expect(errorOf(() => known.resolve('lab:measurer', { isListed }))?.details.suggestions).toEqual(['lab:measure']);
  });

  test('of the form that models use leads to the tool of another hub also where a tool here has it already', () => {
    const own = makeTool({ namespace: 'lab', name: 'see' });
    const { known } = know([own], [toolOf(['hub-2'], { namespace: 'eye', name: 'see' })]);
    const [eye] = known.all();
    const name = known.modelName(eye ?? own);
    expect(name).toMatch(/^see_[0-9a-f]{6}$/);
    expect(known.resolve(name).id).toBe('eye:see@1.0.0');
    expect(known.resolve('see').id).toBe('lab:see@1.0.0');
  });
});

describe('lists', () => {
  const own = makeTool({ namespace: 'lab', name: 'b' });
  const others = ['a', 'b', 'c'].map((name) => toolOf(['hub-2'], { namespace: 'lab', name, version: '2.0.0' }));

  test('hold each name once, in the order of the ids', () => {
    const { known } = know([own], others);
    expect(known.all().map(({ id }) => id)).toEqual(['lab:a@2.0.0', 'lab:b@1.0.0', 'lab:c@2.0.0']);
    expect(known.list({ offset: 1, limit: 1 })).toMatchObject({ total: 3, nextOffset: 2, tools: [{ id: 'lab:b@1.0.0' }] });
  });

  test('of one hub hold all that it has', () => {
    const { known } = know([own], others);
    const idsOf = (node: string) => known.list({ node }).tools.map(({ id }) => id);
    expect(idsOf('hub-2')).toEqual(['lab:a@2.0.0', 'lab:b@2.0.0', 'lab:c@2.0.0']);
    expect(idsOf('attic')).toEqual(idsOf('hub-2'));
    expect(idsOf('cellar')).toEqual(['lab:b@1.0.0']);
    expect(idsOf('hub-3')).toEqual([]);
    expect(errorOf(() => known.list({ node: 'hub-9' }))?.code).toBe('NOT_FOUND');
  });

  test('see at once what comes here', () => {
    const { known, registry } = know([own], others);
    expect(known.all()).toHaveLength(3);
    registry.register(makeTool({ namespace: 'lab', name: 'a' }));
    expect(known.all().map(({ id }) => id)).toEqual(['lab:a@1.0.0', 'lab:b@1.0.0', 'lab:c@2.0.0']);
  });

  test('of a hub that stopped lately are NODE_UNAVAILABLE with its name, not unknown', () => {
    const registry = new ToolRegistry({ validator: new SchemaValidator() });
    const hub = { id: 'hub-4' as HubId, name: 'attic' };
    const departedHubs = (name: string) => (name === 'lab:probe@1.0.0' ? [hub] : []);
    const remote = Object.assign(new RemoteToolsFake([]), { departedHubs });
    const known = new ToolDirectory({ registry, self: { id: 'hub-1', name: 'pi' }, remote, mesh: NO_OTHERS.view });
    const refusal = errorOf(() => known.resolve('lab:probe@1.0.0'));
    expect([refusal?.code, refusal?.details]).toEqual(['NODE_UNAVAILABLE', { hubs: ['hub-4'] }]);
    expect(refusal?.message).toContain('attic (hub-4)');
    expect(errorOf(() => known.resolve('lab:other'))?.code).toBe('TOOL_NOT_FOUND');
  });
});

test('a tool that is not configured is ready as soon as another hub has it', () => {
  const mail = unconfigured(makeTool({ name: 'mail' }), 'set connectors.email');
  expect(know([mail], []).known.isReady(mail)).toBe(false);
  expect(know([mail], [toolOf(['hub-2'], { name: 'mail' })]).known.isReady(mail)).toBe(true);
  const probe = makeTool({});
  expect(know([probe], []).known.isReady(probe)).toBe(true);
});
