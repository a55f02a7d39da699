import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { settled } from '../calls/pipeline-fixture.ts';
import { type AgentFixture, codeOf, LAMP_ON, restarted, resultOf, startedFixture } from './agent-fixture.ts';

const MAY_SEND = ['device:control:lamp', 'notice:send:ann', 'notice:send:household'];
const level = (value: Json): JsonObject => ({ ...LAMP_ON, params: { level: value } });
const ASK: JsonObject = { type: 'ask', name: 'heat', question: 'Heat the bath?', person: 'ann', timeout_seconds: 600 };

/** An automation that runs at each post to its webhook. */
async function atWebhook(actions: readonly Json[], permissions: readonly string[] = MAY_SEND) {
  const fixture = await startedFixture();
  const config = { trigger: { type: 'webhook', name: 'go' }, actions: [...actions], cooldown_seconds: 0 };
  const spawned = await fixture.spawn(config, { permissions: [...permissions] });
  const post = async (body: JsonObject = {}) => {
    await fixture.call('post_to_webhook', { agent_id: 'auto', webhook: 'go', body });
    await settled();
  };
  return { fixture, spawned, post };
}

const levels = ({ calls }: AgentFixture) => calls.map(({ params }) => params.level ?? null);
const said = ({ notices }: AgentFixture, person = 'ann') => notices.recent(person).map(({ title, text }) => `${title}: ${text}`);

/** Answers the open question to a person, as that person, and returns `success` or the code of the error. */
async function answer(fixture: AgentFixture, given: string, person = 'ann') {
  const [notice] = fixture.notices.recent('ann').filter(({ kind }) => kind === 'question');
  const principal = fixture.agentWith(person, ['notice:own']);
  const result = await fixture.call('hub:answer_question', { question_id: notice?.id ?? '', answer: given }, principal);
  await settled();
  return result;
}

describe('a step that notifies', () => {
  test('sends a message with a fact of the trigger to the named person alone, under the name of the automation', async () => {
    const message = { expr: '"The " + trigger.body.what + " is done"' };
    const { fixture, post } = await atWebhook([{ type: 'notify', person: 'ann', message, urgency: 'low' }]);
    await post({ what: 'washer\u202e\nnow' });
    expect(said(fixture)).toEqual(['Message from auto: The washer now is done']);
    expect(fixture.notices.recent('ann')).toMatchObject([{ kind: 'message', urgency: 'low' }]);
    expect(said(fixture, 'ben')).toEqual([]);
  });

  test('without a person tells everybody who gets notices', async () => {
    const { fixture, post } = await atWebhook([{ type: 'notify', message: 'Dinner is ready' }]);
    await post();
    expect([said(fixture), said(fixture, 'ben')]).toEqual([['Message from auto: Dinner is ready'], ['Message from auto: Dinner is ready']]);
  });

  test('is refused before the automation lives if its permissions do not name the person, or nobody is called so', async () => {
    const { spawned } = await atWebhook([{ type: 'notify', person: 'ben', message: 'Hello' }]);
    expect(codeOf(spawned)).toBe('PERMISSION_DENIED');
    const unknown = await atWebhook([{ type: 'notify', person: 'eve', message: 'Hello' }], ['notice:send:*']);
    expect(codeOf(unknown.spawned)).toBe('NOT_FOUND');
  });

  test('sends at most twelve messages within an hour, and the steps after it are done all the same', async () => {
    const { fixture, post } = await atWebhook([{ type: 'notify', message: 'Again' }, LAMP_ON]);
    for (let count = 0; count < 14; count++) await post();
    expect(said(fixture)).toHaveLength(12);
    expect(fixture.calls).toHaveLength(14);
    expect((await fixture.view('auto')).last_error).toMatchObject({ code: 'RATE_LIMITED' });
    await fixture.passMinutes(61);
    await post();
    expect(said(fixture)).toHaveLength(13);
  });
});

