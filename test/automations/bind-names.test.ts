import { describe, expect, test } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { makeTool } from '../calls/pipeline-fixture.ts';
import { makeDevice } from '../http/http-fixture.ts';
import { type AgentFixture, codeOf, LAMP_ON, resultOf, SENSOR, startedFixture } from './agent-fixture.ts';

const PERMISSIONS = [`sensor:read:${SENSOR}`, 'device:read:*', 'device:control:lamp', 'scene:read:evening'];

/** A hub whose lamp is called Reading lamp, with a scene, and a tool that takes the id or the name of a device. */
async function namedHome(): Promise<AgentFixture> {
  const fixture = await startedFixture();
  fixture.devices.devices = [
    makeDevice('lamp', { name: 'Reading lamp' }),
    makeDevice('hall-sensor', { name: 'Hall sensor' }),
    makeDevice('switch', { name: 'Wall switch' }),
  ];
  fixture.scenes.push({ id: 'evening', name: 'Cosy evening' });
  fixture.registry.register(
    makeTool({
      name: 'blink',
      namespace: 'matter',
      requires: { permissions: ['device:control:{device_id}'] },
      parameters: { type: 'object', required: ['device_id'], properties: { device_id: { type: 'string' }, times: { type: 'number' } } },
      execution: { side_effects: true },
      canonicalize: (params, caller) => ({ ...params, device_id: fixture.things.idOf('device', String(params.device_id), caller) }),
      handler: async (params) => {
        fixture.calls.push({ tool: 'blink', agent: '', params, traceId: '', sessionId: '' });
        return {};
      },
    }),
  );
  return fixture;
}

const storedConfig = (fixture: AgentFixture): JsonObject =>
  fixture.runner.directory.records().find(({ id }) => id === 'auto')?.config ?? {};

