import { describe, expect, test } from 'vitest';
import type { Person } from '../../src/core/auth/people.ts';
import type { Principal } from '../../src/core/auth/principal.ts';
import { DeviceAttention } from '../../src/core/devices/device-attention.ts';
import { NO_HOME_NAMES } from '../../src/core/devices/device-names.ts';
import { EVENT_TYPES, EventBus, type EventType, type HubEvent } from '../../src/core/events.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { EventVisibility } from '../../src/http/event-visibility.ts';
import { VisibleHome } from '../../src/http/visible-home.ts';
import { emitToolChanges } from '../../src/tools/registry/tool-registry.ts';
import { agent, makePipeline, makeTool, NO_OTHERS, owner } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryDirectory, MemoryReadings } from './http-fixture.ts';

const PERSONS: readonly Person[] = ['owner', 'ann', 'bob'].map((name) => ({ name, title: name, role: 'adult', limits: {} }));

function makeAudience() {
  const { clock, registry, jobs, collaborators } = makePipeline();
  const { authorizer } = collaborators;
  const home = new VisibleHome({
    directory: new MemoryDirectory(),
    readings: new MemoryReadings(),
    authorizer,
    attention: new DeviceAttention(clock),
    mesh: NO_OTHERS.view,
    homeNames: NO_HOME_NAMES,
  });
  const people = { personOf: ({ id, kind }: Principal) => PERSONS.find(({ name }) => name === (kind === 'owner' ? 'owner' : id)) };
  // The hub emits the changes of the registry before anything else listens to them.
  const events = new EventBus('hub', new ManualClock());
  emitToolChanges(registry, events);
  const visibility = new EventVisibility({ authorizer, registry, jobs, home, people });
  const lampTool = makeTool({ name: 'lamp_on', requires: { permissions: ['device:control:lamp'] } });
  registry.register(lampTool);
  return { visibility, registry, jobs, lampTool, events };
}

function event(type: string, subject = 'lamp', data: JsonObject = {}): HubEvent {
  return { specversion: '1.0', id: '1', source: 'hub', time: 'now', type: type as EventType, subject, data };
}

function named(id: string, ...permissions: string[]): Principal {
  return { id, kind: 'agent', permissions };
}

