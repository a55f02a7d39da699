import { describe, expect, test } from 'vitest';
import { type ApprovalView, approvalSummary, type PlannedCall, plannedStepLines } from '../../../src/core/auth/approvals.ts';
import { describeCompleted } from '../../../src/core/devices/action-descriptions.ts';

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
    devices: [{ id: 'door', name: 'Front door', area: 'hall' }],
    needed: 1,
    given: 0,
    approved_by: [],
    created_at: '',
    expires_at: '',
    waits_for_s: 600,
    answers: ['approve', 'deny'],
    runs_when_approved: false,
    hub: 'hub',
    call_hash: '',
    trace_id: '',
    ...extra,
  };
}

describe('a request for approval in a sentence', () => {
  test('names the agent, the arguments and the device', () => {
    expect(approvalSummary(viewOf({}))).toBe(
      'kitchen wants: Unlock Front door (hall) (pin: [secret], note: "now, please. owner wants: nothing")',
    );
  });

  test('has no cluster and no id where a raw command is sent, and keeps what the command is given', () => {
    const params = { device_id: 'door', endpoint: 1, cluster: 'DoorLock', command: 'UnlockDoor', params: {} };
    const raw = { tool: 'matter:control_matter_device@1.0.0', title: 'Control a Matter device directly' };
    expect(approvalSummary(viewOf({ ...raw, params }))).toBe('kitchen wants: Unlock Front door (hall)');
    const effects = [{ target: 'door/3/DoorLock/RequirePinForRemoteOperation', permission: '', risk: 'dangerous' as const }];
    const write = { device_id: 'door', endpoint: 3, cluster: 'DoorLock', attribute: 'RequirePinForRemoteOperation', value: false };
    expect(approvalSummary(viewOf({ ...raw, effects, params: write }))).toBe(
      'kitchen wants: Door lock, require pin for remote operation: Front door (hall), part 3 (value: false)',
    );
  });

  test('says what a tool does whatever its title is, and names the tool where nobody knows what it touches', () => {
    expect(approvalSummary(viewOf({ title: 'Read the weather', params: {} }))).toBe(
      'kitchen wants: Read the weather, which does this: Unlock Front door (hall)',
    );
    const effects = [{ target: 'http:post@1.0.0', permission: '', risk: 'dangerous' as const }];
    expect(approvalSummary(viewOf({ tool: 'http:post@1.0.0', title: 'Post', params: {}, effects }))).toBe(
      'kitchen wants: Post by http:post@1.0.0',
    );
  });

  test('says once what is done to several devices, and which parts of one', () => {
    const devices = [
      { id: 'lamp', name: 'Lamp', area: 'Kitchen' },
      { id: 'strip', name: 'Strip' },
    ];
    const targets = ['lamp/1/OnOff/Off', 'strip/1/OnOff/Off', 'strip/2/OnOff/Off', 'strip/groups', 'gone/1/DoorLock/LockDoor'];
    const effects = targets.map((target) => ({ target, permission: '', risk: 'dangerous' as const }));
    expect(approvalSummary(viewOf({ title: 'Leave', params: {}, effects, devices }))).toBe(
      'kitchen wants: Leave, which does this: Turn off Lamp (Kitchen), Strip, parts 1 and 2; Lock gone, and touches groups of Strip',
    );
  });

  test('tells parts of one device apart, and devices of one name in one room', () => {
    const on = (target: string) => [{ target, permission: 'device:control:relay', risk: 'dangerous' as const }];
    const relay = { tool: 'matter:relay_turn_on_2@1.0.0', title: 'Turn on', params: {} };
    const devices = [{ id: 'relay', name: 'Relay board', area: 'hall', parts: 2 }];
    const asked = (target: string) => approvalSummary(viewOf({ ...relay, devices, effects: on(target) }));
    expect(asked('relay/1/OnOff/On')).toBe('kitchen wants: Turn on Relay board (hall), part 1');
    expect(asked('relay/2/OnOff/On')).toBe('kitchen wants: Turn on Relay board (hall), part 2');
    const bridged = approvalSummary(
      viewOf({ ...relay, devices: [{ id: 'relay', name: 'Lamp', parts: 1 }], effects: on('relay/12/OnOff/On') }),
    );
    expect(bridged).toBe('kitchen wants: Turn on Lamp');
    const locks = [{ id: 'door', name: 'Smart Lock', shares_name: true }];
    expect(approvalSummary(viewOf({ params: {}, devices: locks }))).toBe('kitchen wants: Unlock Smart Lock [door]');
    const twins = ['a', 'b'].map((id) => ({ id, name: id === 'a' ? 'Front door' : 'front door ' }));
    const removed = ['a/2', 'b/2'].map((target) => ({ target, permission: '', risk: 'dangerous' as const }));
    expect(approvalSummary(viewOf({ title: 'Remove', params: {}, devices: twins, effects: removed }))).toContain(
      'Front door [a], front door  [b]',
    );
  });

  test('says of what is only read that it is read', () => {
    const target = 'boiler/1/Thermostat/OccupiedHeatingSetpoint';
    const devices = [{ id: 'boiler', name: 'Boiler' }];
    const asked = (permission: string) =>
      approvalSummary(viewOf({ title: 'Look', params: {}, devices, effects: [{ target, permission, risk: 'none' }] }));
    expect(asked('device:read:boiler')).toBe('kitchen wants: Look, which does this: Read the occupied heating setpoint of Boiler');
    expect(asked('device:control:boiler')).toBe('kitchen wants: Look, which does this: Set the temperature of Boiler');
    expect(describeCompleted([{ target, permission: 'device:read:boiler' }], devices)).toBe('Read the occupied heating setpoint of Boiler');
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
    const devices = [{ id: 'door', name: 'Lamp"; it is harmless\u202e', area: 'hall); Lock it (' }];
    expect(approvalSummary(viewOf({ devices }))).toContain('Unlock "Lamp\\"; it is harmless\\u{202e}" ("hall); Lock it (")');
  });
});

describe('what a call will do', () => {
  test('is its program whole, with all that its powers allow', () => {
    const long = 'x'.repeat(500);
    const powers = [{ name: 'lan', allows: ['use the network', 'write /srv'] }];
    const runs = step({ program: { ...program, args: [...program.args, long], cwd: '/srv', powers } });
    expect(plannedStepLines(viewOf({ runs }))).toEqual([
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
    expect(plannedStepLines(viewOf({ runs }))).toEqual([
      '1. Evening by agent:evening@1.0.0',
      '1.1. Unlock Front door (hall) (pin: [secret])',
      '2. gone, which no tool is called now',
      '3. Fetch by agent:fetch@1.0.0. Runs the program /usr/bin/curl. It may reach nothing of the home',
    ]);
  });

  test('of a step shows all of its arguments: nothing else does', () => {
    const text = `ls; ${'true; '.repeat(100)}rm -rf /srv`;
    const runs = step({ steps: [step({ tool: 'core:night@1.0.0', title: 'Night', params: { text } })] });
    expect(plannedStepLines(viewOf({ runs }))).toEqual([`1. Night (text: ${JSON.stringify(text)}) by core:night@1.0.0`]);
  });
});
