import type { PeopleDirectory } from '../../core/auth/people.ts';
import type { Principal } from '../../core/auth/principal.ts';
import { isoTime } from '../../core/clock.ts';
import { AtmoError } from '../../core/errors.ts';
import { type JsonObject, present } from '../../core/json.ts';
import { HOUSEHOLD, type PersonMessages } from '../../core/notices.ts';
import type { Question, Questions } from '../../core/questions.ts';
import { WRITTEN_LINE } from '../../core/untrusted-text.ts';
import { defineTool, INSTANT, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { HUB_ACTS, HUB_READS } from './hub-tool.ts';

/** The parts of the hub that the tools for messages and questions use. */
export interface QuestionPorts {
  readonly messages: PersonMessages;
  readonly questions: Questions;
  readonly people: Pick<PeopleDirectory, 'personOf'>;
}

/** Returns the tools with which automations and agents send messages to persons and ask them, and with which persons answer. */
export function questionTools(ports: QuestionPorts): readonly RegisteredTool[] {
  return [sendNoticeTool(ports), askPersonTool(ports), answerQuestionTool(ports), showQuestionTool(ports)];
}

const SENDS = { ...HUB_ACTS, permissions: ['notice:send:{person}'], tags: ['message', 'notice', 'person', 'ask'] };
const personParameter = p.string({
  description: 'Name of a person who gets notices; household: all of them',
  maxLength: 32,
  default: HOUSEHOLD,
});
const textParameter = p.string({ description: 'In the words of who reads it', minLength: 1, maxLength: 500 });
const questionId = p.string({ description: 'Id of the question', pattern: '^[0-9a-f]{32}$' });

function sendNoticeTool({ messages }: QuestionPorts): RegisteredTool {
  return defineTool(
    {
      ...SENDS,
      name: 'send_notice',
      title: 'Send a notice to a person',
      description: 'Sends a message to a person of the household, or to all who get notices, over the ways that the person chose.',
      parameters: {
        message: textParameter,
        person: personParameter,
        urgency: p.enum(['low', 'medium', 'high'], { description: 'How much it matters', default: 'medium' }),
      },
      returns: resultSchema({ notice_id: TEXT }),
      canonicalize: (params) => withPerson(params, messages),
    },
    async ({ message, person, urgency }, { principal }) => ({
      notice_id: messages.send({ agentId: principal.id, person, text: message, urgency }),
    }),
  );
}

function askPersonTool({ messages, questions }: QuestionPorts): RegisteredTool {
  return defineTool(
    {
      ...SENDS,
      name: 'ask_person',
      title: 'Ask a person',
      description:
        'Asks a person of the household, or all who get notices, and returns at once; show_question has the answer later. An answer is no approval.',
      parameters: {
        question: textParameter,
        person: personParameter,
        answers: p.array(p.string({ description: 'One answer', maxLength: 40, pattern: WRITTEN_LINE }), {
          description: 'The answers from which the person chooses',
          minItems: 2,
          maxItems: 6,
          default: ['yes', 'no'],
        }),
        timeout_seconds: p.integer({ description: 'How long the person can answer', minimum: 1, maximum: 86_400, unit: 's' }),
      },
      returns: resultSchema({ question_id: TEXT, until: INSTANT }),
      canonicalize: (params) => withPerson(params, messages),
    },
    async ({ question: text, person, answers, timeout_seconds: seconds }, { principal }) => {
      const asked = questions.ask({ agentId: principal.id, person, text, answers, timeoutMs: seconds * 1000 });
      return { question_id: asked.id, until: isoTime(asked.untilMs) };
    },
  );
}

/** Refuses a person who gets no notices before the call is judged, so that a draft of an automation is refused too. */
function withPerson(params: object & { readonly person: string }, messages: PersonMessages): JsonObject {
  messages.requirePerson(params.person);
  return { ...params };
}

const QUESTION = resultSchema({
  question_id: TEXT,
  question: TEXT,
  answers: { type: 'array', items: TEXT },
  state: { enum: ['open', 'answered', 'over'] },
  until: INSTANT,
});

function answerQuestionTool({ questions, people }: QuestionPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      permissions: ['notice:own'],
      name: 'answer_question',
      title: 'Answer a question',
      description: 'Answers a question that an automation or agent asked the caller, a person of the household. The first answer counts.',
      parameters: {
        question_id: questionId,
        answer: p.string({ description: 'One of its answers', minLength: 1, maxLength: 40 }),
      },
      returns: QUESTION,
    },
    async ({ question_id: id, answer }, { principal }) => {
      const person = people.personOf(principal);
      if (!person) throw new AtmoError('PERMISSION_DENIED', `Only persons of the household answer, and ${principal.id} is none of them`);
      return questionView(questions.answer(id, answer, person.name));
    },
  );
}

function showQuestionTool({ questions, people }: QuestionPorts): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      name: 'show_question',
      title: 'Show a question and its answer',
      description: 'Shows a question to who asked it and to the persons who were asked: whether it is open, and who answered what.',
      tags: ['answer', 'ask', 'person'],
      parameters: { question_id: questionId },
      returns: QUESTION,
    },
    async ({ question_id: id }, { principal }) => {
      const question = questions.get(id);
      if (question && isConcerned(question, principal, people)) return questionView(question);
      throw new AtmoError('NOT_FOUND', 'There is no such question that you asked or were asked');
    },
  );
}

function isConcerned({ agentId, persons }: Question, principal: Principal, people: QuestionPorts['people']): boolean {
  const person = people.personOf(principal);
  return agentId === principal.id || (person !== undefined && persons.includes(person.name));
}

function questionView({ id, text, answers, untilMs, answered, endedMs }: Question): JsonObject {
  return present({
    question_id: id,
    question: text,
    answers: [...answers],
    state: answered ? 'answered' : endedMs === undefined ? 'open' : 'over',
    until: isoTime(untilMs),
    answer: answered?.answer,
    answered_by: answered?.by,
  });
}
