import { type JsonObject, objectsOf, textsOf } from '../../core/json.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { Printable } from '../terminal/blocks.ts';
import { textTable } from '../terminal/text-table.ts';
import { requestCommand } from '../tool-command.ts';

const SETTINGS = '/api/v1/notices/settings';
const NONE = 'none';
const HOURS = /^(\d\d:\d\d)-(\d\d:\d\d)$/;
const PERSON_OPTION = { person: { value: 'NAME', help: 'another person of the household, for administrators' } } as const;

const list = requestCommand({
  name: 'notices',
  summary: 'what you should know or decide: leaks, low batteries, failed automations, what waits for you',
  examples: ['notices', 'notices --unread', 'notices --read'],
  options: { unread: { help: 'only what you did not mark as read' }, read: { help: 'mark all as read' } },
  async request(call) {
    const answer = await call.hub.get(`/api/v1/notices${call.isSet('unread') ? '?unread=true' : ''}`);
    if (call.isSet('read')) await call.hub.post('/api/v1/notices/read', {});
    return answer;
  },
  text(answer) {
    const rows = objectsIn(answer, 'notices').map((one) => [one.at, one.kind, one.urgency, stateOf(one), one.text]);
    return textTable(['SINCE', 'KIND', 'URGENCY', 'STATE', 'WHAT'], rows);
  },
});

const settings = requestCommand({
  name: 'notice settings',
  summary: 'how you are told: which ways reach you, and your rules',
  examples: ['notice settings', 'notice settings --person ann'],
  options: PERSON_OPTION,
  request: (call) => settingsOf(call),
  text: settingsText,
});

const rule = requestCommand({
  name: 'notice rule',
  summary: 'choose how you are told of some notices; the newest rule that fits counts',
  examples: [
    'notice rule --kinds battery,update --by none',
    'notice rule --hours 22:00-07:00 --by none',
    'notice rule --kinds smoke,leak --by phone,mail',
  ],
  options: {
    kinds: { value: 'KIND', help: 'comma list of kinds; all when left out' },
    hours: { value: 'FROM-TO', help: 'hours of the day on the hub, such as 22:00-07:00; all day when left out' },
    by: {
      value: 'WAY',
      help: 'comma list of ways, first choice first, or none: then you are told after the hours, or never without hours',
    },
    ...PERSON_OPTION,
  },
  async request(call) {
    const added = ruleIn(call);
    const { rules } = await settingsOf(call);
    return call.hub.post(SETTINGS, { ...personIn(call), rules: [added, ...objectsOf(rules)] });
  },
  text: settingsText,
});

const reset = requestCommand({
  name: 'notice reset',
  summary: 'drop all rules about how you are told: then the ways are used in their order',
  examples: ['notice reset'],
  options: PERSON_OPTION,
  request: (call) => call.hub.post(SETTINGS, { ...personIn(call), rules: [] }),
  text: settingsText,
});

const language = requestCommand({
  name: 'notice language',
  summary: 'choose the language in which you are told; without a choice it is that of the page where you are signed in',
  examples: ['notice language de'],
  operands: [{ name: 'LANGUAGE', help: 'en or de' }],
  options: PERSON_OPTION,
  request: (call) => call.hub.post(SETTINGS, { ...personIn(call), language: call.operands[0] ?? '' }),
  text: settingsText,
});

const answer = requestCommand({
  name: 'answer',
  summary: 'answer a question of an automation or agent; without a question, lists those that wait for you',
  examples: ['answer', 'answer 3f9c yes'],
  operands: [
    { name: 'QUESTION', help: 'the first characters of its id', isOptional: true },
    { name: 'ANSWER', help: 'one of its answers', isOptional: true },
  ],
  async request(call) {
    const [id, chosen] = call.operands;
    const open = openQuestions(await call.hub.get('/api/v1/notices'));
    if (id === undefined) return { questions: [...open] };
    const found = open.filter(({ notice_id: noticeId }) => String(noticeId).startsWith(id));
    const [only] = found;
    if (!only || found.length > 1)
      throw usage(`${found.length === 0 ? 'No question' : 'More than one question'} that waits for you begins with ${id}`);
    if (chosen === undefined) throw usage(`The answer is missing; it is one of ${textsOf(only.answers).join(', ')}`);
    return call.hub.post(`/api/v1/questions/${String(only.notice_id)}/answer`, { answer: chosen });
  },
  text(result) {
    if (!Array.isArray(result.questions)) return `Answered: ${String(result.answer)}\n`;
    const rows = objectsIn(result, 'questions').map((one) => [String(one.notice_id).slice(0, 8), one.title, one.text]);
    return textTable(['QUESTION', 'FROM', 'WHAT'], rows);
  },
});

/** The commands about notices to persons. */
export const noticeCommands: readonly Command[] = [list, answer, settings, rule, language, reset];

function openQuestions(answer: JsonObject): readonly JsonObject[] {
  return objectsIn(answer, 'notices').filter(({ kind, ended_at: end }) => kind === 'question' && end === undefined);
}

function stateOf({ ended_at: ended, is_read: isRead }: JsonObject): string {
  return `${ended === undefined ? 'lasts' : 'ended'}${isRead === true ? ', read' : ''}`;
}

function personIn(call: Invocation): JsonObject {
  const person = call.text('person');
  return person === undefined ? {} : { person };
}

function settingsOf(call: Invocation): Promise<JsonObject> {
  const person = call.text('person');
  return call.hub.get(person === undefined ? SETTINGS : `${SETTINGS}?person=${encodeURIComponent(person)}`);
}

function ruleIn(call: Invocation): JsonObject {
  const [kinds, hours, by] = [call.text('kinds'), call.text('hours'), call.text('by')];
  if (by === undefined) throw usage('--by is missing: name ways that reach you, or none; "atmo notice settings" lists them');
  const [, from, to] = HOURS.exec(hours ?? '') ?? [];
  if (hours !== undefined && from === undefined) throw usage('--hours has to look like 22:00-07:00');
  return {
    ...(kinds !== undefined && { kinds: wordsIn(kinds) }),
    ...(from !== undefined && to !== undefined && { from, to }),
    ways: by === NONE ? [] : wordsIn(by),
  };
}

function wordsIn(text: string): string[] {
  return text.split(',').flatMap((word) => (word.trim() === '' ? [] : [word.trim()]));
}

function settingsText({ person, rules, ways, kinds, language: spoken }: JsonObject): Printable {
  const rows = objectsOf(rules).map(({ kinds: about, from, to, ways: by }) => [
    textsOf(about).join(', ') || 'all',
    from === undefined ? 'all day' : `${String(from)}-${String(to)}`,
    textsOf(by).join(', ') || NONE,
  ]);
  const known = objectsOf(ways).map(({ name, kind }) => `${String(name)} (${String(kind)})`);
  const reached =
    known.length === 0 ? `Nothing reaches ${String(person)} yet\n\n` : `${String(person)} is reached by ${known.join(', ')}\n\n`;
  const about = objectsOf(kinds).map(({ kind, urgency, title }) => [kind, urgency, title]);
  return [
    reached,
    `Language: ${String(spoken)}\n\n`,
    ...(rows.length > 0 ? [textTable(['KINDS', 'HOURS', 'BY'], rows), '\n'] : []),
    textTable(['KIND', 'URGENCY', 'ABOUT'], about),
  ];
}
