import { describe, expect, test } from 'vitest';
import { GrantAuthorizer } from '../../../src/auth/grant-authorizer.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { callerView, canSeeTool, mayCallTool } from '../../../src/tools/definition/tool-permissions.ts';
import { agent, listAuthorizer, makePipeline, makeTool, owner } from '../../calls/pipeline-fixture.ts';
import { NO_REMOTE_GROUPS } from '../../no-device-facts.ts';

const sees = (grant: string, permission: string) => callerView(agent(grant), listAuthorizer).canSee(permission);

describe('what a caller may know of', () => {
  test.each([
    ['device:read:lamp', 'device:control:lamp', true],
    ['device:read:lamp', 'device:control:lock', false],
    ['device:read:*', 'device:control:lock', true],
    ['device:*', 'device:control:lock', true],
    ['device:control', 'device:control:lock', false],
    ['sensor:read:hall/*', 'sensor:read:hall/temperature', true],
    ['sensor:read:hall/*', 'sensor:read:hallway/temperature', false],
    ['sensor:read:hall/*', 'sensor:read:hall/', false],
    ['notify:read', 'notify:send', true],
    ['device:control:lamp', 'device:control:{device_id}', true],
    ['sensor:read:x', 'device:control:{device_id}', false],
    ['*', 'device:control:lock', true],
    ['*', 'admin:device:lock', false],
    ['admin:*', 'admin:device:lock', true],
  ])('a grant of %s and what needs %s: %s', (grant, permission, isSeen) => {
    expect(sees(grant, permission)).toBe(isSeen);
  });

  test('grants by type reach the devices of the type', () => {
    const groups = { isMember: (resource: string) => resource === 'lamp' };
    const byType = new GrantAuthorizer({ groups, elsewhere: NO_REMOTE_GROUPS, validity: { isStillValid: () => true } });
    const caller = callerView(agent('device:control:@type/light'), byType);
    expect(caller.canSee('device:control:lamp')).toBe(true);
    expect(caller.canSee('device:control:lock')).toBe(false);
    expect(sees('device:control:@type/light', 'device:control:lamp')).toBe(false);
  });

  test('a tool that requires nothing is for everybody, a hub tool only for administrators', () => {
    expect(canSeeTool(makeTool({}), agent(), listAuthorizer)).toBe(true);
    const hubTool = makeTool({ permissions: ['admin:device:{device_id}'] });
    expect(canSeeTool(hubTool, agent('*'), listAuthorizer)).toBe(false);
    expect(canSeeTool(hubTool, owner, listAuthorizer)).toBe(true);
  });

  test('a tool for something that the caller only reads exists for it, but is in no list of its', () => {
    const tool = makeTool({ permissions: ['notify:send'] });
    const reader = agent('notify:read:*');
    expect(canSeeTool(tool, reader, listAuthorizer)).toBe(true);
    expect(mayCallTool(tool, reader, listAuthorizer)).toBe(false);
    expect(mayCallTool(tool, agent('notify:send'), listAuthorizer)).toBe(true);
  });
});

describe('what a caller may not see', () => {
  const caller = agent('device:control:lamp', 'notify:read');
  const visible = [
    makeTool({ name: 'lamp_on', namespace: 'matter', permissions: ['device:control:lamp'] }),
    makeTool({ name: 'send', namespace: 'notify', permissions: ['notify:send'] }),
    makeTool({ name: 'status', namespace: 'matter', permissions: ['device:control:lamp'] }),
    makeTool({ name: 'status', namespace: 'matter', version: '1.2.0', permissions: ['device:control:lamp'] }),
  ];
  const hidden = [
    makeTool({
      name: 'lock_open',
      namespace: 'matter',
      permissions: ['device:control:lock'],
      dangerous: true,
      execution: { side_effects: true },
    }),
    makeTool({ name: 'lock_open', namespace: 'other', permissions: ['device:control:lock'] }),
    makeTool({ name: 'lamp_on', namespace: 'other', permissions: ['device:control:lock'] }),
    makeTool({ name: 'status', permissions: ['device:control:lock'] }),
    makeTool({ name: 'status', namespace: 'matter', version: '2.0.0', permissions: ['device:control:lock'] }),
    makeTool({ name: 'Lock-Open', namespace: 'matter', permissions: ['device:control:lock'] }),
  ];

  /** Every answer of a hub that has `tools`, without what differs from call to call. */
  async function answers(tools: readonly RegisteredTool[], options = {}) {
    const { pipeline, registry } = makePipeline({}, options);
    for (const tool of tools) registry.register(tool);
    registry.alias('open_sesame', 'matter:lock_open');
    const names = [
      ...[
        'lock_open',
        'lock_opem',
        'matter:lock_open',
        'matter:lock_open@1.0.0',
        'matter:lock_open@^9',
        'other:lock_open',
        'core:lock_open',
      ],
      ...[
        'matter_lock_open',
        'lock-open',
        'Lock-Open',
        'open_sesame',
        'LOCK_OPEN',
        'lock',
        'lamp_on',
        'status',
        'status@2',
        'matter:status@>=2',
      ],
      ...[
        'send',
        'notify:sned',
        'unlock',
        '',
        ' ',
        ':',
        '@',
        'matter:',
        '*',
        '../lock_open',
        'lock_open\u0000',
        'constructor',
        '__proto__',
      ],
    ];
    const told: string[] = [];
    for (const tool of names) {
      for (const change of [{}, { version: '>=2.0.0' }, { timeoutMs: -5 }, { params: 'no object' }]) {
        const answer = await pipeline.call({ principal: caller, tool, params: {}, ...change });
        told.push(JSON.stringify([tool, change, answer.status, answer.status === 'error' ? answer.error : answer.result]));
      }
      const asked = await pipeline.preflight({ principal: caller, tool, params: {} });
      told.push(JSON.stringify([tool, asked]));
    }
    return told;
  }

  test('answers byte for byte like what does not exist, by any of its names and versions', async () => {
    expect(await answers([...hidden, ...visible])).toEqual(await answers(visible));
  });

  test('is not told to be switched off either', async () => {
    const options = { disabledTools: ['lock_open', 'core:status', 'Lock-Open'] };
    expect(await answers([...hidden, ...visible], options)).toEqual(await answers(visible, options));
  });

  test('is not suggested, and neither is what the caller could never call', async () => {
    const { pipeline, registry } = makePipeline();
    for (const tool of [...hidden, ...visible]) registry.register(tool);
    const answer = await pipeline.call({ principal: caller, tool: 'notify:sent', params: {} });
    expect(answer).toMatchObject({ error: { code: 'TOOL_NOT_FOUND', details: { suggestions: [] } } });
    const near = await pipeline.call({ principal: caller, tool: 'lamp_of', params: {} });
    expect(near).toMatchObject({ error: { details: { suggestions: ['lamp_on'] } } });
  });

  test('what it may see but not call is refused with what is required and what it has', async () => {
    const { pipeline, registry } = makePipeline();
    for (const tool of visible) registry.register(tool);
    expect(await pipeline.call({ principal: caller, tool: 'send', params: {} })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { required: ['notify:send'], actual: caller.permissions } },
    });
  });
});
