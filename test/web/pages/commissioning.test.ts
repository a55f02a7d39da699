import { describe, expect, test } from 'vitest';
import { CommissionSteps } from '../../../src/web/pages/commissioning.ts';

const statesOf = (steps: CommissionSteps) => Object.fromEntries(steps.lines().map(({ step, state }) => [step, state]));

describe('the steps of a commissioning', () => {
  test('are done before the current one, and wait after it', () => {
    const steps = new CommissionSteps();
    steps.advance('parse: manual code');
    steps.advance('connect: talking to fd00::1: port 5540');
    expect(statesOf(steps)).toMatchObject({ parse: 'done', discover: 'done', connect: 'current', attest: 'waiting', done: 'waiting' });
    expect(steps.lines().find(({ step }) => step === 'connect')?.note).toBe('talking to fd00::1: port 5540');
  });

  test('include the network only for a device that gets one', () => {
    const steps = new CommissionSteps();
    steps.advance('attest: fine');
    expect(steps.lines().map(({ step }) => step)).not.toContain('network');
    steps.advance('network: joining home');
    expect(statesOf(steps)).toMatchObject({ network: 'current', attest: 'done' });
  });

  test('end at the step that the failure names', () => {
    const steps = new CommissionSteps();
    steps.advance('discover: looking');
    steps.fail('connect');
    expect(statesOf(steps)).toMatchObject({ discover: 'done', connect: 'failed', attest: 'waiting' });
  });

  test('are all done at the end, and notes without a step change nothing', () => {
    const steps = new CommissionSteps();
    steps.advance('something else: entirely');
    expect(new Set(steps.lines().map(({ state }) => state))).toEqual(new Set(['waiting']));
    steps.finish();
    expect(new Set(steps.lines().map(({ state }) => state))).toEqual(new Set(['done']));
  });
});
