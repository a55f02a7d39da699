import { describe, expect, test } from 'vitest';
import {
  AgentOsBaseTool,
  type AgentOsContext,
  type ArgumentsCheck,
  type ExecutionResult,
  toExecutionResult,
  toToolResponse,
} from '../../src/calls/formats/agent-os.ts';
import { ToolOrchestrator } from '../../src/calls/tool-orchestrator.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { createJsonSchema } from '../../src/tools/definition/define-tool.ts';
import { capabilityOf, ToolClass, type ToolResult } from '../../src/tools/definition/tool-class.ts';
import type { RegisteredTool } from '../../src/tools/definition/tool-definition.ts';
import { CapabilityCatalogue } from '../../src/tools/registry/capability-catalogue.ts';
import { RemoteToolsFake, toolOf } from '../tools/registry/remote-tools-fake.ts';
import { agent, makePipeline, makeTool, owner, withToken } from './pipeline-fixture.ts';

/** The sample of the AgentOS documentation, as it is written there. */
class SampleCalculatorTool extends AgentOsBaseTool {
  readonly contexts: AgentOsContext[] = [];
  isShutDown = false;

  constructor() {
    super({
      id: 'sample-calculator-v1.0',
      name: 'calculateBasic',
      displayName: 'Basic Calculator',
      description: 'Adds or divides two numbers.',
      inputSchema: {
        type: 'object',
        properties: {
          operation: { type: 'string', enum: ['add', 'divide'], description: 'What to do' },
          operand1: { type: 'number', description: 'First number' },
          operand2: { type: 'number', description: 'Second number' },
        },
        required: ['operation', 'operand1', 'operand2'],
      },
      outputSchema: { type: 'object', properties: { result: { type: 'number' } }, required: ['result'] },
      requiredCapabilities: ['capability:math:calculate'],
      category: 'Computation',
      version: '1.0.3',
      hasSideEffects: false,
    });
  }

  async execute({ operation, operand1, operand2 }: JsonObject, context: AgentOsContext): Promise<ExecutionResult> {
    this.contexts.push(context);
    if (operation === 'add') return { success: true, output: { result: Number(operand1) + Number(operand2) } };
    if (operand2 === 0) return { success: false, error: 'Cannot divide by zero.', details: { code: 'CONFLICT', operation: 'divide' } };
    if (operand2 === 99) return { success: false, error: 'Too much.', details: { code: 'E_TOO_MUCH', operation: 'divide' } };
    const output = { result: Number(operand1) / Number(operand2) };
    return { success: true, output, contentType: 'application/vnd.sum+json', details: { rounded: false } };
  }

  override async validateArgs({ operand1 }: JsonObject): Promise<ArgumentsCheck> {
    return operand1 === 13 ? { isValid: false, errors: ['thirteen is not for sums'] } : super.validateArgs({});
  }

  override async shutdown(): Promise<void> {
    this.isShutDown = true;
  }
}

/** A tool of a program around the hub. */
class Greeter extends ToolClass {
  readonly definition = {
    name: 'greet',
    description: 'Greets somebody',
    parameters: createJsonSchema({ name: { type: 'string', description: 'Whom' } }, ['name']),
    execution: { side_effects: false },
  };

  async execute({ name }: JsonObject): Promise<ToolResult> {
    return { success: true, result: `Hello ${name}` };
  }
}

const TOKENS: Readonly<Record<string, Principal>> = {
  'of the owner': owner,
  'of a counter': withToken(agent('math:calculate')),
  'of a stranger': withToken(agent('notify:send')),
};

function room(
  options: { readonly isDynamicRegistrationAllowed: boolean } = { isDynamicRegistrationAllowed: true },
  remote = new RemoteToolsFake([]),
) {
  const types = () => capabilities.types();
  const made = makePipeline({ remote, roleOf: ({ token }) => token && 'accountant', capabilities: types });
  const capabilities = new CapabilityCatalogue(made.registry);
  const authenticator = {
    authenticate: async ({ bearer = '' }: { readonly bearer?: string }) => {
      const principal = TOKENS[bearer];
      if (principal) return { principal };
      throw new AtmoError('TOKEN_INVALID', 'This is not a token of this hub');
    },
  };
  const orchestrator = new ToolOrchestrator({ ...made, authenticator, capabilities }, { orchestratorId: 'hub-1', ...options });
  const calculator = new SampleCalculatorTool();
  const calculate = (args: unknown, token = 'of a counter') =>
    orchestrator.processToolCall({ token, toolCallRequest: { id: 'call_7', function: { name: 'calculateBasic', arguments: args } } });
  return { ...made, orchestrator, calculator, calculate, capabilities };
}