describe('an automation is bound to ids', () => {
  test('names of devices, sensors, scenes and tools become ids', async () => {
    const fixture = await namedHome();
    const config: JsonObject = {
      trigger: [
        { type: 'device_event', device_id: 'Wall switch', event: 'InitialPress' },
        { type: 'scene', scene_id: 'Cosy evening' },
      ],
      conditions: [{ type: 'not', conditions: [{ type: 'reading', sensor_id: 'Hall temperature', above: 25 }] }],
      actions: [
        { tool: 'lamp_turn_on' },
        {
          type: 'choose',
          options: [
            {
              conditions: [{ type: 'reachability', device_id: 'reading LAMP', is: 'reachable' }],
              actions: [{ tool: 'blink', params: { device_id: 'Reading lamp', times: { expr: '1 + 1' } } }],
            },
          ],
        },
      ],
    };
    expect(codeOf(await fixture.spawn(config, { permissions: PERMISSIONS }))).toBe('success');
    expect(storedConfig(fixture)).toEqual({
      trigger: [
        { type: 'device_event', device_id: 'switch', event: 'InitialPress' },
        { type: 'scene', scene_id: 'evening' },
      ],
      conditions: [{ type: 'not', conditions: [{ type: 'reading', sensor_id: SENSOR, above: 25 }] }],
      actions: [
        { tool: 'matter:lamp_turn_on' },
        {
          type: 'choose',
          options: [
            {
              conditions: [{ type: 'reachability', device_id: 'lamp', is: 'reachable' }],
              actions: [{ tool: 'matter:blink', params: { device_id: 'lamp', times: { expr: '1 + 1' } } }],
            },
          ],
        },
      ],
    });
    const { automations } = resultOf(await fixture.call('list_automations'));
    expect(automations).toMatchObject([
      {
        triggers: [
          { device_id: 'switch', device_name: 'Wall switch' },
          { scene_id: 'evening', scene_name: 'Cosy evening' },
        ],
        conditions: [{ conditions: [{ sensor_id: SENSOR, sensor_name: 'Hall temperature' }] }],
        actions: [
          {},
          { options: [{ conditions: [{ device_name: 'Reading lamp' }], actions: [{ device_id: 'lamp', device_name: 'Reading lamp' }] }] },
        ],
      },
    ]);
  });

  test('a rename changes nothing, and neither does the old name on another device', async () => {
    const fixture = await namedHome();
    const config = {
      trigger: { type: 'reading', sensor_id: SENSOR, above: 25 },
      actions: [{ tool: 'matter:blink', params: { device_id: 'Reading lamp' } }],
    };
    await fixture.spawn(config, { permissions: [...PERMISSIONS, 'device:control:switch'] });
    fixture.devices.devices = [
      makeDevice('lamp', { name: 'Bed lamp' }),
      makeDevice('hall-sensor'),
      makeDevice('switch', { name: 'Reading lamp' }),
    ];
    await fixture.report(20);
    await fixture.report(26);
    expect(fixture.calls.map(({ params }) => params)).toEqual([{ device_id: 'lamp' }]);
    expect(resultOf(await fixture.call('list_automations')).automations).toMatchObject([
      { actions: [{ device_id: 'lamp', device_name: 'Bed lamp' }] },
    ]);
  });

  test('a name that two devices have is refused', async () => {
    const fixture = await namedHome();
    fixture.devices.devices = [...fixture.devices.devices, makeDevice('lamp-2', { name: 'Reading lamp' })];
    const config = { trigger: { type: 'hub_start' }, actions: [{ tool: 'matter:blink', params: { device_id: 'Reading lamp' } }] };
    expect(codeOf(await fixture.spawn(config, { permissions: ['device:control:*'] }))).toBe('AMBIGUOUS_DEVICE');
  });

  test('a device that the permissions do not show is as unknown as one that does not exist', async () => {
    const fixture = await namedHome();
    const eve = fixture.agentWith('eve', ['agent:spawn', 'device:control:lamp']);
    const problemOf = async (device: string) => {
      const trigger = { type: 'reachability', device_id: device, becomes: 'unreachable' };
      const answer = await fixture.spawn({ trigger, actions: [LAMP_ON] }, { permissions: ['device:control:lamp'] }, eve);
      return answer.status === 'error' ? `${answer.error.code} ${answer.error.message.replaceAll(device, 'X')}` : 'success';
    };
    expect(await problemOf('switch')).toBe(await problemOf('no-such'));
    expect(await problemOf('Wall switch')).toBe(await problemOf('No such one'));
    expect(await problemOf('switch')).toContain('DEVICE_NOT_FOUND');
  });

  test('the name of a scene that the caller may not see stays a name, as that of one that does not exist', async () => {
    const fixture = await namedHome();
    const answerTo = async (by: Principal, scene: string) => {
      const text = `trigger: {type: scene, scene_id: ${scene}}\nactions: [{type: wait, seconds: 1}]`;
      const answer = resultOf(await fixture.call('hub:convert_automation', { text, permissions: ['scene:read:*'] }, by));
      return JSON.stringify(answer).replaceAll(scene, 'X');
    };
    const [eve, kim] = [fixture.agentWith('eve', ['agent:spawn']), fixture.agentWith('kim', ['agent:spawn', 'scene:read:*'])];
    expect(await answerTo(eve, 'Cosy evening')).toBe(await answerTo(eve, 'No such'));
    expect(await answerTo(kim, 'Cosy evening')).toContain('"scene_id":"evening"');
  });

  test('a name is shown only to who may see the thing', async () => {
    const fixture = await namedHome();
    await fixture.spawn({ trigger: { type: 'reading', sensor_id: SENSOR, above: 25 }, actions: [LAMP_ON] }, { permissions: PERMISSIONS });
    const keeper = fixture.agentWith('keeper', ['admin:agents']);
    const { automations } = resultOf(await fixture.call('list_automations', {}, keeper));
    expect(automations).toMatchObject([{ triggers: [{ sensor_id: SENSOR }] }]);
    expect(JSON.stringify(automations)).not.toContain('Hall temperature');
  });
});