describe('who hears which event', () => {
  test('without any grant, and with one for something else, an agent hears nothing of others', () => {
    const { visibility, lampTool, jobs } = makeAudience();
    const job = jobs.create(owner, lampTool).view.job_id;
    const subjects = ['lamp', 'lamp/temperature', lampTool.id, job, 'other-agent', 'rules.yaml'];
    for (const listener of [agent(), agent('device:control:other', 'sensor:read:other/temperature', '@type/light')]) {
      for (const type of EVENT_TYPES) {
        const heard = subjects.filter((subject) => visibility.mayReceive(event(type, subject, { agent_id: 'other-agent' }), listener));
        expect([type, heard]).toEqual([type, []]);
      }
    }
  });

  test('a type that has no rule is heard by nobody, not even the owner', () => {
    const { visibility } = makeAudience();
    for (const type of ['agi.tool.secret', 'constructor', '__proto__', 'toString'])
      expect(visibility.mayReceive(event(type), owner)).toBe(false);
  });

  test('the owner hears every type', () => {
    const { visibility, lampTool, jobs } = makeAudience();
    const job = jobs.create(agent(), lampTool).view.job_id;
    for (const type of EVENT_TYPES) {
      const subjects: Partial<Record<EventType, string>> = { 'job.changed': job, 'notice.changed': 'owner' };
      const subject = type.startsWith('agi.') ? lampTool.id : (subjects[type] ?? 'lamp');
      expect([type, visibility.mayReceive(event(type, subject, { agent_id: 'x' }), owner)]).toEqual([type, true]);
    }
  });

  test.each(['agi.tool.invoked', 'agi.tool.result', 'agi.tool.failed'])('%s is for who called and for admin:audit', (type) => {
    const { visibility, lampTool } = makeAudience();
    const call = event(type, lampTool.id, { agent_id: 'agent-1' });
    expect(visibility.mayReceive(call, agent())).toBe(true);
    expect(visibility.mayReceive(call, named('agent-2', 'device:control:lamp'))).toBe(false);
    expect(visibility.mayReceive(call, named('agent-1/child'))).toBe(false);
    expect(visibility.mayReceive(call, named('agent-2', 'admin:audit'))).toBe(true);
    expect(visibility.mayReceive(event(type, lampTool.id, { agent_id: 'owner' }), named('owner'))).toBe(false);
    expect(visibility.mayReceive(call, named('a', 'admin:hub'))).toBe(false);
    expect(visibility.mayReceive(event(type, lampTool.id, { agent_id: 'x', notify_admins: true }), named('a', 'admin:hub'))).toBe(true);
  });

  test('tools come and go for those who could call them, also when they are gone already', () => {
    const { visibility, registry, lampTool, events } = makeAudience();
    const [near, far] = [agent('device:control:lamp'), agent('device:control:door')];
    expect([near, far].map((listener) => visibility.mayReceive(event('agi.tool.discovered', lampTool.id), listener))).toEqual([
      true,
      false,
    ]);
    const heard: (readonly [string, boolean])[] = [];
    events.listen((emitted) => heard.push([emitted.type, visibility.mayReceive(emitted, near)]));
    registry.unregister(lampTool.id);
    expect(heard).toEqual([['agi.tool.removed', true]]);
    expect([near, far].map((listener) => visibility.mayReceive(event('agi.tool.removed', lampTool.id), listener))).toEqual([true, false]);
    expect(visibility.mayReceive(event('agi.tool.removed', 'core:never@1.0.0'), near)).toBe(false);
  });

  test('devices are for those who may see them, readings for those who may read them', () => {
    const { visibility } = makeAudience();
    const types = ['device.added', 'device.removed', 'device.changed', 'device.reachability', 'device.event'];
    for (const type of types) {
      expect(visibility.mayReceive(event(type), agent('device:read:lamp'))).toBe(true);
      expect(visibility.mayReceive(event(type), agent('sensor:read:lamp/temperature'))).toBe(false);
    }
    expect(visibility.mayReceive(event('sensor.reading', 'lamp/temperature'), agent('sensor:read:lamp/*'))).toBe(true);
    expect(visibility.mayReceive(event('sensor.reading', 'lamp/temperature'), agent('device:control:lamp'))).toBe(false);
  });

  test('jobs are for who started them', () => {
    const { visibility, jobs, lampTool } = makeAudience();
    const job = jobs.create(agent(), lampTool).view.job_id;
    expect(visibility.mayReceive(event('job.changed', job), agent())).toBe(true);
    expect(visibility.mayReceive(event('job.changed', job), named('agent-2', '*', 'admin:*'))).toBe(false);
  });

  test.each([
    ['approval.requested', 'admin:approvals'],
    ['approval.decided', 'admin:approvals'],
    ['token.issued', 'admin:token'],
    ['token.revoked', 'admin:token'],
  ])('%s is for whom it concerns and for %s', (type, permission) => {
    const { visibility } = makeAudience();
    const about = event(type, 'x-1', { agent_id: 'agent-1' });
    expect([agent(), named('a', permission), named('a', '*')].map((listener) => visibility.mayReceive(about, listener))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('a change of notices is for the person whom they concern, and for nobody else', () => {
    const { visibility } = makeAudience();
    const about = event('notice.changed', 'ann');
    const listeners = [named('ann', 'notice:own'), named('ann'), named('bob', 'notice:own'), named('agent-1', '*', 'admin:*'), owner];
    expect(listeners.map((listener) => visibility.mayReceive(about, listener))).toEqual([true, false, false, false, false]);
  });

  test('agents are told of themselves and of those that come from them', () => {
    const { visibility } = makeAudience();
    const about = event('agent.changed', 'agent-1/child');
    const heard = ['agent-1', 'agent-1/child', 'agent-1/child/own', 'agent-1/chil', 'agent', 'agent-2'].filter((id) =>
      visibility.mayReceive(about, named(id)),
    );
    expect(heard).toEqual(['agent-1', 'agent-1/child']);
    expect(visibility.mayReceive(about, named('a', 'admin:agents'))).toBe(true);
  });

  test('a proposal is for the agent that made it, and for persons who may accept it', () => {
    const { visibility } = makeAudience();
    const about = event('proposal.changed', 'p', { agent_id: 'agent-1' });
    const listeners = [owner, named('ann', '*'), named('ann', 'device:control:lamp'), named('agent-1'), named('agent-2', '*', 'admin:*')];
    expect(listeners.map((listener) => visibility.mayReceive(about, listener))).toEqual([true, true, false, true, false]);
  });
});
