import { describe, expect, test } from 'vitest';
import { judgeAttestation } from '../../../src/matter/commissioning/commissioning-failure.ts';

type Findings = Parameters<typeof judgeAttestation>[1];
const finding = (level: string, type: string): Findings => [{ level, type, message: 'text of the library' }] as unknown as Findings;

describe('the attestation policy', () => {
  test.each([
    ['strict', 'error', 'accepted', false],
    ['strict', 'warning', 'accepted', false],
    ['strict', 'info', 'not-accepted', true],
    ['ask', 'error', 'not-accepted', false],
    ['ask', 'error', 'accepted', true],
    ['ask', 'warning', 'not-accepted', true],
    ['off', 'error', 'not-accepted', true],
  ] as const)('%s with a finding of level %s that is %s takes the device: %s', (policy, level, acceptance, isAccepted) => {
    expect(judgeAttestation(policy, finding(level, 'PaaNotTrusted'), acceptance).isAccepted).toBe(isAccepted);
  });

  test('explains that trust could not be checked offline', () => {
    const { findings } = judgeAttestation('ask', finding('warning', 'DclServiceUnavailable'), 'not-accepted');
    expect(findings).toEqual([expect.stringContaining('trust could not be checked offline')]);
  });

  test('has the text of the library for other findings', () => {
    expect(judgeAttestation('ask', finding('info', 'SomethingNew'), 'not-accepted').findings).toEqual([
      'info: text of the library (SomethingNew)',
    ]);
  });
});
