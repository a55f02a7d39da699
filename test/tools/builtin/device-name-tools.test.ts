import { describe, expect, test } from 'vitest';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { deviceNameTools, namingAnswer } from '../../../src/tools/builtin/device-name-tools.ts';
import { NameReferences } from '../../../src/tools/names/name-references.ts';
import { agent, listAuthorizer, makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { described } from '../../profiles/device-fixtures.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';

const lampOf = (id: string, name: string) => {
  const lamp = described('DimmableLight', { hasAllElements: true });
  return { ...lamp, device: { ...lamp.device, id: parseDeviceId(id), name } };
};

async function hub() {
  const made = await new ToolHarness(lampOf('hall-light', 'Hall light'), lampOf('bedroom-lamp', 'Bedroom lamp')).start();
  const uses = new NameReferences();
  const { deviceNames: claims, home, sync } = made;
  const register = {
    namesOf: claims.namesOf.bind(claims),
    all: claims.all.bind(claims),
    findHolder: claims.findHolder.bind(claims),
    holderOfWanted: claims.holderOfWanted.bind(claims),
    merge: claims.merge.bind(claims),
    successors: claims.successors.bind(claims),
    lacking: claims.lacking.bind(claims),
    wouldFree: claims.wouldFree.bind(claims),
    free: (...given: Parameters<typeof claims.free>) => {
      const freed = claims.free(...given);
      sync.refresh(given[0]);
      return freed;
    },
  };
  const ports = { register, directory: home, uses, authorizer: listAuthorizer, areaToday: (area: string) => area };
  const setup = makePipeline();
  for (const tool of deviceNameTools(ports)) setup.registry.register(tool);
  const call = (tool: string, params: object, by = owner) => setup.pipeline.call({ principal: by, tool: `hub:${tool}`, params });
  const rename = (id: string, name: string, by = owner) => {
    home.change(parseDeviceId(id), { name });
    const device = home.get(parseDeviceId(id));
    return device && namingAnswer(ports, device, by);
  };
  return { ...made, uses, call, rename, registry: made.registry };
}

describe('whoever renames a device', () => {
  test('is told how its tools are called now, and what uses the former names', async () => {
    const { uses, rename } = await hub();
    uses.add(() => [
      { kind: 'automation', id: 'night', content: { actions: [{ tool: 'matter:bedroom_lamp_toggle' }] } },
      { kind: 'rule', id: 'quiet', content: { device: 'bedroom-lamp' } },
      { kind: 'token', id: 'helper', content: ['device:control:bedroom-lamp', 'device:read:hall-light'] },
      { kind: 'tool', id: 'custom:other@1.0.0', content: [{ tool: 'matter:hall_light_toggle' }] },
    ]);
    expect(rename('bedroom-lamp', 'Nightstand')).toEqual({
      tools_begin_with: 'nightstand',
      former_names: ['Bedroom lamp'],
      former_beginnings: ['bedroom_lamp'],
      used_by: [
        { kind: 'automation', id: 'night', as: ['matter:bedroom_lamp_toggle'] },
        { kind: 'rule', id: 'quiet', as: ['bedroom-lamp'] },
        { kind: 'token', id: 'helper', as: ['device:control:bedroom-lamp'] },
      ],
    });
    expect(rename('bedroom-lamp', 'Reading light', agent('admin:device:bedroom-lamp'))).toMatchObject({ used_by: [] });
  });

  test('is warned when another device has the name, or had it', async () => {
    const { rename } = await hub();
    rename('hall-light', 'Zed lamp');
    expect(rename('bedroom-lamp', 'Zed lamp')).toMatchObject({
      tools_begin_with: 'zed_lamp_2',
      warnings: [
        'That name belongs to the tools of hall-light: the tools of bedroom-lamp begin with zed_lamp_2_',
        'hall-light is or was called "Zed lamp" too: who means one of them has to write its id',
      ],
    });
  });
});

test('a scene uses the device whose tools it calls, and none whose id only begins alike', async () => {
  const { uses, call } = await hub();
  uses.add(() => [
    { kind: 'scene', id: 'Movie', content: ['bedroom-lamp 1/OnOff/toggle'] },
    { kind: 'scene', id: 'Night', content: ['bedroom-lamp-2 1/OnOff/toggle'] },
    { kind: 'automation', id: 'note', content: { text: 'bedroom-lamp is on' } },
  ]);
  const answer = await call('list_device_names', { name: 'bedroom-lamp' });
  expect(answer).toMatchObject({ result: { devices: [{ used_by: [{ kind: 'scene', id: 'Movie' }] }] } });
});

test('whoever may not know of a device learns neither its id nor its name from a warning', async () => {
  const { rename } = await hub();
  const answer = rename('bedroom-lamp', 'Hall light', agent('admin:device:bedroom-lamp', 'device:read:bedroom-lamp'));
  expect(answer).toMatchObject({ warnings: [expect.stringContaining('another device'), expect.stringContaining('another device')] });
  expect(JSON.stringify(answer)).not.toContain('hall-light');
});

describe('a former name', () => {
  test('is freed by the owner after seeing what uses it, and then another device can have it', async () => {
    const { uses, rename, call, registry } = await hub();
    uses.add(() => [{ kind: 'automation', id: 'night', content: { tool: 'bedroom_lamp_toggle' } }]);
    rename('bedroom-lamp', 'Nightstand');
    expect(await call('free_device_name', { name: 'bedroom_lamp' })).toMatchObject({
      error: { code: 'CONFLICT', message: expect.stringContaining('automation night'), details: { used_by: [{ id: 'night' }] } },
    });
    expect(registry.find('bedroom_lamp_toggle')?.definition.name).toBe('nightstand_toggle');
    expect(await call('free_device_name', { name: 'bedroom_lamp', confirm: true })).toMatchObject({
      result: { device_id: 'bedroom-lamp', freed: expect.arrayContaining(['Bedroom lamp', 'bedroom_lamp', 'bedroom_lamp_toggle']) },
    });
    expect(registry.find('bedroom_lamp_toggle')).toBeUndefined();
    rename('hall-light', 'Bedroom lamp');
    expect(registry.find('bedroom_lamp_toggle')?.definition.metadata.device).toBe('hall-light');
  });

  test('that the device has today is not freed; a removed device gives back all', async () => {
    const { call, home, deviceNames, registry } = await hub();
    expect(await call('free_device_name', { name: 'hall_light' })).toMatchObject({
      error: { code: 'CONFLICT', message: expect.stringContaining('is called hall_light today') },
    });
    expect(await call('free_device_name', { name: 'nobody' })).toMatchObject({ error: { code: 'NOT_FOUND' } });
    home.remove(parseDeviceId('hall-light'));
    expect(await call('list_device_names', { name: 'Hall light' })).toMatchObject({
      result: { devices: [{ device_id: 'hall-light', is_removed: true, tools_begin_with: 'hall_light' }] },
    });
    expect(await call('free_device_name', { name: 'hall-light' })).toMatchObject({ status: 'success' });
    expect(deviceNames.namesOf(parseDeviceId('hall-light'))).toBeUndefined();
    home.add(lampOf('stranger', 'Hall light'));
    expect(registry.find('hall_light_toggle')?.definition.metadata.device).toBe('stranger');
  });

  test.each([
    ['the id of a removed device', 'hall-light', { tool: 'hall_light_toggle' }],
    ['the beginning of its tools, for what people called it', 'hall_light', { device: 'Hall light' }],
    ['what people called it, for the id itself', 'hall-light', { device: 'Hall light' }],
  ])('that something uses is not freed unseen by %s', async (_what, name, content) => {
    const { uses, call, home, deviceNames } = await hub();
    uses.add(() => [{ kind: 'automation', id: 'night', content }]);
    home.remove(parseDeviceId('hall-light'));
    expect(await call('free_device_name', { name })).toMatchObject({
      error: { code: 'CONFLICT', details: { used_by: [{ id: 'night' }] } },
    });
    expect(deviceNames.namesOf(parseDeviceId('hall-light'))).toBeDefined();
    expect(await call('free_device_name', { name, confirm: true })).toMatchObject({ result: { used_by: [{ id: 'night' }] } });
  });

  test.each([
    ['rule', { tool: 'matter:bedroom_lamp_toggle' }],
    ['token', ['tool:bedroom_lamp_toggle', 'Bedroom lamp']],
    ['setting', ['matter:bedroom_lamp_toggle']],
  ] as const)('that a %s of the owner uses is freed by the owner alone, even with confirm', async (kind, content) => {
    const { uses, rename, call, registry } = await hub();
    uses.add(() => [
      { kind: 'automation', id: 'night', content: { tool: 'bedroom_lamp_toggle' } },
      { kind, id: 'quiet', content },
    ]);
    rename('bedroom-lamp', 'Nightstand');
    for (const confirm of [false, true]) {
      expect(await call('free_device_name', { name: 'bedroom_lamp', confirm }, agent('admin:hub'))).toMatchObject({
        error: {
          code: 'PERMISSION_DENIED',
          message: expect.stringMatching(new RegExp(`^bedroom_lamp is used by ${kind} quiet\\b.*owner`)),
          details: { used_by: [{ kind, id: 'quiet' }] },
        },
      });
    }
    expect(registry.find('bedroom_lamp_toggle')?.definition.metadata.device).toBe('bedroom-lamp');
    expect(await call('free_device_name', { name: 'bedroom_lamp', confirm: true })).toMatchObject({ status: 'success' });
  });

  test('that only automations use is freed by who administers the hub, with confirm', async () => {
    const { uses, rename, call } = await hub();
    uses.add(() => [{ kind: 'automation', id: 'night', content: { tool: 'bedroom_lamp_toggle' } }]);
    rename('bedroom-lamp', 'Nightstand');
    const free = (confirm: boolean) => call('free_device_name', { name: 'bedroom_lamp', confirm }, agent('admin:hub'));
    expect(await free(false)).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(await free(true)).toMatchObject({ status: 'success' });
  });

  test('is a matter of who administers the hub', async () => {
    const { call } = await hub();
    for (const tool of ['list_device_names', 'free_device_name']) {
      expect(await call(tool, { name: 'x' }, agent('admin:device:*'))).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    }
  });
});