describe('processToolCall', () => {
  test('runs a tool of the ITool class with arguments as text or object, and answers under the id of the call', async () => {
    const { orchestrator, calculator, calculate, audited } = room();
    expect(orchestrator.registerTool(calculator)).toBe('agentos:calculateBasic@1.0.3');
    const expected = { tool_call_id: 'call_7', success: true, output: { result: 5 } };
    expect(await calculate('{"operation":"add","operand1":2,"operand2":3}')).toEqual(expected);
    expect(await calculate({ operation: 'add', operand1: 2, operand2: 3 })).toEqual(expected);
    expect(audited.map(({ kind, requestId }) => `${kind} ${requestId}`)).toEqual([
      'intent call_7',
      'outcome call_7',
      'intent call_7',
      'outcome call_7',
    ]);
  });

  test('tells the tool who calls, in which role, trace and session', async () => {
    const { orchestrator, calculator } = room();
    orchestrator.registerTool(calculator);
    const args = { operation: 'add', operand1: 2, operand2: 3 };
    const toolCallRequest = { id: 'c', function: { name: 'sample-calculator-v1.0', arguments: args } };
    const given = { userContext: { name: 'Ann', userId: 'forged' }, sessionData: { step: 2, sessionId: 'forged' } };
    await orchestrator.processToolCall({ token: 'of a counter', toolCallRequest, correlationId: 'trace-1', sessionId: 'chat-1', ...given });
    await orchestrator.processToolCall({ token: 'of the owner', toolCallRequest });
    expect(calculator.contexts).toMatchObject([
      { gmiId: 'agent-1', personaId: 'accountant', userContext: { userId: 'agent-1', name: 'Ann' }, correlationId: 'trace-1' },
      { gmiId: 'owner', personaId: 'owner' },
    ]);
    expect(calculator.contexts[0]?.sessionData).toEqual({ sessionId: 'chat-1', step: 2 });
  });

  test('answers every refusal and failure as a result', async () => {
    const { orchestrator, calculator, calculate } = room();
    orchestrator.registerTool(calculator);
    const sum = { operation: 'add', operand1: 2, operand2: 3 };
    const failed = { tool_call_id: 'call_7', success: false, output: null };
    const saying = (text: string) => ({ ...failed, error: expect.stringContaining(text) });
    expect(await calculate({ ...sum, operation: 'divide', operand2: 0 })).toEqual(saying('Cannot divide by zero.'));
    expect(await calculate({ ...sum, operand1: 'two' })).toEqual(saying('VALIDATION_ERROR'));
    expect(await calculate({ ...sum, operand1: 13 })).toEqual(saying('VALIDATION_ERROR: The tool calculateBasic refuses'));
    expect(await calculate('{operation')).toEqual(saying('VALIDATION_ERROR: The arguments of the call are not JSON'));
    expect(await calculate(sum, 'of a stranger')).toEqual(saying('TOOL_NOT_FOUND'));
    expect(await calculate(sum, 'of nobody')).toEqual(saying('TOKEN_INVALID'));
    expect(calculator.contexts).toHaveLength(1);
  });
});

describe('call', () => {
  test('has the whole answer, of which other forms keep media type, code and details', async () => {
    const { orchestrator, calculator } = room();
    orchestrator.registerTool(calculator);
    const divide = (operand2: number) =>
      orchestrator.call({ token: 'of a counter', tool: 'calculateBasic', params: { operation: 'divide', operand1: 6, operand2 } });
    const answer = await divide(3);
    expect(answer).toMatchObject({ status: 'success', content_type: 'application/vnd.sum+json', details: { rounded: false } });
    expect(toExecutionResult(answer)).toEqual({
      success: true,
      output: { result: 2 },
      contentType: 'application/vnd.sum+json',
      details: { rounded: false },
    });
    expect(toToolResponse(answer).metadata.source).toBe('tool');
    expect(toToolResponse(answer, 'cache')).toMatchObject({ data: { result: 2 }, metadata: { source: 'cache' } });
    const failed = await divide(0);
    expect(toExecutionResult(failed)).toMatchObject({ success: false, details: { code: 'CONFLICT', operation: 'divide' } });
    expect(toToolResponse(failed, 'mock').metadata.source).toBe('error');
    const ownCode = await divide(99);
    expect(ownCode).toMatchObject({ error: { code: 'SERVICE_REFUSED', message: 'Too much.' } });
    expect(toExecutionResult(ownCode)).toMatchObject({ success: false, details: { code: 'E_TOO_MUCH', operation: 'divide' } });
    await expect(orchestrator.call({ token: 'of nobody', tool: 'calculateBasic', params: {} })).rejects.toThrow('not a token');
  });

  const longest = `text/plain; a=${'x'.repeat(241)}`;
  test.each([
    ['text/plain\r\nx: y', 'VALIDATION_ERROR'],
    [`${longest}x`, 'VALIDATION_ERROR'],
    [longest, 'success'],
  ])('of a tool that names %j as its media type is %s', async (type, code) => {
    const { orchestrator } = room();
    const handler: RegisteredTool['handler'] = async (_params, { contentType }) => {
      contentType(type);
      return 1;
    };
    orchestrator.registerTool(makeTool({ name: 'odd', handler }));
    const answer = await orchestrator.call({ token: 'of the owner', tool: 'odd', params: {} });
    expect(answer.status === 'error' ? answer.error.code : answer.status).toBe(code);
  });
});

