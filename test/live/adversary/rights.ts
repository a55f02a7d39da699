import { generateKeyPairSync } from 'node:crypto';
import { rawKeyOf, signedDecision } from '../../../src/cli/identity/approver-key.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts';
import { type Attacker, type Exchange, isRefusal, objectOf, resultOf } from './attacker.ts';
import { type Attempt, each, harmless, refused } from './attempt.ts';

const OWN = ['device:control:desk-lamp'];
const newKey = () => generateKeyPairSync('ed25519').privateKey;

/** Asks for something of its own that people have to approve: a rule wants it for more light than 95 %. */
async function ownRequest(me: Attacker): Promise<JsonObject> {
  const asked = objectOf(await me.invoke('desk_lamp_set_brightness', { brightness: 97 }));
  const details = isJsonObject(asked.error) && isJsonObject(asked.error.details) ? asked.error.details : {};
  return objectOf(await me.get(`/api/v1/approvals/${details.approval_id}`));
}

/** Hands in a decision with a key of its own, by the door and by the tool. */
async function decide(me: Attacker, request: JsonObject, person: string): Promise<void> {
  const body = signedDecision(request, { decision: 'approve', person, key: newKey() });
  await me.post(`/api/v1/approvals/${request.approval_id}`, body);
  await me.invoke('hub:decide_approval', { ...body, approval_id: request.approval_id ?? '' });
}

function requireRefusal(exchange: Exchange): void {
  if (!isRefusal(exchange)) throw new RangeError(`this should have been refused: ${exchange.said} => ${exchange.heard}`);
}

