import { createHash } from 'node:crypto';
import { type Clock, orAborted } from '../core/clock.ts';
import { AtmoError } from '../core/errors.ts';
import type { RunContext } from '../core/storage/audit-log.ts';
import { checkQuestion, parseAnswer } from '../tools/definition/elicitation.ts';
import type { ToolAnswer, ToolContext, ToolQuestion } from '../tools/definition/tool-definition.ts';
import { withoutSecretTexts } from '../tools/schema/secrets.ts';
import { type ConfirmedCall, secretsOf } from './call.ts';
import type { CallRequest } from './request-and-answer.ts';

/** The capability that an MCP client must declare to receive questions. */
const REQUIRED_CAPABILITIES = { client_capabilities: { elicitation: { form: {} } } };
const ADVICE = 'give what it needs as parameters, or call it with a client of the Model Context Protocol that shows forms (elicitation)';

/** `ask` sends a question to the person behind the caller; it is absent if nobody can be asked. `signal` ends the question. */
interface Askable {
  readonly ask?: CallRequest['onQuestion'];
  readonly signal: AbortSignal;
}

/**
 * Sends a question to the person behind the caller of a running call. Rejects like `askQuestion`, and with NOT_SUPPORTED if the tool is
 * declared deterministic or bounded, because a person's answer is not repeatable.
 */
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
 * Sends a question and waits for the answer. Rejects with NOT_SUPPORTED if nobody can be asked, with VALIDATION_ERROR if no form can show
 * the question or the answer does not match the question, and with the signal's reason if the signal aborts first.
 */
export async function askQuestion(question: ToolQuestion, { ask, signal }: Askable): Promise<ToolAnswer> {
  const checked = checkQuestion(question);
  if (!ask) throw new AtmoError('NOT_SUPPORTED', `Something has to be asked, and the caller cannot be; ${ADVICE}`, REQUIRED_CAPABILITIES);
  signal.throwIfAborted();
  const answer = parseAnswer(checked, { ...(await orAborted(ask(checked, signal), signal)) });
  if (answer) return answer;
  throw new AtmoError('VALIDATION_ERROR', 'The answer to a question does not fit the form that was shown');
}

/** Number of random numbers (8 bytes each) in one SHA-256 digest. */
const NUMBERS_PER_DIGEST = 4;
const NUMBER_BYTES = 8;
/** Number of unused bits: a random number is made of 64 bits (8 bytes), but a double holds only 53 of them. */
const SPARE_BITS = 11n;

/**
 * Returns the clock and the random numbers of a bounded tool. Both are the same for the same run on every machine. Time stands still:
 * setting a timer throws NOT_SUPPORTED. Random number n (from 0) is made of bytes 8·(n mod 4) to 8·(n mod 4)+7 of SHA-256(`<seed>:<n div
 * 4>`): their first 53 bits, big endian, are divided by 2^53.
 */
export function boundedContext(run: RunContext): Pick<ToolContext, 'clock' | 'random'> {
  return { clock: frozenClock(run.logicalTimeMs), random: seededRandom(run.randomSeed) };
}

function frozenClock(nowMs: number): Clock {
  return {
    now: () => nowMs,
    monotonic: () => 0,
    after() {
      throw new AtmoError('NOT_SUPPORTED', 'Time stands still for a bounded tool: it cannot wait; declare it nondeterministic instead');
    },
  };
}

function seededRandom(seed: string): () => number {
  let count = 0;
  let digest = Buffer.alloc(0);
  return () => {
    const place = count % NUMBERS_PER_DIGEST;
    if (place === 0)
      digest = createHash('sha256')
        .update(`${seed}:${count / NUMBERS_PER_DIGEST}`, 'utf8')
        .digest();
    count++;
    return Number(digest.readBigUInt64BE(place * NUMBER_BYTES) >> SPARE_BITS) / 2 ** 53;
  };
}
