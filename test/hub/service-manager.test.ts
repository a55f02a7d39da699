import { describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/core/logger.ts';
import { ServiceManager } from '../../src/hub/systemd.ts';

function recording(environment: Record<string, string> = { NOTIFY_SOCKET: '/run/notify' }) {
  const sent: string[] = [];
  const manager = new ServiceManager(environment, silentLogger, (name, payload) => sent.push(`${name} ${payload}`));
  return { manager, sent };
}

describe('service manager', () => {
  test('tells each state in the form of sd_notify', async () => {
    const { manager, sent } = recording();
    await manager.ready('11 devices');
    await manager.status('busy');
    await manager.alive();
    await manager.stopping();
    expect(sent).toEqual([
      '/run/notify READY=1\nSTATUS=11 devices',
      '/run/notify STATUS=busy',
      '/run/notify WATCHDOG=1',
      '/run/notify STOPPING=1',
    ]);
  });

  test('a status text cannot smuggle in another assignment', async () => {
    const { manager, sent } = recording();
    await manager.status('hello\nMAINPID=1');
    expect(sent).toEqual(['/run/notify STATUS=hello MAINPID=1']);
  });

  test('is silent without NOTIFY_SOCKET', async () => {
    const { manager, sent } = recording({});
    await manager.ready('x');
    expect(sent).toEqual([]);
  });

  test('a failing socket is logged and does not stop the hub', async () => {
    const lines: string[] = [];
    const manager = new ServiceManager(
      { NOTIFY_SOCKET: '/nowhere/notify' },
      createLogger('warn', (line) => lines.push(line)),
    );
    await manager.ready('x');
    expect(lines.join('')).toContain('errno 2');
  });

  test.each([
    [{ WATCHDOG_USEC: '60000000' }, 60_000],
    [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) }, 60_000],
    [{ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' }, undefined],
    [{ WATCHDOG_USEC: 'soon' }, undefined],
    [{}, undefined],
  ])('reads the watchdog time from %j', (environment, expected) => {
    expect(recording(environment).manager.watchdogMs).toBe(expected);
  });
});
