import { describe, expect, test } from 'vitest';
import type { ClusterDescription } from '../../../src/core/devices/device-model.ts';
import { parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { standardCluster } from '../../../src/matter/model/data-model.ts';
import { genericTools } from '../../../src/profiles/compile/generic-tools.ts';
import { maskSecrets } from '../../../src/tools/schema/secrets.ts';
import { described } from '../device-fixtures.ts';
import { ToolHarness } from '../tool-harness.ts';

const LAMP = described('DimmableLight', {
  hasAllElements: true,
  clusters: ['ColorControl'],
  endpoint: 3,
  device: { id: parseDeviceId('desk-lamp'), name: 'Desk lamp' },
});
const LOCK = described('DoorLock', {
  hasAllElements: true,
  clusters: ['BasicInformation'],
  device: { id: parseDeviceId('front-door'), name: 'Front door' },
});
const house = () => new ToolHarness(LAMP, LOCK).start();
const TOOL = 'matter:control_matter_device';

describe('control_matter_device', () => {
  test('sends any command in raw units, names in any case, to the first endpoint that has the cluster', async () => {
    const hub = await house();
    const { result, effects } = await hub.call(TOOL, {
      device_id: 'Desk Lamp',
      cluster: 'levelcontrol',
      command: 'move_to_level_with_on_off',
      params: { level: 102, transitionTime: 0, optionsMask: {}, optionsOverride: {} },
    });
    expect(hub.home.invoked[0]?.path).toEqual({
      device: 'desk-lamp',
      endpoint: 3,
      cluster: 'LevelControl',
      command: 'MoveToLevelWithOnOff',
    });
    expect(result).toMatchObject({ success: true, device_state: { CurrentLevel: 102 } });
    expect(effects).toEqual([
      {
        permission: 'device:control:desk-lamp',
        risk: 'low',
        target: 'desk-lamp/3/LevelControl/MoveToLevelWithOnOff',
        device: 'desk-lamp',
        values: { brightness: 40, is_on: true },
      },
    ]);
  });

  test('is declared with its full schema, and takes the permission for the very device', async () => {
    const hub = await house();
    const { definition } = hub.registry.resolve(TOOL);
    expect(definition.requires.permissions).toEqual(['device:control:{device_id}']);
    expect(Object.keys(definition.parameters.properties as object)).toEqual(
      expect.arrayContaining(['device_id', 'endpoint', 'cluster', 'command', 'params']),
    );
    expect(definition.parameters.required).toEqual(expect.arrayContaining(['device_id', 'cluster']));
  });

  test('is also called matter_command', async () => {
    const hub = await house();
    expect((await hub.call('matter:matter_command', { device_id: 'desk-lamp', cluster: 'OnOff', command: 'On' })).result).toMatchObject({
      success: true,
    });
    expect(hub.registry.resolve('matter_command').definition.name).toBe('control_matter_device');
  });

  test('reads and writes attributes', async () => {
    const hub = await house();
    hub.home.report({ device: LAMP.device.id, endpoint: 3, cluster: 'OnOff', attribute: 'OnOff' }, true);
    const read = await hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOff', attribute: 'onOff' });
    expect(read).toEqual({
      result: { success: true, device_state: { OnOff: true } },
      effects: [{ permission: 'device:read:desk-lamp', risk: 'none', target: 'desk-lamp/3/OnOff/OnOff', device: 'desk-lamp' }],
    });
    const write = await hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOff', attribute: 'OnTime', value: 50 });
    expect(hub.home.written).toMatchObject([{ path: { attribute: 'OnTime' }, value: 50 }]);
    expect(write.effects[0]).toMatchObject({ permission: 'device:control:desk-lamp', risk: 'low' });
  });

  test('unlocking through it is as dangerous as unlocking, and users and credentials are the administrator’s', async () => {
    const hub = await house();
    const unlock = await hub.call(TOOL, { device_id: 'front-door', cluster: 'DoorLock', command: 'UnlockDoor' });
    expect(unlock.effects).toEqual([
      {
        permission: 'device:control:front-door',
        risk: 'dangerous',
        target: 'front-door/1/DoorLock/UnlockDoor',
        device: 'front-door',
        values: { lock_state: 'unlocked' },
      },
    ]);
    const clear = await hub.call(TOOL, { device_id: 'front-door', cluster: 'DoorLock', command: 'ClearUser', params: { userIndex: 1 } });
    expect(clear.effects[0]).toMatchObject({ permission: 'admin:device:front-door', risk: 'dangerous' });
    const label = await hub.call(TOOL, { device_id: 'front-door', cluster: 'BasicInformation', attribute: 'NodeLabel', value: 'x' });
    expect(label.effects[0]).toMatchObject({ permission: 'admin:device:front-door', risk: 'dangerous' });
    const mode = await hub.call(TOOL, { device_id: 'front-door', cluster: 'DoorLock', attribute: 'OperatingMode', value: 'Passage' });
    expect(mode.effects[0]).toMatchObject({ risk: 'dangerous' });
  });

  test('takes its own documented example, options left out, and names of enums in any case', async () => {
    const hub = await house();
    const { description } = (hub.registry.resolve(TOOL).definition.parameters.properties as Record<string, { description: string }>)
      .params ?? {
      description: '',
    };
    const params = JSON.parse(/Example: (.*)$/.exec(description)?.[1] ?? '');
    await hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'LevelControl', command: 'MoveToLevel', params });
    const color = { hue: 84, saturation: 254, transitionTime: 0 };
    await hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'ColorControl', command: 'MoveToHueAndSaturation', params: color });
    const step = { stepMode: 'UP', stepSize: 10, transitionTime: 0 };
    await hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'LevelControl', command: 'Step', params: step });
    expect(hub.home.invoked.map(({ fields }) => fields)).toEqual([
      { level: 102, transitionTime: 0, optionsMask: {}, optionsOverride: {} },
      { ...color, optionsMask: {}, optionsOverride: {} },
      { ...step, stepMode: 'Up', optionsMask: {}, optionsOverride: {} },
    ]);
    await hub.call(TOOL, { device_id: 'front-door', cluster: 'DoorLock', attribute: 'OperatingMode', value: 'no_remote_lock_unlock' });
    expect(hub.home.written[0]?.value).toBe('NoRemoteLockUnlock');
  });

  test('never guesses what a command is about', async () => {
    const contact = described('ContactSensor', {
      hasAllElements: true,
      clusters: ['BooleanStateConfiguration'],
      device: { id: parseDeviceId('window'), name: 'Window' },
    });
    const hub = await new ToolHarness(contact).start();
    const call = { device_id: 'window', cluster: 'BooleanStateConfiguration', command: 'EnableDisableAlarm' };
    await expect(hub.call(TOOL, call)).rejects.toThrow(/alarmsToEnableDisable/);
  });

  test('checks fields against the model and lists what is wrong; nothing reaches the device', async () => {
    const hub = await house();
    const wrong = [
      { cluster: 'LevelControl', command: 'MoveToLevel', params: { level: 300 } },
      {
        cluster: 'LevelControl',
        command: 'MoveToLevel',
        params: { level: 1, transitionTime: 0, optionsMask: {}, optionsOverride: {}, speed: 3 },
      },
      { cluster: 'OnOff', attribute: 'OnTime', value: 'soon' },
      { cluster: 'OnOff' },
      { cluster: 'OnOff', command: 'On', attribute: 'OnOff' },
    ];
    for (const call of wrong)
      await expect(hub.call(TOOL, { device_id: 'desk-lamp', ...call }), JSON.stringify(call)).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
    expect([...hub.home.invoked, ...hub.home.written]).toEqual([]);
  });

  test('names what there is when something is not', async () => {
    const hub = await house();
    await expect(hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOf', command: 'On' })).rejects.toThrow(/OnOff/);
    await expect(hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOff', command: 'Togle' })).rejects.toThrow(/Toggle/);
    await expect(hub.call(TOOL, { device_id: 'desk-lamp', endpoint: 1, cluster: 'OnOff', command: 'On' })).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
    });
    await expect(hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOff', attribute: 'OnOff', value: true })).rejects.toThrow(
      /read-only/,
    );
  });

  test('a refusal by the device is returned with the Matter status', async () => {
    const hub = await house();
    hub.home.failure = new AtmoError('CLUSTER_STATUS', 'the device answered ConstraintError', { status: 135 });
    const { result } = await hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOff', command: 'On' });
    expect(result).toEqual({ success: false, device_state: {}, error_code: 135, error: 'the device answered ConstraintError' });
    hub.home.failure = new AtmoError('DEVICE_UNREACHABLE', 'away');
    await expect(hub.call(TOOL, { device_id: 'desk-lamp', cluster: 'OnOff', command: 'On' })).rejects.toMatchObject({
      code: 'DEVICE_UNREACHABLE',
    });
  });

  describe('a lamp that is off acknowledges what it does not carry out', () => {
    const at = { device: LAMP.device.id, endpoint: 3 };
    const evenIfOff = { optionsMask: { executeIfOff: true }, optionsOverride: { executeIfOff: true } };
    const color = { cluster: 'ColorControl', command: 'MoveToHueAndSaturation', params: { hue: 84, saturation: 254, transitionTime: 0 } };
    const level = { cluster: 'LevelControl', command: 'MoveToLevel', params: { level: 102, transitionTime: 0 } };
    const send = async (isOn: boolean, call: JsonObject, own = { executeIfOff: false }) => {
      const hub = await house();
      hub.home.report({ ...at, cluster: 'OnOff', attribute: 'OnOff' }, isOn);
      for (const cluster of ['ColorControl', 'LevelControl']) hub.home.report({ ...at, cluster, attribute: 'Options' }, own);
      return (await hub.call(TOOL, { device_id: 'desk-lamp', ...call })).result;
    };

    test.each([color, level])('$command: the result reports it', async (call) => {
      expect(await send(false, call)).toMatchObject({
        success: true,
        settled: null,
        settled_reason: expect.stringMatching(/is off.*ignores it.*turn it on first.*executeIfOff/),
      });
    });

    test.each([
      ['it is on', true, color, undefined],
      ['the call wants it all the same', false, { ...color, params: { ...color.params, ...evenIfOff } }, undefined],
      ['the lamp is set to take it all the same', false, level, { executeIfOff: true }],
      ['the command turns it on', false, { ...level, command: 'MoveToLevelWithOnOff' }, undefined],
      ['the command has no such option', false, { cluster: 'OnOff', command: 'Off' }, undefined],
    ])('and not where %s', async (_, isOn, call, own) => {
      expect(await send(isOn, call, own)).not.toHaveProperty('settled');
    });

    test('a call that forbids it while the lamp is off is ignored whatever the lamp is set to', async () => {
      const params = { ...level.params, optionsMask: { executeIfOff: true } };
      expect(await send(false, { ...level, params }, { executeIfOff: true })).toMatchObject({ settled: null });
    });
  });

  test('PINs among its fields are secret', async () => {
    const hub = await house();
    expect(hub.registry.resolve(TOOL).definition.parameters).toMatchObject({
      properties: { params: { 'x-secret-members': true } },
    });
  });

  test('a read of attributes for administrators, or about other devices, needs the permission of administrators', async () => {
    const router = described('DoorLock', {
      clusters: ['AccessControl', 'Binding', 'BasicInformation'],
      device: { id: parseDeviceId('front-door') },
    });
    const { registry } = await new ToolHarness(router).start();
    const effects = (cluster: string, attribute: string) =>
      registry
        .resolve(TOOL)
        .effects?.({ device_id: 'front-door', cluster, attribute })
        .map(({ permission }) => permission);
    expect(effects('AccessControl', 'Acl')).toEqual(['admin:device:front-door']);
    expect(effects('Binding', 'Binding')).toEqual(['admin:device:front-door']);
    expect(effects('BasicInformation', 'NodeLabel')).toEqual(['device:read:front-door']);
    expect(effects('DoorLock', 'LockState')).toEqual(['device:read:front-door']);
  });

  test('keys, network credentials and setup codes in commands and responses are secret, there and in tools of their own', async () => {
    const hub = await house();
    const { parameters, returns } = hub.registry.resolve(TOOL).definition;
    const fields = maskSecrets(parameters, { params: { credentials: 'aG9tZQ==', ssid: 'x', groupKeySet: { epochKey0: 'AAAA' } } });
    expect(fields).toEqual({ params: { credentials: '[secret]', ssid: 'x', groupKeySet: '[secret]' } });
    expect(maskSecrets(returns, { device_state: { response: { passphrase: 'hunter2' } } })).toEqual({
      device_state: { response: { passphrase: '[secret]' } },
    });
    const login = genericTools(1, standardCluster('AccountLogin') as ClusterDescription);
    const [getPin, withPin] = ['get_setup_pin', 'login'].map((action) => login.find((tool) => tool.action.endsWith(action)));
    expect(withPin?.parameters).toMatchObject({ properties: { setupPin: { 'x-secret': true } } });
    expect(getPin?.response).toMatchObject({ properties: { setupPin: { 'x-secret': true } } });
  });
});
