import { AtmoError } from '../../../core/errors.ts';
import { withoutSecretTexts } from '../../schema/secret-params.ts';
import type { Call } from '../call.ts';
import type { CallRequest } from '../call-answer.ts';
import { answerTo, checkedQuestion, type ToolAnswer, type ToolQuestion } from './tool-question.ts';

/** What a client needs so that it can be asked, as it declares it. */
const NEEDED = { client_capabilities: { elicitation: { form: {} } } };
const ADVICE = 'give what it needs as parameters, or call it with a client of the Model Context Protocol that shows forms (elicitation)';

/** Somebody who can be asked, perhaps, until the signal aborts. */
interface Askable {
  readonly ask?: CallRequest['onQuestion'];
  readonly signal: AbortSignal;
}

/** Asks the person behind the caller of a running call, as `putQuestion` does. NOT_SUPPORTED for tools that promise the same result. */
export async function askCaller(call: Call, { message, ...question }: ToolQuestion): Promise<ToolAnswer> {
  if (call.tool.definition.execution.determinism !== 'nondeterministic')
    throw new AtmoError('NOT_SUPPORTED', `${call.toolId} says that its results follow from its parameters, so it cannot ask; ${ADVICE}`);
  const { onQuestion: ask } = call.request;
  return putQuestion(
    { ...question, message: withoutSecretTexts(message, call.secrets) },
    { ...(ask && { ask }), signal: AbortSignal.any([call.deadline.signal, call.questionsEnd]) },
  );
}

/**
 * Asks and waits. NOT_SUPPORTED where nobody can be asked, the signal's reason when it aborts first, VALIDATION_ERROR for a
 * question that no form can show or an answer that does not fit it.
 */
export async function putQuestion(question: ToolQuestion, { ask, signal }: Askable): Promise<ToolAnswer> {
  const checked = checkedQuestion(question);
  if (!ask) throw new AtmoError('NOT_SUPPORTED', `Something has to be asked, and the caller cannot be; ${ADVICE}`, NEEDED);
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    const answer = answerTo(checked, { ...(await Promise.race([ask(checked, signal), ended.promise])) });
    if (answer) return answer;
    throw new AtmoError('VALIDATION_ERROR', 'The answer to a question does not fit the form that was shown');
  } finally {
    signal.removeEventListener('abort', end);
  }
}
