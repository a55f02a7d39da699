import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { normalizeDefinition, toPublicDefinition } from '../../../src/tools/definition/public-definition.ts';
import { type AnthropicTool, type McpTool, type OpenAiTool, toAnthropic, toMcp, toOpenAi } from '../../../src/tools/formats/model-apis.ts';
import { unlockDefinition as definition } from './unlock-definition.ts';

describe('each outside form and back', () => {
  test('public form: nothing is lost', () => {
    expect(normalizeDefinition(toPublicDefinition(definition))).toEqual(definition);
  });

  test('OpenAI and Anthropic: name, description and parameters, without our own keywords', () => {
    const openAi = toOpenAi(definition, 'unlock');
    expect(openAi).toMatchObject({ type: 'function', function: { name: 'unlock', parameters: { type: 'object', required: ['pin'] } } });
    expect(JSON.stringify(openAi)).not.toContain('x-secret');
    expect(fromOpenAi(openAi)).toEqual(fromAnthropic(toAnthropic(definition, 'unlock')));
    expect(normalizeDefinition(fromOpenAi(openAi))).toMatchObject({ name: 'unlock', description: 'Unlocks the front door' });
  });

  test('OpenAI takes no longer description than 1,024 characters; the others get it whole', () => {
    const long = { ...definition, description: `${'word '.repeat(205)}🔒${' word'.repeat(10)}` };
    const { description } = toOpenAi(long, 'unlock').function;
    expect([description.length <= 1_024, description.endsWith('word…')]).toEqual([true, true]);
    expect(toOpenAi({ ...definition, description: `${'x'.repeat(1_022)}🔒x` }, 'unlock').function.description).toBe(
      `${'x'.repeat(1_022)}…`,
    );
    expect(toOpenAi({ ...definition, description: 'x'.repeat(1_024) }, 'unlock').function.description).toHaveLength(1_024);
    expect(toAnthropic(long, 'unlock').description).toBe(long.description);
    expect(toMcp(long, 'unlock').description).toBe(long.description);
  });

  test('a tool without parameters still has an object with properties', () => {
    const bare = normalizeDefinition({ name: 'x', description: 'X', parameters: { type: 'object' } });
    expect(toAnthropic(bare, 'x').input_schema).toEqual({ type: 'object', properties: {} });
  });

  test('MCP: all four annotations, and an output schema only for objects', () => {
    const online = { ...definition, requires: { ...definition.requires, network: true } };
    expect([toMcp(online, 'x'), toMcp(definition, 'x')].map(({ annotations }) => annotations.openWorldHint)).toEqual([true, false]);
    const tool = toMcp(definition, 'unlock');
    expect(tool.annotations).toEqual({
      title: 'Unlock the door',
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    });
    expect(tool.outputSchema).toMatchObject({ type: 'object' });
    expect(toMcp({ ...definition, returns: {} }, 'unlock').outputSchema).toBeUndefined();
    const back = normalizeDefinition(fromMcp(tool));
    expect(toMcp(back, 'unlock').annotations).toEqual(tool.annotations);
  });
});

/** What a model-facing form still says of a tool; everything else gets the careful value again. */
interface ImportedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
}

/** Takes an OpenAI function apart. */
function fromOpenAi(tool: OpenAiTool): ImportedTool {
  return { name: tool.function.name, description: tool.function.description, parameters: tool.function.parameters };
}

/** Takes an Anthropic tool apart. */
function fromAnthropic(tool: AnthropicTool): ImportedTool {
  return { name: tool.name, description: tool.description, parameters: tool.input_schema };
}

/** Also the annotations, in the public form of a definition. */
function fromMcp(tool: McpTool): ImportedTool & { readonly title: string; readonly dangerous: boolean; readonly execution: JsonObject } {
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    parameters: tool.inputSchema,
    dangerous: tool.annotations.destructiveHint,
    execution: { side_effects: !tool.annotations.readOnlyHint, idempotent: tool.annotations.idempotentHint },
  };
}
