import { describe, expect, it } from 'vitest';
import { sequenceTool } from '../../../src/calls/composition/steps.ts';
import { agent, makeTool } from '../../calls/pipeline-fixture.ts';
import { authenticatorOf, makeHttpApi } from '../../http/http-fixture.ts';
import { legacyClient, modernClient, resultOf } from '../mcp-clients.ts';

/** A generic tool, which is as dangerous as what it is told to do. */
const GENERIC = makeTool({
  name: 'control_anything',
  namespace: 'matter',
  description: 'Sends any command',
  execution: { side_effects: true },
  parameters: { type: 'object', properties: { command: { type: 'string', description: 'Which' } }, required: ['command'] },
  permissions: ['device:control:door'],
  effects: ({ command }) => [
    { permission: 'device:control:door', risk: command === 'unlock' ? 'dangerous' : 'low', target: `door/1/DoorLock/${command}` },
  ],
});

function home(permissions: readonly string[] = ['device:control:door']) {
  const setup = makeHttpApi({ authenticator: authenticatorOf({ narrow: agent(...permissions) }) });
  setup.registry.register(GENERIC);
  return setup;
}

const call = (command: string) => ({ name: 'control_anything', arguments: { command } });

describe('the tools that call others', () => {
  it('judge by what the arguments do, not by the name of the tool', async () => {
    const client = await modernClient(home().httpApi);
    expect(await resultOf(client, 'control_tool', call('lock'))).toEqual({ ok: true });
    expect(await resultOf(client, 'control_tool', call('unlock'))).toMatchObject({ details: { call_with: 'sensitive_tool' } });
    expect(await resultOf(client, 'sensitive_tool', call('lock'))).toMatchObject({ details: { call_with: 'control_tool' } });
  });

  it('each refuse what another one is for, before anything is done', async () => {
    const setup = home();
    const done: string[] = [];
    const tool = (name: string, extra: object) => setup.addTool({ ...extra, name, handler: async () => ({ done: done.push(name) }) });
    tool('look', {});
    tool('move', { execution: { side_effects: true }, permissions: ['device:control:door'] });
    tool('open', { execution: { side_effects: true }, dangerous: true, permissions: ['device:control:door'] });
    const client = await modernClient(setup.httpApi);
    const fitting = { look: 'read_tool', move: 'control_tool', open: 'sensitive_tool' };
    for (const proxy of Object.values(fitting)) {
      for (const [name, own] of Object.entries(fitting)) {
        if (own === proxy) continue;
        const answer = await resultOf(client, proxy, { name, arguments: {} });
        expect([proxy, name, answer]).toEqual([
          proxy,
          name,
          expect.objectContaining({ code: 'VALIDATION_ERROR', details: { call_with: own } }),
        ]);
      }
    }
    expect(done).toEqual([]);
    await resultOf(client, 'read_tool', { name: 'look', arguments: {} });
    await resultOf(client, 'control_tool', { name: 'move', arguments: {} });
    expect(done).toEqual(['look', 'move']);
  });

  it('call a composed tool that has a dangerous step what it is', async () => {
    const setup = home();
    setup.addTool({
      name: 'leave',
      permissions: ['device:control:door'],
      execution: { side_effects: true },
      tags: ['composed', 'needs_approval'],
    });
    const client = await modernClient(setup.httpApi);
    const wish = { name: 'leave', arguments: {} };
    expect(await resultOf(client, 'control_tool', wish)).toMatchObject({ details: { call_with: 'sensitive_tool' } });
    expect(await resultOf(client, 'sensitive_tool', wish)).toEqual({ ok: true });
  });

  it('judge a sequence by the worst of its steps, also where a step is told only later what to do', async () => {
    const setup = home(['device:control:door', 'sequence:run']);
    setup.registry.register(sequenceTool(() => setup.pipeline));
    const step = (command: unknown) => ({ tool: 'control_anything', params: { command } });
    const sequence = (...steps: object[]) => ({ name: 'sequence', arguments: { steps } });
    const client = await modernClient(setup.httpApi);
    for (const command of ['unlock', { $result: '0/command' }]) {
      const wish = sequence(step('lock'), step(command));
      expect(await resultOf(client, 'control_tool', wish)).toMatchObject({ details: { call_with: 'sensitive_tool' } });
    }
    expect(await resultOf(client, 'sensitive_tool', sequence(step('lock')))).toMatchObject({ details: { call_with: 'control_tool' } });
  });

  it('run what is dangerous through the same gates as every door', async () => {
    const client = await modernClient(home().httpApi);
    expect(await resultOf(client, 'sensitive_tool', call('unlock'))).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('write each call to the journal, with the trace of the request', async () => {
    const setup = home();
    const client = await modernClient(setup.httpApi);
    await resultOf(client, 'control_tool', call('lock'));
    expect(setup.audited.at(-1)).toMatchObject({ kind: 'outcome', toolId: GENERIC.id, traceId: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });

  it('say what is wrong with arguments, whatever the era', async () => {
    const setup = home();
    const wish = { name: 'control_anything', arguments: {} };
    for (const client of [await modernClient(setup.httpApi), await legacyClient(setup.httpApi)]) {
      expect(await resultOf(client, 'control_tool', wish)).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { problems: [expect.anything()] },
      });
    }
  });

  it('know no tool that the caller may not see, and tell of those near a name', async () => {
    const client = await modernClient(home(['sensor:read']).httpApi, { token: 'narrow' });
    expect(await resultOf(client, 'control_tool', call('lock'))).toMatchObject({ code: 'TOOL_NOT_FOUND' });
    const seeing = await modernClient(home().httpApi, { token: 'narrow' });
    const failed = await resultOf(seeing, 'control_tool', { ...call('lock'), name: 'control_anythin' });
    expect(failed).toMatchObject({ code: 'TOOL_NOT_FOUND', message: expect.stringContaining('control_anything') });
  });

  it('are named when a tool of the home is called as if it were listed', async () => {
    const client = await legacyClient(home().httpApi);
    const failed: unknown = await client.callTool({ name: 'control_anything', arguments: {} }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: -32_602, message: expect.stringContaining('is called by control_tool') });
  });
});