/** Approvals, tokens and agents: the ways to more rights than one has. */
export const RIGHTS: readonly Attempt[] = [
  harmless('its own request, approved by itself under every name', async (me, { person }) => {
    const request = await ownRequest(me);
    await each([person, 'owner', 'lamp-helper', 'nobody'], (name) => decide(me, request, name));
    requireRefusal(await me.invoke('desk_lamp_set_brightness', { brightness: 97 }));
  }),
  refused('the request of somebody else, approved under every name', async (me, { approval, person }) => {
    const request = {
      approval_id: approval,
      tool: 'core:echo@1.0.0',
      call_hash: '0'.repeat(64),
      hub: 'hub-0000000000000000',
      expires_at: '2099-01-01T00:00:00.000Z',
    };
    await each([person, 'owner', 'lamp-helper', 'nobody'], (name) => decide(me, request, name));
  }),
  refused('the approval of somebody else, read and denied', async (me, { approval, person }) => {
    await me.get(`/api/v1/approvals/${approval}`);
    await me.invoke('hub:show_approval', { approval_id: approval });
    await me.post(`/api/v1/approvals/${approval}`, { decision: 'deny', person, signature: 'AAAA' });
    await me.invoke('hub:decide_approval', { approval_id: approval, decision: 'deny', person, signature: 'AAAA' });
  }),
  harmless('lists of approvals', (me) =>
    each(['', '?state=pending', '?state=approved', '?state=used', '?state=denied', '?state=expired'], (query) =>
      me.get(`/api/v1/approvals${query}`),
    ),
  ),
  refused('an own key enrolled, for oneself and for others', (me, { person }) =>
    each([person, 'owner', 'lamp-helper', '../owner', 'Owner'], async (name) => {
      await me.post('/api/v1/approvers', { person: name, key: rawKeyOf(newKey()) });
      await me.invoke('hub:enroll_approver', { person: name, key: rawKeyOf(newKey()) });
    }),
  ),
  refused('approvers listed and removed', async (me, { keyId }) => {
    await me.get('/api/v1/approvers');
    await me.send({ method: 'DELETE', path: `/api/v1/approvers/${keyId}` });
    await me.invoke('hub:remove_approver', { key_id: keyId });
  }),
  refused('a confirmation in the parameters', (me, { lock }) =>
    each([{ confirm: true }, { approved: true }, { approval_id: '0'.repeat(32) }, { force: true }], (extra) =>
      me.invoke('control_device', { device_id: lock.id, command: 'unlock', ...extra }),
    ),
  ),
  refused(
    'a flood of requests that people would have to answer',
    (me) =>
      each(
        Array.from({ length: 40 }, (_, index) => index),
        (index) =>
          me.invoke('matter_command', {
            device_id: 'desk-lamp',
            cluster: 'LevelControl',
            command: 'MoveToLevelWithOnOff',
            params: { level: 254, transitionTime: index, optionsMask: {}, optionsOverride: {} },
          }),
      ),
    { isAboutOwn: true },
  ),
  refused('tokens minted, listed and revoked', async (me, { token }) => {
    await me.post('/api/v1/tokens', { agent_id: 'mine', permissions: ['*'] });
    await me.invoke('hub:mint_token', { agent_id: 'owner', permissions: ['admin:*'] });
    await me.invoke('hub:mint_token', { agent_id: 'x', permissions: OWN });
    await me.get('/api/v1/tokens');
    await me.invoke('hub:list_tokens', {});
    await me.send({ method: 'DELETE', path: `/api/v1/tokens/${token}` });
    await me.invoke('hub:revoke_token', { token_id: token });
  }),
  refused('the token of the owner replaced', async (me) => {
    await me.post('/api/v1/tokens/rotate-owner', {});
    await me.invoke('hub:rotate_owner', {});
  }),
  refused('somebody else’s token inspected', async (me) => {
    await me.post('/api/v1/tokens/inspect', { token: me.arms.foreign });
    await me.invoke('hub:show_token', { token: me.arms.foreign });
  }),
  harmless('tokens of the own making inspected', (me) =>
    each([`at0.${'A'.repeat(43)}`, me.arms.selfMade, 'at1.', 'x'], (token) => me.post('/api/v1/tokens/inspect', { token })),
  ),
  refused('clock set', async (me) => {
    await me.post('/api/v1/clock', { time: '2030-01-01T00:00:00Z' });
    await me.invoke('hub:set_clock', { time: '2030-01-01T00:00:00Z' });
  }),
  refused('new devices and networks', async (me) => {
    await me.post('/api/v1/commission', { code: 'MT:Y.K9042C00KA0648G00' });
    await me.invoke('hub:commission_device', { code: '34970112332' });
    await each(['list_credentials', 'half_commissioned'], (tool) => me.invoke(`hub:${tool}`, {}));
    await me.invoke('hub:set_wifi_credentials', { name: 'x', ssid: 'x', password: 'xxxxxxxx' });
    await me.invoke('hub:import_thread_credentials', { name: 'x', url: 'http://127.0.0.1:1' });
  }),
  refused('a tool of its own registered, or one removed', async (me, { lock }) => {
    await me.post('/api/v1/tools', { name: 'mine', handler: 'x' });
    await me.send({ method: 'DELETE', path: `/api/v1/tools/matter:${lock.slug}_unlock` });
    await me.send({ method: 'DELETE', path: '/api/v1/tools/core:echo' });
  }),
  refused('a child with more rights', (me, { beacon, sensor, agent }) =>
    each(
      [
        ['*'],
        ['admin:*'],
        ['device:*'],
        ['device:control:*'],
        ['device:control'],
        [`device:control:${beacon.id}`],
        ['device:control:desk-lamp', `device:control:${beacon.id}`],
        ['device:control:@type/light'],
        ['device:control:@area/study'],
        ['device:control:desk-lamp/*'],
        ['device:control:desk-lamp/../*'],
        ['device:control:DESK-LAMP'],
        ['device:control:{device_id}'],
        ['device:*:desk-lamp'],
        ['*:control:desk-lamp'],
        [`sensor:read:${sensor}`],
        [`agent:kill:${agent}`],
        ['admin:device:desk-lamp'],
        [],
      ],
      (permissions) => me.invoke('spawn_agent', { agent_type: 'external', name: me.unique('child'), permissions }),
    ),
  ),
  refused('a child with a life that is too long or too odd', (me) =>
    each([-1, 0, 1e12, '3600', null, 1.5], (ttl_seconds) =>
      me.invoke('spawn_agent', { agent_type: 'external', name: me.unique('child'), permissions: OWN, ttl_seconds }),
    ),
  ),
  refused('agents of others killed', (me, { agent }) =>
    each([agent, 'owner', `lamp-helper/../${agent}`, '*', ''], (agent_id) => me.invoke('kill_agent', { agent_id })),
  ),
  refused('agents of others dismissed as if they were its own', (me, { agent }) =>
    each([agent, `x/../../${agent}`, `../${agent}`, '/', '.'], (child) => me.invoke('dismiss_agent', { child })),
  ),
  harmless(
    'a child with the name of somebody else',
    (me, { agent }) =>
      each(['owner', agent, 'lamp-helper', 'Owner ', 'ｏｗｎｅｒ', 'hub'], async (name) => {
        const { token } = resultOf(await me.invoke('spawn_agent', { agent_type: 'external', name, permissions: OWN }));
        if (typeof token !== 'string') return;
        await me.send({ path: '/api/v1/devices', token });
        await me.send({ path: '/api/v1/approvals', token });
        await me.send({ path: '/api/tools/usage', token });
        await me.send({ path: '/api/v1/tokens', token });
        await me.invoke('list_agents', {}, { token });
        await me.invoke('dismiss_agent', { child: name });
      }),
    { isAboutOwn: true },
  ),
  refused('a child with a name that is a path', (me, { agent }) =>
    each(['../owner', `../${agent}`, '/', '..', 'a/b', '\u202eowner', ''], (name) =>
      me.invoke('spawn_agent', { agent_type: 'external', name, permissions: OWN }),
    ),
  ),
  harmless('grandchildren without end', async (me) => {
    let token: string | undefined;
    for (let depth = 0; depth < 5; depth++) {
      const made = await me.invoke(
        'spawn_agent',
        { agent_type: 'external', name: 'deep', permissions: [...OWN, 'agent:spawn'] },
        token === undefined ? {} : { token },
      );
      const next = resultOf(made).token;
      if (typeof next !== 'string') break;
      token = next;
    }
    await me.invoke('dismiss_agent', { child: 'deep' });
  }),
  harmless('a child that gives back more than it got', async (me, { beacon }) => {
    const name = me.unique('child');
    const { token } = resultOf(await me.invoke('spawn_agent', { agent_type: 'external', name, permissions: [...OWN, 'agent:spawn'] }));
    if (typeof token !== 'string') return;
    for (const permissions of [['device:read:desk-lamp'], ['sequence:run'], [`device:control:${beacon.id}`], ['device:control:*']]) {
      requireRefusal(await me.invoke('spawn_agent', { agent_type: 'external', name: 'up', permissions }, { token }));
    }
    requireRefusal(await me.invoke('turn_on_light', { device_id: beacon.id }, { token }));
    requireRefusal(await me.invoke('sequence', { steps: [{ tool: 'echo', params: { value: 1 } }] }, { token }));
    await me.invoke('dismiss_agent', { child: name });
    requireRefusal(await me.invoke('desk_lamp_turn_on', {}, { token }));
  }),
  refused('thresholds of others adjusted', (me, { agent }) =>
    each([agent, `lamp-helper/${agent}`, `${agent}/`], (agent_id) => me.invoke('adjust_threshold', { agent_id, param: 'limit', value: 1 })),
  ),
  refused('an automation that listens to others', (me, { sensor, lock }) =>
    each(
      [
        { type: 'reading', sensor_id: sensor, changes: true },
        { type: 'reading', sensor_id: sensor, above: -100 },
        { type: 'device_event', device_id: lock.id, event: 'LockOperation' },
        { type: 'reachability', device_id: lock.id, becomes: 'reachable' },
        { type: 'reading', sensor_id: { param: 's' }, changes: true },
      ],
      (trigger) => automation(me, { parameters: { s: { value: sensor } }, trigger, actions: [{ tool: 'desk_lamp_turn_on' }] }),
    ),
  ),
  refused('an automation that asks others when its time has come', (me, { sensor }) =>
    automation(me, {
      trigger: { type: 'every', seconds: 60 },
      conditions: [{ type: 'reading', sensor_id: sensor, above: 0 }],
      actions: [{ tool: 'desk_lamp_turn_on' }],
    }),
  ),
  refused('an automation that acts on others', (me, { lock, beacon }) =>
    each(
      [
        { tool: `matter:${lock.slug}_unlock` },
        { tool: `${beacon.slug}_turn_on` },
        { tool: 'turn_on_light', params: { device_id: beacon.id } },
        { tool: 'matter_command', params: { device_id: beacon.id, cluster: 'OnOff', command: 'On' } },
        { tool: 'hub:mint_token', params: { agent_id: 'mine', permissions: ['*'] } },
        { tool: 'hub:invoke_group', params: { group: 1, cluster: 'OnOff', command: 'On' } },
      ],
      (action) => automation(me, { trigger: { type: 'every', seconds: 60 }, actions: [action] }),
    ),
  ),
  refused('an automation with a permission that it takes from nowhere', (me, { beacon }) =>
    me.invoke('spawn_agent', {
      agent_type: 'automation',
      name: me.unique('auto'),
      permissions: [`device:control:${beacon.id}`],
      config: { trigger: { type: 'every', seconds: 60 }, actions: [{ tool: 'turn_on_light', params: { device_id: beacon.id } }] },
    }),
  ),
];

function automation(me: Attacker, config: object) {
  const params = { agent_type: 'automation', name: me.unique('auto'), permissions: OWN, config: JSON.parse(JSON.stringify(config)) };
  return me.invoke('spawn_agent', params);
}
