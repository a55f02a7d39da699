import { AtmoError } from '../../core/errors.ts';
import type { JsonObject, JsonSchema } from '../../core/json.ts';
import type { CallAnswer } from '../../tools/calls/call-answer.ts';
import { type Answer, json, problem } from '../door/answer.ts';
import type { QueryOf, QuerySpec } from '../door/query.ts';
import { type DoorRequest, defineRoute, type Route, type Scope } from '../door/route.ts';
import type { CallPort } from '../ports.ts';
import { type CallWish, callOf } from './call-request.ts';

interface ToolRouteDraft<Spec extends QuerySpec> {
  readonly method: Route['method'];
  readonly path: string;
  readonly summary: string;
  /** The tool that does it, such as `hub:list_rules`. */
  readonly tool: string;
  /** `read_registry` for GET and `invoke_tool` otherwise, unless said here. */
  readonly scope?: Scope;
  readonly query?: Spec;
  readonly body?: JsonSchema;
  /** Status of success; 200 when absent. */
  readonly status?: 200 | 201;
  /** The tool's parameters; the body when absent. */
  params?(request: DoorRequest, query: QueryOf<Spec>): JsonObject;
}

/**
 * A route that is one call of a tool, so that permission, rules, approval and journal are those of every door. It answers
 * the bare result as JSON, or problem details: 202 with APPROVAL_REQUIRED while people have to agree.
 */
export function toolRoute<const Spec extends QuerySpec = Record<never, never>>(
  draft: ToolRouteDraft<Spec>,
): (pipeline: Pick<CallPort, 'call'>) => Route {
  const { tool, status = 200, params, ...head } = draft;
  return (pipeline) =>
    defineRoute<Spec>({
      scope: head.method === 'GET' ? 'read_registry' : 'invoke_tool',
      ...head,
      tool,
      answers: { [status]: `result of ${tool}`, 202: 'approval needed' },
      async handle(request, query) {
        const answer = await answerOfTool(pipeline, request, { tool, params: params?.(request, query) ?? request.body });
        return bareAnswer(answer, request, status);
      },
    });
}

/** Calls a tool for a request. */
export function answerOfTool(pipeline: Pick<CallPort, 'call'>, request: DoorRequest, wish: CallWish): Promise<CallAnswer> {
  return pipeline.call({ ...callOf(request, wish), signal: request.signal });
}

/** The bare result of a call, or problem details. */
export function bareAnswer(answer: CallAnswer, { trace }: DoorRequest, status = 200): Answer {
  if (answer.status === 'success') return json(answer.result, status);
  const { code, message, details } = answer.error;
  return problem(new AtmoError(code, message, details), trace);
}
