import { expect, test } from 'vitest';
import { atmo } from '../cli-fixture.ts';

const QUESTION = 'ab'.repeat(16);
const NOTICES = [
  { notice_id: QUESTION, kind: 'question', title: 'Question from bath', text: 'Heat the bath? (yes / no)', answers: ['yes', 'no'] },
  { notice_id: 'cd'.repeat(16), kind: 'question', title: 'Question from hall', text: 'Old?', answers: ['yes', 'no'], ended_at: 'then' },
];

/** Runs `atmo answer` with a hub that has one open question. */
async function answered(words: readonly string[]) {
  const posted: string[] = [];
  const fetch = async (url: string, init?: RequestInit) => {
    const { pathname } = new URL(url);
    if (init?.method !== 'POST') return Response.json({ notices: NOTICES });
    posted.push(`${pathname} ${String(init.body)}`);
    return Response.json({ question_id: QUESTION, state: 'answered', answer: 'yes' });
  };
  const env = { ATMO_TOKEN: 'at1.ann', ATMO_URL: 'https://hub.local:8081' };
  return { ...(await atmo(['answer', ...words], { env, fetch })), posted };
}

test('a person sees the questions that wait, and answers one by the first characters of its id', async () => {
  const listed = await answered([]);
  expect(listed.out).toContain('abababab');
  expect(listed.out).not.toContain('Old?');
  expect(await answered(['abab', 'yes'])).toMatchObject({
    out: 'Answered: yes\n',
    posted: [`/api/v1/questions/${QUESTION}/answer {"answer":"yes"}`],
  });
});

test.for([
  ['a question that does not wait', ['cd', 'yes'], 'No question that waits for you begins with cd'],
  ['a question without an answer', ['ab'], 'The answer is missing; it is one of yes, no'],
] as const)('%s is refused, and nothing is sent', async ([, words, message]) => {
  const { code, err, posted } = await answered(words);
  expect([code, posted]).toEqual([2, []]);
  expect(err).toContain(message);
});
