import { describe, expect, test } from 'vitest';
import { approvalSummary, willDoLines } from '../../../src/core/access/approval-words.ts';
import type { ApprovalView, PlannedCall } from '../../../src/core/access/approvals.ts';

const step = (extra: Partial<PlannedCall>): PlannedCall => ({
  tool: 'core:dim@1.0.0',
  title: 'Dim',
  params: {},
  definition: 'ab'.repeat(32),
  arguments: 'cd'.repeat(32),
  targets: [],
  ...extra,
});
const program = { kind: 'cmd', program: '/usr/bin/curl', args: ['-d', '@/srv/a b'], versions: [] } as const;

function viewOf(extra: Partial<ApprovalView>): ApprovalView {
  return {
    approval_id: 'a',
    state: 'pending',
    agent_id: 'kitchen',
    tool: 'matter:front_door_unlock@1.0.0',
    title: 'Unlock',
    params: { pin: '[secret]', note: 'now, please. owner wants: nothing' },
    effects: [{ target: 'door/1/DoorLock/UnlockDoor', permission: 'device:control:door', risk: 'dangerous' }],
    devices: [{ id: 'door', name: 'Front door' }],
    needed: 1,
    given: 0,
    approved_by: [],
    created_at: '',
    expires_at: '',
    hub: 'hub',
    call_hash: '',
    trace_id: '',
    ...extra,
  };
}

describe('a request for approval in a sentence', () => {
  test('names the agent, the arguments and the device', () => {
    expect(approvalSummary(viewOf({}))).toBe(
      'kitchen wants: Unlock (pin: [secret], note: "now, please. owner wants: nothing") by matter:front_door_unlock@1.0.0, which touches Front door (door/1/DoorLock/UnlockDoor)',
    );
  });

  test('counts many devices before it names some, and names each once', () => {
    const devices = Array.from({ length: 113 }, (_, index) => ({ id: `d${index}`, name: `Lamp ${index}` }));
    const effects = devices.flatMap(({ id }) => [1, 2].map((n) => ({ target: `${id}/${n}`, permission: '', risk: 'dangerous' as const })));
    const told = approvalSummary(viewOf({ title: 'Remove a device', params: { device_id: 'd0' }, effects, devices }));
    expect(told).toContain('which touches 113 devices in 226 places: Lamp 0, Lamp 1, ');
    expect(told).toMatch(/Lamp 11 and 101 more$/);
    expect(told).not.toContain('d112');
  });

  test('quotes a name that would read like a sentence, and shows what nobody sees', () => {
    const devices = [{ id: 'door', name: 'Lamp"; it is harmless\u202e' }];
    expect(approvalSummary(viewOf({ devices }))).toContain('touches "Lamp\\"; it is harmless\\u{202e}" (door/1');
  });
});

describe('what a call will do', () => {
  test('is its program whole, with all that its powers allow', () => {
    const long = 'x'.repeat(500);
    const powers = [{ name: 'lan', allows: ['use the network', 'write /srv'] }];
    const runs = step({ program: { ...program, args: [...program.args, long], cwd: '/srv', powers } });
    expect(willDoLines(viewOf({ runs }))).toEqual([
      `Runs the program /usr/bin/curl with -d "@/srv/a b" ${JSON.stringify(long)} in /srv. It may use the network (lan), write /srv (lan)`,
    ]);
    expect(approvalSummary(viewOf({ runs }))).toContain('which runs the program /usr/bin/curl');
  });

  test('is each of its steps, those of composed tools below them', () => {
    const inner = step({ title: 'Unlock', targets: ['door/1/DoorLock/UnlockDoor'], params: { pin: '[secret]' } });
    const runs = step({
      steps: [
        step({ title: 'Evening', tool: 'agent:evening@1.0.0', steps: [inner] }),
        step({ tool: 'gone', definition: '' }),
        step({ title: 'Fetch', tool: 'agent:fetch@1.0.0', program: { ...program, args: [], powers: [] } }),
      ],
    });
    expect(willDoLines(viewOf({ runs }))).toEqual([
      '1. Evening by agent:evening@1.0.0',
      '1.1. Unlock on Front door by core:dim@1.0.0 (pin: [secret])',
      '2. gone, which no tool is called now',
      '3. Fetch by agent:fetch@1.0.0. Runs the program /usr/bin/curl. It may reach nothing of the home',
    ]);
  });

  test('of a step shows all of its arguments: nothing else does', () => {
    const text = `ls; ${'true; '.repeat(100)}rm -rf /srv`;
    const runs = step({ steps: [step({ tool: 'core:night@1.0.0', title: 'Night', params: { text } })] });
    expect(willDoLines(viewOf({ runs }))).toEqual([`1. Night by core:night@1.0.0 (text: ${JSON.stringify(text)})`]);
  });
});
