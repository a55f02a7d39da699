import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import { until } from '../../matter/device-hub.ts';
import { objectOf } from './attacker.ts';
import type { BesiegedHome } from './besieged-home.ts';

const SOON_MS = 7_000;

/** What ends, and what one agent cannot take from others. */
export function describeEndings(besieged: () => BesiegedHome): void {
  describe('an agent that asks without end', () => {
    test('uses up its own rate and nobody else’s', async () => {
      const home = besieged();
      const { token } = await home.mint('chatterbox', ['device:control:desk-lamp'], { rate_per_minute: 5 });
      const chatterbox = home.attacker.as(token);
      const answers = await Promise.all(Array.from({ length: 30 }, () => chatterbox.invoke('echo', { value: 1 })));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(25);
      expect((await home.attacker.again().invoke('echo', { value: 1 })).status).toBe(200);
      expect((await home.hub.call('echo', { value: 1 })).status).toBe('success');
    });

    test('uses up its own places for listeners and requests for approval, and nobody else’s', async () => {
      const home = besieged();
      const listeners = Array.from({ length: 12 }, () => home.attacker.again().send({ path: '/api/v1/events', listenMs: 500 }));
      const owner = await home.hub.request('/api/v1/events', { signal: AbortSignal.timeout(300) });
      expect(owner.status).toBe(200);
      await owner.text().catch(() => undefined);
      expect((await Promise.all(listeners)).filter(({ status }) => status === 503).length).toBeGreaterThanOrEqual(4);
      const asked = await home.hub.call('matter:saffron_portal_unlock', { pin: '8642' }, { approve: false });
      expect(asked).toMatchObject({ error: { code: 'APPROVAL_REQUIRED' } });
    });
  });

  describe('a token that is revoked', () => {
    test('ends its open stream and its running job, which does nothing later', async () => {
      const home = besieged();
      const { token, id } = await home.mint('lamp-runner', ['device:control:desk-lamp', 'device:read:desk-lamp']);
      const runner = home.attacker.as(token);
      await home.hub.result('matter:desk_lamp_turn_on');
      const commands = (await home.lamp.commands()).length;

      const stream = runner.send({ path: '/api/v1/events', listenMs: 20_000 });
      await home.lamp.linkDown();
      const started = await runner.invoke('desk_lamp_turn_off', {}, { query: '?async=true' });
      expect(started.status).toBe(202);
      const job = String(objectOf(started).job_id);
      await until(async () => objectOf(await runner.get(`/api/v1/jobs/${job}`)).status === 'running');

      const revokedMs = performance.now();
      await home.hub.result('hub:revoke_token', { token_id: id });
      expect((await runner.get(`/api/v1/jobs/${job}`)).status).toBe(401);
      expect((await runner.invoke('desk_lamp_turn_on')).status).toBe(401);
      expect((await stream).body).toMatch(/the token has expired or was revoked/);
      expect(performance.now() - revokedMs).toBeLessThan(SOON_MS);
      const outcome = async () => (await home.journal({ agent: 'lamp-runner' })).find(({ kind }) => kind === 'outcome');
      await until(async () => (await outcome()) !== undefined);
      expect((await outcome())?.content).toMatchObject({ error: expect.stringMatching(/^(CANCELLED|TOKEN_INVALID|OUTCOME_UNKNOWN)$/) });

      await home.lamp.linkUp();
      await until(async () => (await home.hub.call('matter:desk_lamp_read_light')).status === 'success' || (await isReachable(home)));
      expect((await home.lamp.commands()).slice(commands).map(({ command }) => command)).toEqual([]);
      expect(await home.lamp.get('light', 'OnOff', 'OnOff')).toBe(true);
    });
  });
}

async function isReachable(home: BesiegedHome): Promise<boolean> {
  return ((await home.hub.get('/api/v1/devices/desk-lamp')) as JsonObject).reachability === 'reachable';
}
