import { expect, test } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { MemoryNetwork } from '../mesh/memory-network.ts';
import { WholeHub } from './whole-hub.ts';

test('who is added under the name of a removed person has neither the presence nor the choices on the page of that person', async () => {
  const clock = new ManualClock(Date.now());
  await using hub = new WholeHub({ clock, network: new MemoryNetwork({ clock }), rules: 'rules: []\n' });
  await hub.hub.start();
  const result = async (tool: string, params: object = {}) => {
    const answer = await hub.call(tool, params);
    expect(answer, JSON.stringify(answer)).toMatchObject({ status: 'success' });
    return answer.result;
  };
  /** Adds the person tim. Returns a request for the choices on the page with a token of that person. */
  const add = async (role: string) => {
    await result('hub:add_person', { name: 'tim', role });
    const { token } = await hub.ask('/api/v1/tokens', { body: { agent_id: 'tim', permissions: ['device:read:*'] } });
    return (change: object = {}) => hub.ask('/api/v1/page-preferences', { token, ...change });
  };
  const former = await add('adult');
  await result('core:set_presence', { person: 'tim', presence: 'home' });
  await former({ method: 'PUT', body: { preferences: { favourites: ['lamp'] } } });
  expect(await former()).toEqual({ preferences: { favourites: ['lamp'] } });
  expect(JSON.stringify(await result('core:list_presence'))).toContain('tim');

  await result('hub:remove_person', { name: 'tim' });
  expect(JSON.stringify(await result('core:list_presence'))).not.toContain('tim');
  const next = await add('child');
  expect(JSON.stringify(await result('core:list_presence'))).not.toContain('home');
  expect(await next()).toEqual({ preferences: {} });
});