describe('a step that asks', () => {
  const BY_ANSWER: JsonObject = {
    type: 'choose',
    options: [{ conditions: [{ type: 'expression', expr: 'answers.heat == "yes"' }], actions: [level(24)] }],
    otherwise: [level(17)],
  };

  test.for([
    ['yes', 24],
    ['no', 17],
  ] as const)('waits for the answer %s, which a choice of the run uses', async ([given, expected]) => {
    const { fixture, post } = await atWebhook([ASK, BY_ANSWER]);
    await post();
    expect(said(fixture)).toEqual(['Question from auto: Heat the bath? (yes / no) Answer until 00:10.']);
    expect(levels(fixture)).toEqual([]);
    expect(resultOf(await answer(fixture, given))).toMatchObject({ state: 'answered', answer: given, answered_by: 'ann' });
    expect(levels(fixture)).toEqual([expected]);
    expect(fixture.notices.recent('ann')).toMatchObject([{ answered: { answer: given, by: 'ann' }, endedMs: expect.any(Number) }]);
  });

  test('is what the automation is said to wait for', async () => {
    const { fixture, post } = await atWebhook([ASK]);
    await post();
    const why = async () => resultOf(await fixture.call('explain_automation', { agent_id: 'auto' }));
    expect(await why()).toMatchObject({ cause: 'waits_for_answer', summary: expect.stringContaining('answers its question') });
    await fixture.passMinutes(10);
    expect(await why()).toMatchObject({ cause: 'waited_in_vain' });
  });

  test('takes answers of its own, and a call takes the answer as a parameter', async () => {
    const { fixture, post } = await atWebhook([
      { ...ASK, answers: ['warm', 'hot'] },
      { type: 'notify', person: 'ann', message: { answer: 'heat' } },
    ]);
    await post();
    expect(codeOf(await answer(fixture, 'yes'))).toBe('VALIDATION_ERROR');
    expect(codeOf(await answer(fixture, 'hot'))).toBe('success');
    expect(said(fixture)).toContain('Message from auto: hot');
  });

  test('takes no answer of another person, of an agent, or a second one', async () => {
    const { fixture, post } = await atWebhook([ASK, BY_ANSWER]);
    await post();
    expect(codeOf(await answer(fixture, 'yes', 'ben'))).toBe('NOT_FOUND');
    expect(codeOf(await answer(fixture, 'yes', 'robot'))).toBe('PERMISSION_DENIED');
    expect(levels(fixture)).toEqual([]);
    expect(codeOf(await answer(fixture, 'no'))).toBe('success');
    expect(codeOf(await answer(fixture, 'yes'))).toBe('CONFLICT');
    expect(levels(fixture)).toEqual([17]);
  });

  test.for([
    ['stop', {}, []],
    ['continue', {}, ['']],
    ['answer', { timeout_answer: 'no' }, ['no']],
  ] as const)('without an answer in time does what on_timeout %s says', async ([onTimeout, more, expected]) => {
    const { fixture, post } = await atWebhook([
      { ...ASK, on_timeout: onTimeout, ...more },
      { type: 'notify', person: 'ann', message: { expr: '"[" + answers.heat + "]"' } },
    ]);
    await post();
    await fixture.passMinutes(10);
    const messages = said(fixture).filter((text) => text.startsWith('Message'));
    expect(messages).toEqual(expected.map((text) => `Message from auto: [${text}]`));
    expect(codeOf(await answer(fixture, 'yes'))).toBe('CONFLICT');
    expect(await fixture.view('auto')).toMatchObject({ last_outcome: 'success', is_running: false });
  });

  test('goes on after a crash: the question is still open, is not asked again, and its answer counts', async () => {
    const { fixture, post } = await atWebhook([LAMP_ON, ASK, BY_ANSWER]);
    await post();
    await fixture.pass(300);
    const after = await restarted(fixture);
    expect(said(after)).toHaveLength(1);
    expect(codeOf(await answer(after, 'yes'))).toBe('success');
    expect([levels(fixture), levels(after)]).toEqual([[null], [24]]);
  });

  test('is over when the automation is disabled while it waits', async () => {
    const { fixture, post } = await atWebhook([ASK, BY_ANSWER]);
    await post();
    await fixture.call('set_agent_enabled', { agent_id: 'auto', enabled: false });
    await settled();
    expect(codeOf(await answer(fixture, 'yes'))).toBe('CONFLICT');
    expect(levels(fixture)).toEqual([]);
  });

  test.for<[string, readonly JsonObject[], RegExp]>([
    ['an answer for which no step asks', [level({ answer: 'heat' })], /answers\.heat/],
    ['a timeout_answer that is no answer', [{ ...ASK, on_timeout: 'answer', timeout_answer: 'maybe' }], /one of the answers/],
    ['on_timeout answer without the answer', [{ ...ASK, on_timeout: 'answer' }], /timeout_answer/],
  ])('is refused with %s', async ([, actions, message]) => {
    const { spawned } = await atWebhook(actions);
    expect(codeOf(spawned)).toBe('VALIDATION_ERROR');
    expect(spawned.status === 'error' ? spawned.error.message : '').toMatch(message);
  });
});

