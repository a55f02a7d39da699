import type { ToolDefinition } from '../../tools/definition/tool-definition.ts';
import { headerRefs, refusalRefs } from './components.ts';
import { plainSchema } from './plain-schema.ts';

/** A tool as the document shows it. */
export interface DescribedTool {
  readonly id: string;
  readonly definition: ToolDefinition;
  readonly modelName: string;
}

/** The call of one tool, with the schemas of its definition. */
export function toolOperation({ definition, modelName }: DescribedTool): object {
  const { description, parameters, returns, metadata } = definition;
  const examples = metadata.examples.map((example, index): [string, object] => [
    `example${index + 1}`,
    { summary: example.description || metadata.title, value: example.params },
  ]);
  return {
    operationId: `call_${modelName}`,
    summary: metadata.title,
    description,
    tags: ['tools'],
    parameters: headerRefs(['traceparent', 'requestId', 'callerScopes', 'idempotencyKey', 'sessionId', 'timeoutMs', 'hub']),
    requestBody: {
      content: {
        'application/json': { schema: plainSchema(parameters), ...(examples.length > 0 && { examples: Object.fromEntries(examples) }) },
      },
    },
    responses: {
      200: { description: 'The invoke envelope with the result', content: { 'application/json': { schema: envelopeOf(returns) } } },
      202: { description: 'A person has to approve it first', content: { 'application/json': { schema: FAILED } } },
      ...refusalRefs([400, 401, 403, 404, 409, 413, 415, 429], 'RefusedCall'),
    },
  };
}

const ENVELOPE = { $ref: '#/components/schemas/CallAnswer' };
const FAILED = { $ref: '#/components/schemas/FailedCall' };

function envelopeOf(returns: ToolDefinition['returns']): object {
  return { allOf: [ENVELOPE, { type: 'object', properties: { result: plainSchema(returns) } }] };
}
