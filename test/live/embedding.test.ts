import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  AgentOsBaseTool,
  type AgentOsContext,
  type AnyTool,
  createLogger,
  defineTool,
  type ExecutionResult,
  Hub,
  type JsonObject,
  loadConfig,
  systemClock,
  type ToolContext,
} from '../../src/index.ts';

/** Tells in which role it is called. */
class Mirror extends AgentOsBaseTool {
  isShutDown = false;

  constructor() {
    super({
      id: 'mirror-v1',
      name: 'mirror',
      displayName: 'Mirror',
      description: 'Tells who looks into it',
      inputSchema: { type: 'object', properties: {} },
      requiredCapabilities: ['capability:mirror:look'],
      hasSideEffects: false,
    });
  }

  async execute(_args: JsonObject, { gmiId, personaId }: AgentOsContext): Promise<ExecutionResult> {
    return { success: true, output: { gmiId, personaId } };
  }

  override async shutdown(): Promise<void> {
    this.isShutDown = true;
  }
}

/** Claims more than it keeps. */
const lottery = defineTool(
  {
    name: 'lottery',
    title: 'Lottery',
    description: 'Draws a number',
    category: 'computing',
    hasSideEffects: false,
    determinism: 'deterministic',
    parameters: {},
  },
  async () => Math.random(),
);

const CONFIG = {
  matter: { enabled: false },
  http: { port: 0 },
  tools: { features: { hash: ['lab'] }, disabled: ['calculator'], max_calls_per_session: 2 },
  roles: {
    visitor: { permissions: ['mirror:look'] },
    chemist: { permissions: ['mirror:look'], features: ['lab'] },
  },
};

let stateDir: string;
let hub: Hub;
const logged: string[] = [];
const logger = createLogger('warn', (line) => logged.push(line));
beforeEach(() => {
  logged.length = 0;
  stateDir = mkdtempSync(join(tmpdir(), 'embedding-'));
});
afterEach(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(stateDir, { recursive: true });
});

async function startHub(tools: JsonObject = {}, ownTools: readonly AnyTool[] = []): Promise<Hub> {
  writeFileSync(join(stateDir, 'config.yaml'), JSON.stringify({ ...CONFIG, tools: { ...CONFIG.tools, ...tools } }));
  hub = new Hub({ clock: systemClock, logger }, { config: loadConfig({}, stateDir), version: '0.0.0', tools: ownTools });
  await hub.start();
  return hub;
}

async function call(token: string, name: string, args: JsonObject = {}, sessionId?: string) {
  const toolCallRequest = { id: 'call-1', function: { name, arguments: args } };
  return hub.orchestrator.processToolCall({ token, toolCallRequest, ...(sessionId !== undefined && { sessionId }) });
}

const ownerToken = () => readFileSync(join(stateDir, 'owner.token'), 'utf8').trim();

async function tokenOf(role: string): Promise<string> {
  const { output } = await call(ownerToken(), 'hub:mint_token', { agent_id: `a-${role}`, role });
  return String((output as JsonObject).token);
}