test('an answer approves nothing: a dangerous call after it is not made without an approval', async () => {
  const { fixture, post } = await atWebhook([ASK, { tool: 'matter:lamp_unlock' }]);
  await post();
  expect(codeOf(await answer(fixture, 'yes'))).toBe('success');
  expect(fixture.calls).toEqual([]);
  expect(await fixture.view('auto')).toMatchObject({ last_outcome: 'failure' });
});

test('an agent that asked sees the answer, and no other agent sees the question', async () => {
  const fixture = await startedFixture();
  const asker = fixture.agentWith('helper', ['notice:send:ann']);
  const asked = resultOf(await fixture.call('hub:ask_person', { question: 'Coffee?', person: 'ann', timeout_seconds: 60 }, asker));
  const show = (principal = asker) => fixture.call('hub:show_question', { question_id: asked.question_id ?? '' }, principal);
  expect(resultOf(await show())).toMatchObject({ state: 'open', question: 'Coffee?' });
  expect(codeOf(await show(fixture.agentWith('other', ['*'])))).toBe('NOT_FOUND');
  await answer(fixture, 'yes');
  expect(resultOf(await show())).toMatchObject({ state: 'answered', answer: 'yes', answered_by: 'ann' });
});

describe('an agent that makes other agents', () => {
  /** An agent, and how it makes a child and becomes the child. */
  async function family() {
    const fixture = await startedFixture();
    const parent = fixture.agentWith('helper', ['agent:spawn', 'notice:send:*'], 7_200_000);
    const child = async (name: string) => {
      const made = await fixture.call(
        'spawn_agent',
        { agent_type: 'external', name, permissions: ['notice:send:*'], ttl_seconds: 3600 },
        parent,
      );
      return fixture.issuer.principalOf(String(resultOf(made).token));
    };
    return { fixture, parent, child };
  }

  test('sends no more than twelve messages within an hour through all of them', async () => {
    const { fixture, parent, child } = await family();
    const codes: string[] = [];
    for (const name of ['one', 'two']) {
      const sender = await child(name);
      for (let count = 0; count < 8; count++) codes.push(codeOf(await fixture.call('hub:send_notice', { message: 'Look' }, sender)));
      await fixture.call('dismiss_agent', { child: name }, parent);
    }
    expect(codes.filter((code) => code === 'success')).toHaveLength(12);
    expect(codes.slice(12)).toEqual(Array.from({ length: 4 }, () => 'RATE_LIMITED'));
    expect(codeOf(await fixture.call('hub:send_notice', { message: 'Look' }, fixture.agentWith('other', ['notice:send:*'])))).toBe(
      'success',
    );
  });

  test('cannot send a message under a name that hides whose it is', async () => {
    const { fixture, child } = await family();
    const sender = await child('Smoke alarm');
    await fixture.call('hub:send_notice', { message: 'Leave the house' }, sender);
    await fixture.call('hub:ask_person', { question: 'Are you out?', timeout_seconds: 60 }, sender);
    const titles = fixture.notices.recent('ann').map(({ title }) => title);
    expect(titles.toSorted()).toEqual(['Message from Smoke alarm (helper/smoke-alarm)', 'Question from Smoke alarm (helper/smoke-alarm)']);
  });
});

test('an agent has no more than sixteen open questions', async () => {
  const fixture = await startedFixture();
  const asker = fixture.agentWith('helper', ['notice:send:*'], 86_400_000);
  const ask = () => fixture.call('hub:ask_person', { question: 'Coffee?', timeout_seconds: 80_000 }, asker);
  const codes: string[] = [];
  for (let count = 0; count < 12; count++) codes.push(codeOf(await ask()));
  await fixture.passMinutes(61);
  for (let count = 0; count < 6; count++) codes.push(codeOf(await ask()));
  expect(codes.filter((code) => code === 'success')).toHaveLength(16);
  expect(codes.at(-1)).toBe('RATE_LIMITED');
});

test('what looks like a token in a question is nowhere kept', async () => {
  const fixture = await startedFixture();
  const asker = fixture.agentWith('helper', ['notice:send:ann']);
  const token = `at1.${'a1B2'.repeat(20)}`;
  const question = { question: `Is it ${token}?`, person: 'ann', timeout_seconds: 60 };
  const asked = resultOf(await fixture.call('hub:ask_person', question, asker));
  const shown = resultOf(await fixture.call('hub:show_question', { question_id: asked.question_id ?? '' }, asker));
  expect(shown).toMatchObject({ question: 'Is it [redacted]?' });
  expect(JSON.stringify(fixture.store.entries('notices.questions'))).not.toContain(token);
});
