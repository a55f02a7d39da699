import { AtmoError } from '../../core/errors.ts';
import { withoutSecretTexts } from '../schema/secret-params.ts';
import type { Call } from './call.ts';
import { answerTo, checkedQuestion, type ToolAnswer, type ToolQuestion } from './tool-question.ts';

/** What a client needs so that it can be asked, as it declares it. */
const NEEDED = { client_capabilities: { elicitation: { form: {} } } };

/**
 * Asks the person behind the caller of a running call. NOT_SUPPORTED where nobody can be asked, CANCELLED or TIMEOUT when the
 * call ends before the answer, VALIDATION_ERROR for a question that cannot be shown or an answer that does not fit it.
 */
export async function askCaller(call: Call, question: ToolQuestion): Promise<ToolAnswer> {
  const { message, ...checked } = checkedQuestion(question);
  const { onQuestion } = call.request;
  if (call.tool.definition.execution.determinism !== 'nondeterministic')
    throw unasked(call, 'it says that its results follow from its parameters');
  if (!onQuestion) throw unasked(call, 'its caller cannot be asked');
  const { signal } = call.deadline;
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    const given = await Promise.race([
      onQuestion({ ...checked, message: withoutSecretTexts(message, call.secrets) }, signal),
      ended.promise,
    ]);
    const answer = answerTo(checked, { ...given });
    if (answer) return answer;
    throw new AtmoError('VALIDATION_ERROR', `The answer to a question of ${call.toolId} does not fit the form that was shown`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function unasked(call: Call, why: string): AtmoError {
  const advice = 'give what it needs as parameters, or call it with a client of the Model Context Protocol that shows forms (elicitation)';
  return new AtmoError('NOT_SUPPORTED', `${call.toolId} wants to ask something, but ${why}; ${advice}`, NEEDED);
}