describe('a program with a hub inside itself', () => {
  test('adds a tool of its own, lets agents call it in their roles, and the hub shuts it down', async () => {
    const mirror = new Mirror();
    const { orchestrator, url } = await startHub();
    orchestrator.registerTool(mirror);
    const visitor = await tokenOf('visitor');
    expect(await call(visitor, 'mirror')).toEqual({
      tool_call_id: 'call-1',
      success: true,
      output: { gmiId: 'a-visitor', personaId: 'visitor' },
    });
    const offered = await orchestrator.listAvailableTools({ token: visitor });
    expect(offered.map(({ name }) => name)).toContain('mirror');
    expect(offered.map(({ name }) => name)).not.toContain('mint_token');
    const health = (await (await fetch(`${url}/healthz`)).json()) as JsonObject;
    expect(orchestrator.orchestratorId).toBe(health.node_id);
    expect(mirror.isShutDown).toBe(false);
    await hub[Symbol.asyncDispose]();
    expect(mirror.isShutDown).toBe(true);
  });

  test('is bound by what the owner configured: features by role, tools switched off, calls of a session', async () => {
    await startHub({ dynamic_registration: false });
    expect(() => hub.orchestrator.registerTool(new Mirror())).toThrow(/tools.dynamic_registration/);
    const [visitor, chemist] = [await tokenOf('visitor'), await tokenOf('chemist')];
    expect(await call(visitor, 'hash', { input: 'x' })).toMatchObject({ error: expect.stringContaining('PERMISSION_DENIED') });
    expect(await call(chemist, 'hash', { input: 'x' }, 'chat')).toMatchObject({ success: true });
    expect(await call(chemist, 'calculator', {}, 'chat')).toMatchObject({ error: expect.stringContaining('RULE_BLOCKED') });
    expect(await call(chemist, 'echo', { value: 1 }, 'chat')).toMatchObject({ error: expect.stringContaining('RATE_LIMITED') });
  });

  test('decides how strict the hub is with what tools declare', async () => {
    await startHub({ invalid_results: 'warn', undescribed_parameters: 'refuse', max_params_bytes: 20 });
    const { orchestrator } = hub;
    const bare = { ...lottery.definition, parameters: { type: 'object', properties: { n: { type: 'number' } } } };
    expect(() => orchestrator.registerTool({ ...lottery, definition: bare })).toThrow(/The parameter has no description/);
    orchestrator.registerTool({ ...lottery, definition: { ...lottery.definition, returns: { type: 'string' } } });
    expect(await call(ownerToken(), 'lottery')).toMatchObject({ success: true, output: expect.any(Number) });
    expect(await call(ownerToken(), 'echo', { value: 'x'.repeat(20) })).toMatchObject({
      error: expect.stringContaining('PAYLOAD_TOO_LARGE'),
    });
  });

  test('is bound by rules, the rate of a token, time limits and slots', async () => {
    const rules = { rules: [{ name: 'no hashes', effect: 'deny', reason: 'not today', when: { tool: 'core:hash', kind: 'agent' } }] };
    writeFileSync(join(stateDir, 'rules.yaml'), JSON.stringify(rules), { mode: 0o600 });
    const { orchestrator } = await startHub({ features: {}, default_timeout_ms: 2_000, max_concurrent: 1, max_queued: 1 });
    const { output } = await call(ownerToken(), 'hub:mint_token', {
      agent_id: 'a',
      permissions: ['x:y'],
      rate_per_minute: 2,
    });
    const token = String((output as JsonObject).token);
    expect(await call(token, 'hash', { input: 'x' })).toMatchObject({ error: expect.stringContaining('RULE_BLOCKED') });
    expect(await call(token, 'echo', { value: 1 })).toMatchObject({ success: true });
    expect(await call(token, 'echo', { value: 1 })).toMatchObject({ error: expect.stringContaining('RATE_LIMITED') });
    expect(await call(ownerToken(), 'hash', { input: 'x' })).toMatchObject({ success: true });
    const handler = (_: JsonObject, { signal }: ToolContext) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    orchestrator.registerTool({ ...lottery, handler });
    const three = await Promise.all([1, 2, 3].map(() => call(ownerToken(), 'lottery')));
    expect(three.map(({ error }) => error?.split(':')[0]).sort()).toEqual(['RESOURCE_EXCEEDED', 'TIMEOUT', 'TIMEOUT']);
  });

  test('is told which names of the configuration mean no tool', async () => {
    await startHub({ disabled: ['core:echo', 'current_time', 'hash@1.0.0', 'ehco'], features: { hash: ['lab'], 'core:hsah': ['lab'] } });
    const warnings = logged.map((line) => JSON.parse(line) as JsonObject).filter(({ event }) => event === 'config.tool_not_found');
    expect(warnings.map(({ setting, name }) => `${setting} ${name}`)).toEqual([
      'tools.disabled hash@1.0.0',
      'tools.disabled ehco',
      'tools.features core:hsah',
    ]);
  });

  test('finds every tool of the hub that is declared deterministic or bounded honest', async () => {
    const { orchestrator } = await startHub();
    const honest = await call(ownerToken(), 'hub:check_determinism');
    expect(honest).toMatchObject({ success: true, output: { dishonest: [] } });
    const { checked } = honest.output as { checked: number };
    expect(checked).toBeGreaterThanOrEqual(4);
    orchestrator.registerTool(lottery);
    expect(await call(ownerToken(), 'hub:check_determinism')).toMatchObject({
      output: { checked: checked + 1, dishonest: [{ tool: 'core:lottery@1.0.0' }] },
    });
  });

  test('gives the hub tools at start, which is no registration while it runs, and learns there that one is refused', async () => {
    const mirror = new Mirror();
    await startHub({ dynamic_registration: false }, [mirror, lottery]);
    expect(await call(await tokenOf('visitor'), 'mirror')).toMatchObject({ success: true });
    await hub[Symbol.asyncDispose]();
    expect(mirror.isShutDown).toBe(true);
    await expect(startHub({}, [lottery, lottery])).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  test('cannot use the tools before the hub has started', () => {
    hub = new Hub({ clock: systemClock, logger }, { config: loadConfig({}, stateDir), version: '0.0.0' });
    expect(() => hub.orchestrator).toThrow(/wait for start/);
  });
});
