import { describe, expect, it } from 'vitest';
import { makeHttpApi } from '../http/http-fixture.ts';
import { modernClient, resultOf } from './mcp-clients.ts';

const OBJECT = { type: 'object' };

function lampTool(name: string, execution: object, extra: object = {}) {
  return { name, namespace: 'matter', description: `Does ${name}`, execution, returns: OBJECT, parameters: OBJECT, ...extra };
}

function home() {
  const setup = makeHttpApi();
  setup.addTool(lampTool('lamp_get_state', { side_effects: false }));
  setup.addTool(lampTool('lamp_turn_on', { side_effects: true }, { permissions: ['device:control:lamp'] }));
  setup.addTool(lampTool('door_unlock', { side_effects: true }, { permissions: ['device:control:door'], metadata: { dangerous: true } }));
  return setup;
}

describe('the default view', () => {
  it('lists the same dozen tools however many tools the home has', async () => {
    const few = await modernClient(home().httpApi);
    const setup = home();
    for (let index = 0; index < 500; index++)
      setup.addTool(lampTool(`lamp_${index}_turn_on`, { side_effects: true }, { permissions: [`device:control:lamp-${index}`] }));
    const many = await modernClient(setup.httpApi);
    const { tools } = await few.listTools();
    expect((await many.listTools()).tools).toEqual(tools);
    expect(tools.map(({ name }) => name)).toEqual([
      'home_overview',
      'search_tools',
      'describe_tool',
      'read_tool',
      'control_tool',
      'sensitive_tool',
      'read_sensor',
      'sensor_history',
    ]);
  });

  it('has one page, and names of tools that are switched off in none', async () => {
    const { httpApi, addTool } = makeHttpApi({}, { pipeline: { disabledTools: ['core:set_cover'] } });
    for (const name of ['set_cover', 'set_thermostat'])
      addTool(lampTool(name, { side_effects: true }, { namespace: 'core', permissions: ['device:control:hall'] }));
    const client = await modernClient(httpApi);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).slice(8)).toEqual(['set_thermostat']);
    // Few tokens: an answer explains itself, and no picture is needed.
    for (const tool of tools) expect([tool.name, tool.outputSchema, tool.icons]).toEqual([tool.name, undefined, undefined]);
    const params = { cursor: Buffer.from('core:set_cover@1.0.0').toString('base64url') };
    await expect(client.request({ method: 'tools/list', params })).rejects.toMatchObject({ code: -32_602 });
  });

  it('runs what reads by read_tool and what acts by control_tool, and tells which is which', async () => {
    const client = await modernClient(home().httpApi);
    expect(await resultOf(client, 'read_tool', { name: 'lamp_get_state' })).toEqual({ ok: true });
    expect(await resultOf(client, 'control_tool', { name: 'lamp_turn_on', arguments: {} })).toEqual({ ok: true });
    expect(await resultOf(client, 'read_tool', { name: 'lamp_turn_on' })).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { call_with: 'control_tool' },
    });
    expect(await resultOf(client, 'control_tool', { name: 'door_unlock' })).toMatchObject({ details: { call_with: 'sensitive_tool' } });
    expect(await resultOf(client, 'sensitive_tool', { name: 'lamp_turn_on' })).toMatchObject({ details: { call_with: 'control_tool' } });
  });
});
