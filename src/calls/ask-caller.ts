import { AtmoError } from '../core/errors.ts';
import { checkQuestion, parseAnswer } from '../tools/definition/elicitation.ts';
import type { ToolAnswer, ToolQuestion } from '../tools/definition/tool-definition.ts';
import { withoutSecretTexts } from '../tools/schema/secrets.ts';
import { type ConfirmedCall, secretsOf } from './call.ts';
import type { CallRequest } from './request-and-answer.ts';

/** The capability that a client has to declare so that it can be asked. */
const REQUIRED_CAPABILITIES = { client_capabilities: { elicitation: { form: {} } } };
const ADVICE = 'give what it needs as parameters, or call it with a client of the Model Context Protocol that shows forms (elicitation)';

/** How to ask the person, where one can be asked; the question ends when the signal aborts. */
interface Askable {
  readonly ask?: CallRequest['onQuestion'];
  readonly signal: AbortSignal;
}

/** Asks the person behind the caller of a running call, as `askQuestion` does. NOT_SUPPORTED for tools that promise the same result. */
export async function askCaller(call: ConfirmedCall, { message, ...question }: ToolQuestion): Promise<ToolAnswer> {
  if (call.tool.definition.execution.determinism !== 'nondeterministic')
    throw new AtmoError('NOT_SUPPORTED', `${call.tool.id} says that its results follow from its parameters, so it cannot ask; ${ADVICE}`);
  const { onQuestion: ask } = call.request;
  return askQuestion(
    { ...question, message: withoutSecretTexts(message, secretsOf(call)) },
    { ...(ask && { ask }), signal: AbortSignal.any([call.running.deadline.signal, call.running.questionsSignal]) },
  );
}

/**
 * Asks and waits. NOT_SUPPORTED where nobody can be asked, the signal's reason when it aborts first, VALIDATION_ERROR for a
 * question that no form can show or an answer that does not fit it.
 */
export async function askQuestion(question: ToolQuestion, { ask, signal }: Askable): Promise<ToolAnswer> {
  const checked = checkQuestion(question);
  if (!ask) throw new AtmoError('NOT_SUPPORTED', `Something has to be asked, and the caller cannot be; ${ADVICE}`, REQUIRED_CAPABILITIES);
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    const answer = parseAnswer(checked, { ...(await Promise.race([ask(checked, signal), ended.promise])) });
    if (answer) return answer;
    throw new AtmoError('VALIDATION_ERROR', 'The answer to a question does not fit the form that was shown');
  } finally {
    signal.removeEventListener('abort', end);
  }
}
