import { describe, expect, it } from 'vitest';
import type { Principal } from '../../src/core/auth/principal.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/core/logger.ts';
import { SESSION_RETENTION, type SessionFacts, SessionStore } from '../../src/mcp/session-store.ts';
import { agent, owner, withToken } from '../calls/pipeline-fixture.ts';
import { ManualClock } from '../manual-clock.ts';
import { MemoryKeyValueStore } from '../memory-key-value-store.ts';

const FACTS: SessionFacts = { opening: { protocolVersion: '2025-11-25' }, view: { kind: 'home' }, subscriptions: [] };
const HOUR_MS = 3_600_000;

/** A store that counts what is written. */
class CountedStore extends MemoryKeyValueStore {
  writes = 0;
  isFull = false;

  override set(...given: Parameters<MemoryKeyValueStore['set']>): void {
    this.writes++;
    if (this.isFull) throw new AtmoError('STORAGE_FAILED', 'The disk is full');
    super.set(...given);
  }

  override delete(space: string, key: string): boolean {
    this.writes++;
    return super.delete(space, key);
  }
}

function makeKept() {
  const clock = new ManualClock();
  const store = new CountedStore(clock);
  const logged: string[] = [];
  const logger = createLogger('debug', (line) => logged.push(line));
  const open = () => new SessionStore({ store, clock, logger });
  return { clock, store, logged, open };
}

function session(id: string, principal: Principal = owner, facts: Partial<SessionFacts> = {}) {
  return { id, principal, facts: { ...FACTS, ...facts } };
}

describe('sessions on the disk', () => {
  it('are there a second after they were begun, also when another one was written just before', () => {
    const { clock, open } = makeKept();
    const kept = open();
    for (const id of ['a', 'b', 'c']) {
      kept.changed(session(id));
      clock.advance(SESSION_RETENTION.gatherMs);
      // The process is killed: nothing of it is written any more.
      expect(open().find(id, owner)).toMatchObject(FACTS);
    }
  });

  it('cost two writes a minute and few more, however many are begun and ended', () => {
    const { clock, store, open } = makeKept();
    const kept = open();
    const minutes = 10;
    for (let second = 0; second < minutes * 60; second++) {
      for (const name of ['a', 'b', 'c']) {
        kept.changed(session(`${name}-${second}`));
        kept.drop(`${name}-${second - 1}`);
      }
      clock.advance(1_000);
    }
    expect(store.writes).toBeGreaterThan(minutes);
    expect(store.writes).toBeLessThanOrEqual((minutes * 60_000) / SESSION_RETENTION.writeEveryMs + SESSION_RETENTION.burst);
  });

  it('cost none while nothing changes but their age, and are young enough to be taken up all the same', () => {
    const { clock, store, open } = makeKept();
    open().changed(session('a'));
    clock.advance(SESSION_RETENTION.gatherMs);
    expect(store.writes).toBe(1);
    clock.advance(SESSION_RETENTION.renewEveryMs - SESSION_RETENTION.gatherMs);
    expect(store.writes).toBe(1);
    clock.advance(50 * HOUR_MS);
    expect(store.writes).toBeLessThan(12);
    expect(open().find('a', owner)).toMatchObject(FACTS);
  });

  it('are there whole after an orderly stop, and a session that ended just before is not', () => {
    const { store, open } = makeKept();
    const before = open();
    before.changed(session('a', owner, { subscriptions: ['atmo://areas/Hall'], level: 'info' }));
    before.changed(session('b'));
    before.drop('b');
    before[Symbol.dispose]();
    expect(store.writes).toBe(1);
    const after = open();
    expect(after.find('a', owner)).toMatchObject({ subscriptions: ['atmo://areas/Hall'], level: 'info' });
    expect(after.find('b', owner)).toBeUndefined();
  });

  it('are lost for the last half minute at most by a hub that is cut off while many are begun', () => {
    const { clock, open } = makeKept();
    const before = open();
    for (let count = 0; count < SESSION_RETENTION.burst; count++) {
      before.changed(session(`first-${count}`));
      clock.advance(SESSION_RETENTION.gatherMs);
    }
    before.changed(session('second'));
    clock.advance(SESSION_RETENTION.writeEveryMs - (SESSION_RETENTION.burst - 1) * SESSION_RETENTION.gatherMs - 1);
    expect(open().find('first-0', owner)).toBeDefined();
    expect(open().find('second', owner)).toBeUndefined();
    clock.advance(2);
    expect(open().find('second', owner)).toBeDefined();
  });

  it('are of the token that began them: another token of the same agent finds none', () => {
    const { open } = makeKept();
    const [own, other] = [withToken(agent('sensor:read'), { id: 'aa' }), withToken(agent('sensor:read', 'device:control'), { id: 'bb' })];
    const before = open();
    before.changed(session('a', own));
    before[Symbol.dispose]();
    const after = open();
    expect(after.find('a', other)).toBeUndefined();
    expect(after.find('a', owner)).toBeUndefined();
    expect(after.find('a', own)).toBeDefined();
  });

  it('that nobody has taken up stay over another restart, but not over a day', () => {
    const { clock, open } = makeKept();
    const first = open();
    first.changed(session('a'));
    first[Symbol.dispose]();
    clock.advance(SESSION_RETENTION.keptMs - HOUR_MS);
    const second = open();
    second.changed(session('b'));
    second[Symbol.dispose]();
    expect(open().find('a', owner)).toBeDefined();
    clock.advance(HOUR_MS);
    expect(open().find('a', owner)).toBeUndefined();
    expect(open().find('b', owner)).toBeDefined();
  });

  it('have a bound, and who keeps most gives way', () => {
    const { clock, open } = makeKept();
    const [greedy, modest] = [
      withToken(agent('sensor:read'), { id: 'aa' }),
      withToken({ ...agent('sensor:read'), id: 'modest' }, { id: 'bb' }),
    ];
    const large = { subscriptions: ['x'.repeat(SESSION_RETENTION.sessionLength / 2)] };
    const before = open();
    before.changed(session('modest', modest));
    for (let index = 0; index < 16; index++) before.changed(session(`greedy-${index}`, greedy, large));
    before.changed(session('huge', modest, { subscriptions: ['x'.repeat(SESSION_RETENTION.sessionLength)] }));
    clock.advance(SESSION_RETENTION.gatherMs);
    const after = open();
    expect(after.find('modest', modest)).toBeDefined();
    expect(after.find('huge', modest)).toBeUndefined();
    const found = Array.from({ length: 16 }, (_, index) => after.find(`greedy-${index}`, greedy)).filter((facts) => facts !== undefined);
    expect(found).toHaveLength(7);
  });

  it('are logged when they cannot be written, and written with the next change', () => {
    const { clock, store, logged, open } = makeKept();
    const kept = open();
    store.isFull = true;
    kept.changed(session('a'));
    clock.advance(SESSION_RETENTION.gatherMs);
    expect(logged.join()).toContain('mcp.sessions_not_kept');
    store.isFull = false;
    kept.changed(session('b'));
    clock.advance(SESSION_RETENTION.writeEveryMs);
    expect(open().find('a', owner)).toBeDefined();
  });
});
