import { expect, test } from 'vitest';
import { routineTool } from './device-kinds.ts';
import { type Attempt, type Effect, Ledger } from './ledger.ts';

const TOKEN = { id: 'token', text: '', agent: 'agent', issuer: 'hub-0', permissions: ['lock:use'], expiresMs: 0 };
const TOOL = routineTool('hub-0');
const CALL = { agent: 'agent', entry: 'hub-0', tool: TOOL, params: '{}', key: 'key', timeoutMs: 1_000, waits: false, token: TOKEN };

function effectOf(tool: string, { trace }: Attempt): Effect {
  return { atMs: 0, machine: 'hub-0', tool, params: '{}', trace, requestId: 'request', agent: 'agent', disk: 'well' };
}

test('a call of a tool of steps is done when each step has happened, in whichever attempt with its key', () => {
  const ledger = new Ledger();
  const [first, again] = ['a', 'b'].map((trace) => ledger.begin({ ...CALL, trace }));
  if (!first || !again) throw new Error('There are no attempts');
  const steps = ['sim:light', 'sim:lock'].map((tool) => ({ tool, params: '{}', isDone: false }));
  ledger.approve({ id: 'approval', person: 'owner', machine: 'hub-0', agent: 'agent', tool: TOOL, params: '{}', steps });
  const act = (tool: string) => {
    const effect = effectOf(tool, first);
    ledger.add(effect);
    expect(ledger.useApproval({ agent: 'agent', attempt: first, effect })).toBe('approval');
  };
  expect(ledger.hasDone(again)).toBe(false);
  act('sim:light');
  expect(ledger.hasDone(again)).toBe(false);
  act('sim:lock');
  expect(ledger.hasDone(again)).toBe(true);
});

test('a step that may be repeated has not acted where a later step fails, and every other one has', () => {
  const ledger = new Ledger();
  const attempt = ledger.begin({ ...CALL, trace: 'a' });
  ledger.add(effectOf('sim:light_hub_0', attempt));
  expect(ledger.hasActed(attempt)).toBe(false);
  ledger.add(effectOf('sim:lock_hub_0', attempt));
  expect(ledger.hasActed(attempt)).toBe(true);
});
