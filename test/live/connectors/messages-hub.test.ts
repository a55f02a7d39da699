import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { RunningHub } from '../running-hub.ts';
import { BrokerEar, startBroker } from './broker.ts';
import { spokenService } from './spoken-service.ts';

const LIMIT = { interval: 100 };
let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

describe.skipIf(findDebianTool('mosquitto') === undefined)('a hub with messages and a bridge (needs mosquitto)', () => {
  test('tells people, shows its board on the broker, switches an output that it may, and says goodbye', async () => {
    const stateDir = stack.adopt(mkdtempSync(join(tmpdir(), 'atmo-messages-')), (dir) => rmSync(dir, { recursive: true, force: true }));
    const broker = stack.use(await startBroker());
    const ntfy = stack.use(await spokenService(() => ({ status: 200, body: JSON.stringify({ id: 'n1', event: 'message' }) })));
    const config = {
      matter: { enabled: false },
      mesh: { name: 'Probe' },
      sensors: {
        discover: false,
        poll_seconds: 1,
        gpio: { backend: 'sim', outputs: { pump: { line: 'GPIO27' }, siren: { line: 'GPIO24' } } },
      },
      connectors: {
        notify: { recipients: { anna: { ways: { phone: { ntfy: { url: `${ntfy.url}/anna`, token: 'env:NTFY_TOKEN' } } } } } },
        mqtt: { url: broker.url, bridge: { commands: true, permissions: ['device:control:pump'] } },
      },
    };
    const ear = stack.use(await BrokerEar.listen(broker.url, 'atmosphere/#', 'homeassistant/#'));
    const hub = stack.use(await RunningHub.start({ stateDir, config, env: { NTFY_TOKEN: 'tk_hidden' } }));

    expect(await hub.call('notify', { recipient: 'anna', message: 'x' })).toMatchObject({
      result: { delivered: true, delivery_id: 'n1', channel_used: 'phone' },
    });
    expect(await hub.call('send_sms', { phone: '+4930123456', message: 'x' })).toMatchObject({ error: { code: 'NOT_CONFIGURED' } });
    await expect.poll(() => ear.last('atmosphere/probe/status'), LIMIT).toBe('online');
    expect(await hub.result('list_tokens')).toMatchObject({
      tokens: [expect.objectContaining({ agent_id: 'mqtt-bridge', permissions: ['device:control:pump'] })],
    });
    const announced = 'homeassistant/switch/atmosphere-probe/gpio_pump/config';
    await expect.poll(() => ear.last(announced), LIMIT).toContain('atmosphere/probe/set/gpio/pump');
    await expect.poll(() => ear.last('atmosphere/probe/state/gpio/pump'), LIMIT).toBe('OFF');
    // It listens to commands a moment after it has told its states.
    const saidOn = async () => {
      await ear.say('atmosphere/probe/set/gpio/pump', 'ON');
      return ear.last('atmosphere/probe/state/gpio/pump');
    };
    await expect.poll(saidOn, LIMIT).toBe('ON');
    // Its permission is for the pump: the siren is shown and cannot be commanded.
    expect(ear.last('homeassistant/switch/atmosphere-probe/gpio_siren/config')).toBeUndefined();
    expect(ear.last('homeassistant/binary_sensor/atmosphere-probe/gpio_siren/config')).toBeDefined();
    await ear.say('atmosphere/probe/set/gpio/siren', 'ON');
    await expect.poll(() => ear.last('atmosphere/probe/errors'), LIMIT).toContain('TOOL_NOT_FOUND');
    expect(ear.last('atmosphere/probe/state/gpio/siren')).toBe('OFF');
    expect(hub.log.join('')).not.toContain('tk_hidden');
    await hub.stop();
    await expect.poll(() => ear.last('atmosphere/probe/status'), LIMIT).toBe('offline');
  });
});