describe('what a caller may do', () => {
  test('listAvailableTools has what the token may call, with schemas for models', async () => {
    const { orchestrator, calculator } = room();
    orchestrator.registerTool(calculator);
    orchestrator.registerTool(new Greeter());
    const names = async (token: string) => (await orchestrator.listAvailableTools({ token })).map(({ name }) => name);
    expect(await names('of a counter')).toEqual(['calculatebasic', 'greet']);
    expect(await names('of a stranger')).toEqual(['greet']);
    expect(await names('of nobody')).toEqual([]);
    const [offered] = await orchestrator.listAvailableTools({ token: 'of a counter' });
    expect(offered).toEqual({ name: 'calculatebasic', description: calculator.description, inputSchema: calculator.inputSchema });
    expect(calculator.getDefinitionForLLM()).toEqual({
      name: 'calculateBasic',
      description: calculator.description,
      parameters: calculator.inputSchema,
    });
  });

  test('listAvailableTools has the tools of other hubs too', async () => {
    const { orchestrator } = room(undefined, new RemoteToolsFake([toolOf(['hub-2'], { name: 'watch' })]));
    expect((await orchestrator.listAvailableTools({ token: 'of a stranger' })).map(({ name }) => name)).toEqual(['watch']);
  });

  test('isExecutionAllowed says beforehand what a call would be told', async () => {
    const { orchestrator, calculator, audited } = room();
    orchestrator.registerTool(calculator);
    const ask = (token: string, params?: JsonObject) =>
      orchestrator.isExecutionAllowed({ token, tool: 'calculateBasic', ...(params && { params }) });
    expect(await ask('of a counter')).toEqual({ isAllowed: true });
    expect(await ask('of a counter', {})).toMatchObject({ isAllowed: false, reason: expect.stringContaining('VALIDATION_ERROR') });
    expect(await ask('of a stranger')).toMatchObject({ isAllowed: false, reason: expect.stringContaining('TOOL_NOT_FOUND') });
    expect(await ask('of nobody')).toMatchObject({ isAllowed: false, reason: expect.stringContaining('TOKEN_INVALID') });
    expect(audited).toEqual([]);
  });
});

describe('tools that come while the hub runs', () => {
  test('may be written in any form, and give back what they hold when they go', async () => {
    const { orchestrator, calculator, calculate } = room();
    const id = orchestrator.registerTool(calculator);
    expect(orchestrator.registerTool(new Greeter())).toBe('core:greet@1.0.0');
    expect(orchestrator.registerTool(makeTool({ name: 'look' }))).toBe('core:look@1.0.0');
    expect(() => orchestrator.registerTool(new Greeter())).toThrow(/already registered/);
    expect(orchestrator.unregisterTool(id)).toBe(true);
    expect(calculator.isShutDown).toBe(true);
    expect(await calculate({})).toMatchObject({ success: false, error: expect.stringContaining('TOOL_NOT_FOUND') });
  });

  test('may come with a capability that the hub has from then on', async () => {
    const { orchestrator, capabilities, registry } = room();
    const call = () => orchestrator.call({ token: 'of the owner', tool: 'greet', params: { name: 'Ann' } });
    expect(orchestrator.registerCapability(capabilityOf({ type: 'manners', description: 'Greets' }, [new Greeter()]))).toEqual([
      'core:greet@1.0.0',
    ]);
    expect(capabilities.types()).toEqual(['manners']);
    expect(registry.resolve('greet').definition.requires.capabilities).toEqual(['manners']);
    expect(await call()).toMatchObject({ result: 'Hello Ann' });
    const lacking = capabilityOf({ type: 'wit', description: 'Jokes' }, [new Greeter()]);
    expect(() => orchestrator.registerCapability({ ...lacking, getToolHandler: () => undefined })).toThrow(/has no handler/);
    expect(capabilities.types()).toEqual(['manners']);
  });

  test('are refused where the configuration does not want them', () => {
    const { orchestrator, calculator, registry } = room({ isDynamicRegistrationAllowed: false });
    const { id } = makeTool({ name: 'look' });
    registry.register(makeTool({ name: 'look' }));
    expect(() => orchestrator.registerTool(calculator)).toThrow(/tools.dynamic_registration/);
    expect(() => orchestrator.unregisterTool(id)).toThrow(/tools.dynamic_registration/);
    expect(registry.all().map((tool) => tool.id)).toEqual([id]);
  });

  test('with a root schema that is no object are refused, as a model server would', () => {
    const { orchestrator } = room();
    class Wrong extends SampleCalculatorTool {
      override readonly inputSchema = { type: 'string' };
    }
    expect(() => orchestrator.registerTool(new Wrong())).toThrow(/has to be "object": model servers refuse any other root/);
  });
});
